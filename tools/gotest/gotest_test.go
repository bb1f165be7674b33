package gotest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample is a module with every kind of outcome, one package each.
func sample() map[string]string {
	test := func(pkg, body string) string { return "package " + pkg + "\n\nimport \"testing\"\n\n" + body + "\n" }
	return map[string]string{
		"go.mod": "module sample\n\ngo 1.26.0\n",
		"good/good_test.go": test("good",
			`func TestGood(t *testing.T) { t.Log("quiet"); t.Run("sub", func(t *testing.T) {}) }`),
		"bad/bad_test.go": test("bad",
			`func TestBad(t *testing.T) { t.Error("loud") }`+"\n\n"+`func TestFine(t *testing.T) { t.Log("quiet") }`),
		"skip/skip_test.go": test("skip", `func TestLater(t *testing.T) { t.Skip("later") }`),
		"root/root_test.go": "package root\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" + `func TestRoot(t *testing.T) {
	if os.Getenv("TEST_ROOT") != "" {
		t.Fatal("no root")
	}
	t.Skip("needs make test-root: no root")
}
`,
		"nobuild/nobuild.go":  "package nobuild\n\nvar n int = \"text\"\n",
		"nobuild/no_test.go":  test("nobuild", `func TestNever(t *testing.T) {}`),
		"crash/crash_test.go": test("crash", `func TestCrash(t *testing.T) { var p *int; *p = 1 }`),
		"exits/exits_test.go": "package exits\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc " +
			"TestMain(*testing.M) { println(\"no\", \"database\"); os.Exit(3) }\n",
		"untested/untested.go": "package untested\n",
		"forever/forever_test.go": test("forever",
			`func TestForever(t *testing.T) { select {} }`+"\n\n"+`func TestOther(t *testing.T) {}`),
	}
}

// module writes the sample module.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for p, text := range sample() {
		name := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := module(t)
	tests := map[string]struct {
		packages []string
		args     []string
		root     bool
		want     Tally
		err      error
		says     []string
		silent   []string
	}{
		"all good": {
			packages: []string{"./good", "./untested"}, want: Tally{Passed: 2},
			says: []string{"ok  \tsample/good", "2 passed, 0 failed in "}, silent: []string{"quiet", "RUN", "untested"},
		},
		"one test fails": {
			packages: []string{"./good", "./bad"}, want: Tally{Passed: 3, Failed: 1}, err: ErrFailed,
			says: []string{"loud", "--- FAIL: TestBad",
				"failed: sample/bad TestBad\n    bad_test.go:5: loud\n3 passed, 1 failed in "},
			silent: []string{"quiet"},
		},
		"skipped": {packages: []string{"./skip"}, want: Tally{Skipped: 1},
			says: []string{"0 passed, 0 failed, 1 skipped"}},
		"needs root": {
			packages: []string{"./root", "./good"}, want: Tally{Passed: 2, NeedRoot: 1},
			says: []string{"2 passed, 0 failed, 1 need root (make test-root) in "},
		},
		"needs root and shall not be skipped": {
			packages: []string{"./root"}, root: true, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"no root\n"},
		},
		"does not build": {packages: []string{"./nobuild"}, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"nobuild.go:3", "failed: sample/nobuild\n"}},
		"crashes": {packages: []string{"./crash"}, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"nil pointer", "failed: sample/crash TestCrash\n"}},
		"exits by itself": {
			packages: []string{"./exits"}, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"no database", "failed: sample/exits\n"},
		},
		"takes too long": {
			packages: []string{"./forever"}, args: []string{"-timeout=1s"}, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"test timed out after 1s", "TestForever"},
		},
		"no such package": {packages: []string{"./missing"}, want: Tally{Failed: 1}, err: ErrFailed,
			says: []string{"missing"}},
		"further flags": {packages: []string{"./bad"}, args: []string{"-run=Fine"}, want: Tally{Passed: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got, err := Run(t.Context(), Options{Dir: dir, Packages: tt.packages, Args: tt.args, Root: tt.root,
				Out: &out})
			if got.Tally != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %+v and %v, want %+v and %v", got, err, tt.want, tt.err)
			}
			checkText(t, out.String(), tt.says, tt.silent)
		})
	}
}

