package testrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// module writes a module with every kind of outcome, one package each.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{
		"good":    `func TestGood(t *testing.T) { t.Log("quiet"); t.Run("sub", func(t *testing.T) {}) }`,
		"bad":     `func TestBad(t *testing.T) { t.Error("loud") }; func TestFine(t *testing.T) { t.Log("quiet") }`,
		"skip":    `func TestLater(t *testing.T) { t.Skip("later") }`,
		"root":    `func TestRoot(t *testing.T) { t.Skip("needs make test-root: no root") }`,
		"full":    `func TestFull(t *testing.T) { t.Skip("needs make test-full: FULL is not 1") }`,
		"nobuild": `var n int = "text"; func TestNever(t *testing.T) {}`,
		"crash":   `func TestCrash(t *testing.T) { var p *int; *p = 1 }`,
		"exits":   `func TestMain(*testing.M) { panic("no database") }`,
		"forever": `func TestForever(t *testing.T) { select {} }`,
	} {
		write := func(file, text string) {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(dir, "go.mod"), "module sample\n\ngo 1.26.0\n")
		write(filepath.Join(dir, name, name+"_test.go"), "package "+name+"\n\nimport \"testing\"\n\n"+body+"\n")
	}
	return dir
}

func TestRun(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := module(t)
	for name, tt := range map[string]struct {
		packages, args []string
		want           string // the last line
		err            error
		says, silent   []string
	}{
		"all good": {packages: []string{"./good"}, want: "2 passed, 0 failed", says: []string{"good"},
			silent: []string{"quiet", "RUN"}},
		"one test fails": {packages: []string{"./good", "./bad"}, want: "3 passed, 1 failed", err: ErrFailed,
			says: []string{"loud", "FAIL: sample/bad TestBad"}, silent: []string{"quiet"}},
		"skipped": {packages: []string{"./skip"}, want: "0 passed, 0 failed, 1 skipped", err: ErrFailed,
			says: []string{"not by roottest.Need or tier.NeedFull: sample/skip TestLater"}},
		"needs more": {packages: []string{"./root", "./full", "./good"},
			want: "2 passed, 0 failed, 1 need root (make test-root), 1 need the full tier (make test-full)"},
		"does not build": {packages: []string{"./nobuild"}, want: "0 passed, 1 failed", err: ErrFailed,
			says: []string{"nobuild_test.go:5"}},
		"crashes": {packages: []string{"./crash"}, want: "0 passed, 1 failed", err: ErrFailed,
			says: []string{"nil pointer", "TestCrash"}},
		"exits by itself": {packages: []string{"./exits"}, want: "0 passed, 1 failed", err: ErrFailed,
			says: []string{"no database"}},
		"takes too long": {packages: []string{"./forever"}, args: []string{"-timeout=1s"}, want: "0 passed, 2 failed",
			err: ErrFailed, says: []string{"test timed out after 1s", "TestForever"}},
		"no such package": {packages: []string{"./missing"}, want: "0 passed, 1 failed", err: ErrFailed,
			says: []string{"missing"}},
		"further flags": {packages: []string{"./bad"}, args: []string{"-run=Fine"}, want: "1 passed, 0 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got, err := Run(t.Context(), Options{Root: dir, Packages: tt.packages, Args: tt.args, Out: &out})
			if got.String() != tt.want || !errors.Is(err, tt.err) || !strings.HasSuffix(out.String(), tt.want+"\n") {
				t.Errorf("got %q and %v, want %q and %v, also as the last line", got, err, tt.want, tt.err)
			}
			for _, s := range tt.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("the report lacks %q:\n%s", s, &out)
				}
			}
			for _, s := range tt.silent {
				if strings.Contains(out.String(), s) {
					t.Errorf("the report says %q:\n%s", s, &out)
				}
			}
		})
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
	w := &watcher{pattern: regexp.MustCompile(`good`), seen: cancel}
	_, err := Run(ctx, Options{Root: module(t), Packages: []string{"./good", "./forever"}, Args: []string{"-p=1"},
		Out: w})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want one that says it was cancelled", err)
	}
}
