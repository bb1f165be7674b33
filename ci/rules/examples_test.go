package rules

import (
	"fmt"
	"strings"
	"testing"
)

func TestClouds(t *testing.T) {
	const forgotten = " makes a cloud without Middleware, so that nothing compares its answers with the OpenAPI " +
		"document: use openapitest.Middleware or Sampled"
	check(t, Clouds, map[string]string{
		"a/a_test.go": `package a

func checked(t *testing.T) { emulator.New(emulator.Config{Middleware: openapitest.Sampled(t)}) }

func forgets(t *testing.T) { emulator.New(emulator.Config{}) }

func turnsItOff(t *testing.T) { emulator.New(emulator.Config{Middleware: nil}) }

func assigns(t *testing.T) {
	config.Seed, config.Middleware = seed, openapitest.Sampled(t)
	emulator.New(config)
}

func ExampleNew() { emulator.New(emulator.Config{}) }
`,
		"a/a.go":            "package a\n\nfunc a() { emulator.New(emulator.Config{}) }\n",
		"ci/cloud/cloud.go": "package cloud\n\nfunc Run() { emulator.New(emulator.Config{}) }\n",
		"e/e_test.go":       "package emulator\n\nfunc a() { New(Config{}) }\n",
	},
		"a/a_test.go:5: forgets"+forgotten,
		"a/a_test.go:7: turnsItOff"+forgotten,
		"ci/cloud/cloud.go:3: Run"+forgotten,
		"e/e_test.go:3: a"+forgotten,
	)
}

func TestBigFiles(t *testing.T) {
	big := strings.Repeat("x", maxBytes+1024)
	check(t, BigFiles, map[string]string{"a/fits": big[1024:], "a/large": big, ".git/pack": big, "bin/lab": big,
		"dist/image.tar": big}, "a/large: 1025 KiB, at most 1024: keep build products out of git")
}

func TestLocalPaths(t *testing.T) {
	at := func(elements ...string) string { return "/" + strings.Join(elements, "/") } // this file keeps the rule, too
	const found = " exists on one machine only: use a relative path or an option"
	check(t, LocalPaths, map[string]string{
		"a.md": "see " + at("root", "n.md") + "\n" + `"` + at("Users", "bob", "x") + `"` + "\n" + at("home", "al", "b"),
		"b.md": at("var", "run") + " https://example.com" + at("root", "x") + " ." + at("root", "x") + "\n/root is it",
		"lab":  "\x00" + at("root", "x"),
	}, "a.md:1: "+at("root", "n.md")+found, "a.md:2: "+at("Users", "bob", "x")+found,
		"a.md:3: "+at("home", "al", "b")+found)
}

func TestWorkflows(t *testing.T) {
	const commit, found = "@0123456789abcdef0123456789abcdef01234567",
		": only actions of GitHub itself, at a commit, may see our secrets"
	check(t, Workflows, map[string]string{
		".github/workflows/good.yaml": "permissions:\n  contents: read\njobs: {a: {steps: [{uses: actions/checkout" +
			commit + "}, {run: make}]}}\n",
		".github/workflows/wrong.yaml": "permissions: write-all\nuses: acme/publish" + commit + "\n" +
			"- uses: actions/checkout@v4\ncontainer: alpine\n",
		"other/workflow.yaml": "uses: acme/publish@v1\n",
	},
		".github/workflows/wrong.yaml: the permissions of the workflow must be `contents: read`; a job can have more",
		".github/workflows/wrong.yaml:2: uses acme/publish"+commit+found,
		".github/workflows/wrong.yaml:3: uses actions/checkout@v4"+found,
		".github/workflows/wrong.yaml:4: container alpine"+found,
	)
}

