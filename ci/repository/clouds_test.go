package repository

import "testing"

func TestClouds(t *testing.T) {
	const forgotten = " makes a cloud without Middleware, so that nothing compares its answers with the OpenAPI " +
		"document: use openapitest.Middleware or Sampled"
	check(t, Clouds, map[string]string{
		"a/a_test.go": `package a

func checked(t *testing.T) {
	emulator.New(emulator.Config{Middleware: openapitest.Sampled(t)})
}

func forgets(t *testing.T) {
	emulator.New(emulator.Config{})
}

func turnsItOff(t *testing.T) {
	emulator.New(emulator.Config{Middleware: nil})
}

func assigns(t *testing.T) {
	config.Seed, config.Middleware = seed, openapitest.Sampled(t)
	emulator.New(config)
}

func ExampleNew() { emulator.New(emulator.Config{}) }

func bare() { emulator.New(emulator.Config{}) }

func other() { New() }
`,
		"a/a.go":            "package a\n\nfunc a() { emulator.New(emulator.Config{}) }\n",
		"a/example_test.go": "package a\n\nfunc a() { emulator.New(emulator.Config{}) }\n",
		"ci/cloud/cloud.go": "package cloud\n\nfunc Run() { emulator.New(emulator.Config{}) }\n",
		"e/e_test.go":       "package emulator\n\nfunc a() { New(Config{}) }\n",
	},
		"a/a_test.go:7: forgets"+forgotten,
		"a/a_test.go:11: turnsItOff"+forgotten,
		"ci/cloud/cloud.go:3: Run"+forgotten,
		"e/e_test.go:3: a"+forgotten,
	)
}
