package repository

import "testing"

func TestCalls(t *testing.T) {
	check(t, Calls, map[string]string{
		"a/a.go": `package a

func a() {
	time.Sleep(1)
	defer func() { panic("no") }()
	time.AfterFunc(1, nil)
	s.log.Fatal()
	log.Fatalf("%d", 1)
}
`,
		"a/a_test.go": `package a

func TestA(t *testing.T) {
	panic("tests may")
	t.Skip("later")
	c.t.SkipNow()
	r.Skip++
	decoder.Skip()
	time.Sleep(1)
}
`,
		"a/roottest.go": "package roottest\n\nfunc Need(tb testing.TB) {\n\ttb.Skip(1)\n}\n",
		skipper: `package roottest

func Need(tb testing.TB) {
	tb.Skip("no root")
}

func Other(tb testing.TB) {
	tb.Skipf("no %s", "time")
}
`,
		"a/main.go":  "package main\n\nfunc main() {\n\tlog.Fatal(run())\n}\n",
		"a/words.go": "package a\n\n// time.Sleep( in words is no call.\nconst s = \"time.Sleep(1)\"\n",
	},
		"a/a.go:4: time.Sleep is not used here: wait for the condition itself, or use testing/synctest",
		"a/a.go:5: panic is not used here: return an error",
		"a/a.go:8: log.Fatalf is not used here: return the error; main decides about the exit code",
		"a/a_test.go:5: t.Skip is not used here: "+unskipped,
		"a/a_test.go:6: c.t.SkipNow is not used here: "+unskipped,
		"a/a_test.go:9: time.Sleep is not used here: wait for the condition itself, or use testing/synctest",
		"a/roottest.go:4: tb.Skip is not used here: "+unskipped,
		skipper+":8: tb.Skipf is not used here: "+unskipped,
	)
}