func TestLinks(t *testing.T) {
	check(t, Links, map[string]string{
		"README.md": "# The part\n[docs](docs/), [page](docs/page.md#part-of-it \"title\"), " +
			"[site](https://example.com/x#y), [mail](mailto:a@example.com)\n[part](#the-part)\n[gone](#gone)\n",
		"docs/page.md": "[back](../README.md)\n\n[gone](gone.md) and [far](../../else.md)\n![picture](picture.svg)\n" +
			"## `Part`: of [it](../README.md)\n## Twice\n## Twice\n[a](#twice-1) [b](#twice-2)\n" +
			"```\n# comment\n```\n[c](page.md#comment)\n<a id=\"d\"></a> [d](#d)\n",
		"docs/sample.go": "package docs // [gone](gone.md) " + site + "blob/main/docs/page.md#twice.\n" +
			"// " + site + "blob/main/docs/page.md#once " + site + "tree/main/docs " + site + "issues/1\n",
		"charts/values.yaml": "a: " + site + "blob/main/docs/gone.md\n",
	},
		"README.md:4: the link to #gone leads nowhere",
		"charts/values.yaml:1: the address of docs/gone.md leads nowhere",
		"docs/page.md:3: the link to ../../else.md leads nowhere",
		"docs/page.md:3: the link to gone.md leads nowhere",
		"docs/page.md:4: the link to picture.svg leads nowhere",
		"docs/page.md:8: the link to #twice-2 leads nowhere",
		"docs/page.md:12: the link to page.md#comment leads nowhere",
		"docs/sample.go:2: the address of docs/page.md#once leads nowhere",
	)
}

func TestModules(t *testing.T) {
	check(t, Modules, map[string]string{
		"tools/go.mod":            "module m\nrequire k8s.io/api v0.1.0\nreplace " + ours + "src => ../src\n",
		"src/go.mod":              "module m\nreplace example.com/fork => ../fork\n",
		"src/emulator/go.mod":     "module m\nrequire k8s.io/api v0.1.0\nreplace " + ours + "src => ../\n",
		"ci/go.mod":               "module m\nreplace " + ours + "src => example.com/fork v1.0.0\n",
		"tools/lab/go.mod":        "module m\nreplace k8s.io/api => k8s.io/api v0.36.3\n",
		"tools/x/testdata/go.mod": "module m\nreplace example.com/fork => ../fork\n",
	},
		"ci/go.mod: replaces "+ours+"src by example.com/fork: only our own modules may be replaced, by their own "+
			"folders",
		"src/emulator/go.mod: replaces "+ours+"src by ../: other projects use this module, and a replace line has no "+
			"effect on them",
		"src/emulator/go.mod: requires k8s.io/api: users of the module would inherit it",
		"src/go.mod: replaces example.com/fork by ../fork: only our own modules may be replaced, by their own folders",
	)
}

func TestPackages(t *testing.T) {
	files := map[string]string{"a/more.go": "package a\n"}
	for i := range maxPackage {
		for _, name := range []string{"a/f%d.go", "b/f%d.go", "b/f%d_test.go"} {
			files[fmt.Sprintf(name, i)] = "package p\n"
		}
	}
	check(t, Packages, files, "a: more than 25 files without tests: divide the package by concept")
}

func TestSizes(t *testing.T) {
	function := func(lines int) string { return "func f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n" }
	check(t, Sizes, map[string]string{"a/a.go": "package a\n" + function(10) + function(10) + function(23),
		"a/a_test.go": "package a\n" + strings.Repeat(function(30), 9)},
		"less than 90 % of the functions have at most 22 lines")
}

func TestWidths(t *testing.T) {
	fits := strings.Repeat("ä", maxWidth-len("// "))
	check(t, Widths, map[string]string{
		"a/fits.go":      "package a\n\n// " + fits + "\n",
		"a/long.go":      "package a\n\n// " + fits + "x\n",
		"a/tabs_test.go": "package a\n\nfunc a() {\n\t// " + fits[:len(fits)-6] + "\n}\n",
		"a/raw.go":       "package a\n\nconst a = `\n" + fits + "x\n" + fits + "xxxx`\n",
		"a/short.go":     "package a\n\nconst a = `x` + `" + fits[:2*maxRaw-4] + "` + \"" + fits[:2*20] + "\"\n",
		"a/whole.go":     "package a\n\nconst a = \"a\" + `" + fits[:2*maxRaw] + "x` + \"" + fits[:2*20] + "\"\n",
		"a/directive.go": "package a\n\n//go:generate " + fits + "\n",
	},
		"a/long.go:3: 121 characters, at most 120: break the line",
		"a/short.go:3: 141 characters, at most 120: break the line",
		"a/tabs_test.go:4: 121 characters, at most 120: break the line",
	)
}