// checkText reports what a text lacks and what it should not say.
func checkText(t *testing.T, text string, says, silent []string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("the report lacks %q:\n%s", s, text)
		}
	}
	for _, s := range silent {
		if strings.Contains(text, s) {
			t.Errorf("the report says %q:\n%s", s, text)
		}
	}
}

// watcher calls seen once its text matches.
type watcher struct {
	text    strings.Builder
	pattern *regexp.Regexp
	seen    func()
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	if w.pattern.MatchString(w.text.String()) {
		w.seen()
	}
	return len(p), nil
}

func TestRunCancelled(t *testing.T) {
	t.Setenv("GOWORK", "off")
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{pattern: regexp.MustCompile(`sample/good`), seen: cancel}
	_, err := Run(ctx, Options{Dir: module(t), Packages: []string{"./good", "./forever"}, Args: []string{"-p=1"},
		Out: w})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want one that says it was cancelled", err)
	}
}

func TestRunWithoutDir(t *testing.T) {
	_, err := Run(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "missing"), Out: io.Discard})
	if err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("got error %v, want one that says why go could not start", err)
	}
}

func TestArguments(t *testing.T) {
	got := Options{Args: []string{"-count=1"}}.arguments(group{packages: []string{"./a"}, race: true})
	parallel := "-p=" + strconv.Itoa(runtime.NumCPU()+1)
	want := []string{"test", "-json", "-trimpath", "-buildvcs=false", "-vet=off", parallel, "-timeout=40m0s", "-race",
		"-count=1", "./a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments differ (-want +got):\n%s", diff)
	}
}

// TestProgressLines: a line names the innermost test that runs, and the test that ended last.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, feed := io.Pipe()
		var out strings.Builder
		say := func(after time.Duration, text string) {
			time.AfterFunc(after, func() { _, _ = io.WriteString(feed, text) })
		}
		go func() {
			say(40*time.Second, `{"Action":"run","Package":"a/e2e","Test":"TestCluster"}`+"\n"+
				`{"Action":"run","Package":"a/e2e","Test":"TestCluster/Install"}`+"\n")
			say(70*time.Second, `{"Action":"pass","Package":"a/e2e","Test":"TestCluster/Install","Elapsed":30}`+"\n"+
				`{"Action":"run","Package":"a/e2e","Test":"TestCluster/Routes"}`+"\n")
			say(100*time.Second, `{"Action":"fail","Package":"a/e2e","Elapsed":60}`+"\ngo: words\n")
			time.AfterFunc(125*time.Second, func() { feed.Close() })
		}()
		r := newReport(&out)
		if err := r.follow(in, quiet); err != nil {
			t.Fatal(err)
		}
		want := `... still building or testing after 30s, 0 packages done
... running e2e TestCluster/Install after 1m0s, 0 packages done
... running e2e TestCluster/Routes after 1m30s, 0 packages done; the latest result: e2e TestCluster/Install pass after 30s
go: words
... still building or testing after 2m0s, 1 packages done; the latest result: e2e TestCluster/Install pass after 30s
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output differs (-want +got):\n%s", diff)
		}
	})
}

func TestLongLine(t *testing.T) {
	var out strings.Builder
	text := "a\n" + strings.Repeat("x", 1<<20) + "\nend\n"
	if err := newReport(&out).follow(strings.NewReader(text), time.Hour); err != nil || out.String() != text {
		t.Errorf("%v; got %d bytes, want %d, the long line whole", err, out.Len(), len(text))
	}
}

func TestTallyString(t *testing.T) {
	tests := map[string]struct {
		tally Tally
		want  string
	}{
		"nothing":        {Tally{}, "0 passed, 0 failed"},
		"some of each":   {Tally{Passed: 5, Failed: 2, Skipped: 1}, "5 passed, 2 failed, 1 skipped"},
		"some need root": {Tally{Passed: 5, NeedRoot: 3}, "5 passed, 0 failed, 3 need root (make test-root)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.tally.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
