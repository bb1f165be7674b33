package testrun

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// clone is a small repository with one test, which depends on a chart, on the sources of a program and on a file of
// its own module, and adds a line to a file outside of the repository each time it runs.
type clone struct {
	*testing.T
	origin, dir, log string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	folder := t.TempDir()
	c := &clone{t, filepath.Join(folder, "origin"), filepath.Join(folder, "clone"), filepath.Join(folder, "log")}
	for name, text := range map[string]string{
		"go.work": "go 1.26.0\n\nuse ./ci\n\nreplace github.com/thalassa-cloud/thalassa-ccm/src/emulator => " +
			checkout.Path(t, "src/emulator") + "\n",
		"ci/go.mod": "module sample\n\ngo 1.26.0\n\nrequire github.com/thalassa-cloud/thalassa-ccm/src/emulator " +
			"v0.0.0\n",
		"ci/a_test.go": `package sample

import (
	"os"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

func Test(t *testing.T) {
	log, _ := os.OpenFile("` + c.log + `", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	log.WriteString("run\n")
	os.ReadFile(checkout.Path(t, "charts/sample/values.yaml"))
	os.ReadFile("testdata/golden")
	os.ReadDir("testdata")
	checkout.DependOn("src")
}
`,
		"ci/testdata/golden": "one", "charts/sample/values.yaml": "a: 1", "docs/page.md": "page",
		"src/main.go": "package main", "src/main_test.go": "package main",
	} {
		c.write(filepath.Join(c.origin, name), text)
	}
	c.git("-C", c.origin, "init", "--quiet")
	c.git("-C", c.origin, "add", ".")
	c.git("-C", c.origin, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=first")
	c.again()
	return c
}

func (c *clone) write(file, text string) {
	c.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// age makes a file a minute older: Go reuses no result that depends on a file of the last two seconds.
func (c *clone) age(file string) {
	c.Helper()
	at := time.Now().Add(-time.Minute)
	if err := errors.Join(os.Chtimes(file, at, at), os.Chtimes(filepath.Dir(file), at, at)); err != nil {
		c.Fatal(err)
	}
}

func (c *clone) git(arguments ...string) {
	c.Helper()
	if output, err := exec.CommandContext(c.Context(), "git", arguments...).CombinedOutput(); err != nil {
		c.Fatalf("git %s: %v\n%s", arguments, err, output)
	}
}

// again clones into the same folder.
func (c *clone) again() {
	c.Helper()
	if err := os.RemoveAll(c.dir); err != nil {
		c.Fatal(err)
	}
	c.git("clone", "--quiet", c.origin, c.dir)
}

// runs returns how often the test has run after another run of the tests.
func (c *clone) runs() int {
	c.Helper()
	var out strings.Builder
	result, err := Run(c.Context(), Options{Root: c.dir, Packages: []string{"./ci"}, Out: &out})
	if err != nil || result.Passed != 1 || result.Failed != 0 {
		c.Fatalf("%v and %v\n%s", result, err, &out)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		c.Fatal(err)
	}
	return strings.Count(string(text), "run\n")
}

// TestReuse: a result is reused exactly when nothing that the test depends on has changed.
func TestReuse(t *testing.T) {
	c := newClone(t)
	want := 1
	check := func(what string) {
		t.Helper()
		if got := c.runs(); got != want {
			t.Errorf("%s: the test has run %d times, want %d", what, got, want)
			want = got
		}
	}
	check("the first time")
	check("nothing has changed")
	c.again()
	check("another clone in the same folder")
	c.write(filepath.Join(c.dir, "docs/page.md"), "other page")
	c.write(filepath.Join(c.dir, "src/main_test.go"), "package main\n")
	check("a page that it does not read, and a test of the program")
	for _, changed := range []string{
		"charts/sample/values.yaml", "src/main.go", "ci/testdata/golden", "ci/testdata/new",
	} {
		want++
		c.write(filepath.Join(c.dir, changed), "two")
		c.age(filepath.Join(c.dir, changed))
		check(changed + " has changed")
		check(changed + " has not changed again")
	}
}

// TestTimesOfOthers: files that do not equal the ones of HEAD keep their times.
func TestTimesOfOthers(t *testing.T) {
	c := newClone(t)
	c.write(filepath.Join(c.dir, "docs/page.md"), "mine")
	c.write(filepath.Join(c.dir, "docs/new.md"), "mine")
	c.write(filepath.Join(c.dir, "charts/sample/values.yaml"), "mine")
	c.git("-C", c.dir, "update-index", "--assume-unchanged", "charts/sample/values.yaml")
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	all := map[string]bool{"docs/page.md": true, "docs/new.md": true, "docs": true, ".": true, "src/main.go": false,
		"src": false, "charts/sample/values.yaml": true}
	for name := range all {
		if err := os.Chtimes(filepath.Join(c.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := settle(t.Context(), c.dir); err != nil {
		t.Fatal(err)
	}
	for name, kept := range all {
		info, err := os.Stat(filepath.Join(c.dir, name))
		if err != nil || info.ModTime().Equal(at) != kept {
			t.Errorf("%s: %v and %v; want its time kept: %v", name, info.ModTime(), err, kept)
		}
	}
}

// TestFilesThatChangeDuringARun: no later run reuses a result that Go has stored for the files of the beginning.
func TestFilesThatChangeDuringARun(t *testing.T) {
	c := newClone(t)
	server, err := Serve(t.Context(), c.dir, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	begin, err := hashes(c.dir, false)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(c.dir, "docs/page.md")
	c.write(page, "changed while tests run")
	if err := errors.Join(server.noteChanges(begin), server.Stop()); err != nil {
		t.Fatal(err)
	}
	c.write(page, "page")
	again, err := server.distrust(begin)
	if err != nil {
		t.Fatal(err)
	}
	for i, variable := range begin {
		about := strings.HasPrefix(variable, checkout.Variable("docs")+"=") ||
			strings.HasPrefix(variable, checkout.Variable("docs/page.md")+"=") ||
			strings.HasPrefix(variable, checkout.Variable(checkout.Everything)+"=")
		if changed := again[i] != variable; changed != about {
			t.Errorf("%s: another value %t, want %t", variable, changed, about)
		}
	}
}

// TestNothingToTest: a run without tests is an error.
func TestNothingToTest(t *testing.T) {
	c := newClone(t)
	_, err := Run(t.Context(), Options{Root: c.dir, Packages: []string{"./ci/testdata/..."}, Out: t.Output()})
	if !errors.Is(err, ErrNothing) {
		t.Errorf("got %v, want %v", err, ErrNothing)
	}
}