func TestOutside(t *testing.T) {
	const a = "\nvar a = []string{\n\"../testdata\", \"see ../../../x\", \"..\",\n\"../../examples/\" + b,\n" +
		"filepath.Join(\"..\", \"..\", \"docs\", b),\nfilepath.Join(\"..\", \"b\"),\n}\n"
	const found = " leaves the module in src, and Go reuses the result of a test whatever is there: " +
		"use checkout.Path(t, "
	check(t, Outside, map[string]string{
		"src/go.mod":      "module src\n",
		"src/x/a_test.go": "package x\n" + a,
		"src/x/help.go":   "package x\n\nimport \"testing\"\n\nconst b = \"../../charts\"\n",
		"src/x/code.go":   "package x\n" + a,
	},
		"src/x/a_test.go:5: ../../examples/"+found+`"examples") of src/emulator/checkout`,
		"src/x/a_test.go:6: ../../docs/"+found+`"docs") of src/emulator/checkout`,
		"src/x/help.go:5: ../../charts"+found+`"charts") of src/emulator/checkout`,
	)
}

func TestPromises(t *testing.T) {
	good := "| It is | `TestA/one of, many` (`src/a`), `FuzzA` (`src/a`); `TestA` (`src/a`) | " +
		"`TestSlow` (`ci/slow/a`) |\n"
	check(t, Promises, map[string]string{
		"CONTRIBUTING.md": "# Contributing\n\n| a |\n\n## Promises\n\n| Promise | a | b |\n|---|---|---|\n" +
			"| One | `TestGone` (`src/a`) | `TestHelper` (`src/a`) |\n" +
			"| Two | `TestFull` (`src/a`) | `TestFull` (`src/a`) |\n" +
			"| Three | `TestSlow` (`ci/slow/a`) | - |\n| Four | - | - |\n| Five | TestA | - |\n| Six |\n" +
			strings.Repeat(good, minPromises-7) + "\n## Words\n\n| a |\n",
		"src/a/a_test.go": "package a\n\nfunc TestA(t *testing.T) { t.Run(\"\", func() { tier.NeedFull(t) }) }\n\n" +
			"func FuzzA(f *testing.F) {}\n\nfunc TestFull(t *testing.T) { tier.NeedFull(t) }\n",
		"src/a/a.go":          "package a\n\nfunc TestHelper() {}\n",
		"ci/slow/a/a_test.go": "package a\n\nfunc TestSlow(t *testing.T) {}\n",
	},
		"CONTRIBUTING.md:5: the table of promises has 19 rows, at least 20",
		"CONTRIBUTING.md:9: there is no TestGone in src/a",
		"CONTRIBUTING.md:9: there is no TestHelper in src/a",
		"CONTRIBUTING.md:10: TestFull (src/a) does not run in make test: move it to the last column",
		"CONTRIBUTING.md:11: TestSlow (ci/slow/a) does not run in make test: move it to the last column",
		"CONTRIBUTING.md:12: no test proves: Four",
		"CONTRIBUTING.md:13: `TestName` (`path/of/package`), or - without a test, and not: TestA",
		"CONTRIBUTING.md:13: no test proves: Five",
		"CONTRIBUTING.md:14: a row has three cells: the promise, and the tests of both tiers",
	)
}

func TestRootPackages(t *testing.T) {
	check(t, RootPackages, map[string]string{
		"Makefile":        "root_packages := ./src/b\n",
		"src/a/a_test.go": "package a\n\nfunc TestA(t *testing.T) { roottest.Need(t) }\n",
		"src/b/b.go":      "package b\n\nfunc b() { roottest.Need(t) }\n",
	}, "Makefile: the packages with tests that need root are root_packages := ./src/a")
}
