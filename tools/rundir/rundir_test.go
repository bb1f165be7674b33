//go:build unix

package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const prefix = "test-run-"

// put makes a folder with something in it.
func put(t *testing.T, in, name string) string {
	t.Helper()
	path := filepath.Join(in, name)
	if err := os.MkdirAll(filepath.Join(path, "machines/worker-1/lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// killed is the folder of a run that was killed: its lock file is there, and is not locked.
func killed(t *testing.T, in, name string) string {
	t.Helper()
	path := put(t, in, name)
	if err := os.WriteFile(filepath.Join(path, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func there(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestClean(t *testing.T) {
	p := Location{Parent: t.TempDir(), Prefix: prefix}
	abandoned, fresh, other := killed(t, p.Parent, prefix+"killed"), put(t, p.Parent, prefix+"fresh"),
		killed(t, p.Parent, "other")
	alive, err := p.Make()
	if err != nil {
		t.Fatal(err)
	}
	removed, err := p.Clean()
	if err != nil || !slices.Equal(removed, []string{abandoned}) {
		t.Errorf("removed %v and %v, want %s", removed, err, abandoned)
	}
	there(t, alive.Path(), fresh, other)
	removed, err = p.clean(time.Now().Add(2*young), os.Getuid())
	if err != nil || !slices.Equal(removed, []string{fresh}) {
		t.Errorf("later, removed %v and %v, want the one that was never locked", removed, err)
	}
	if err := alive.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(alive.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that was removed: %v", err)
	}
}

// TestCleanTrustsNobodyElse leaves alone what others may have put into a folder that all share, and follows no link of
// theirs.
func TestCleanTrustsNobodyElse(t *testing.T) {
	p := Location{Parent: t.TempDir(), Prefix: prefix}
	foreign := killed(t, p.Parent, prefix+"foreign")
	if removed, err := p.clean(time.Now(), os.Getuid()+1); err != nil || removed != nil {
		t.Errorf("removed %v of another user, %v", removed, err)
	}
	there(t, filepath.Join(foreign, lockName))

	p.Parent = t.TempDir()
	outside := killed(t, t.TempDir(), "outside")
	target := filepath.Join(t.TempDir(), "made-by-following")
	trap := put(t, p.Parent, prefix+"trap")
	for link, to := range map[string]string{filepath.Join(p.Parent, prefix+"link"): outside,
		filepath.Join(trap, lockName): target} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := p.Clean(); err != nil || removed != nil {
		t.Errorf("removed %v, %v, and one is a link, the other's lock is", removed, err)
	}
	there(t, filepath.Join(outside, lockName), trap)
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made where a link leads to: %v", err)
	}
	if _, err := p.Await(filepath.Join(p.Parent, prefix+"link")); err == nil ||
		!strings.Contains(err.Error(), "left alone") {
		t.Errorf("waiting for a link: %v", err)
	}
}

func TestCleanReportsWhatStays(t *testing.T) {
	stuck := errors.New("its cgroup is busy")
	p := Location{Parent: t.TempDir(), Prefix: prefix, Discard: func(string) error { return stuck }}
	path := killed(t, p.Parent, prefix+"one")
	if removed, err := p.Clean(); !errors.Is(err, stuck) || !strings.Contains(err.Error(), path) || removed != nil {
		t.Errorf("removed %v and %v, want which was not and why", removed, err)
	}
}

func TestUse(t *testing.T) {
	f, err := Use(filepath.Join(t.TempDir(), "named", "here"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.File("a/b"); got != filepath.Join(f.Path(), "a/b") {
		t.Errorf("a file is at %s", got)
	}
	if _, err := Use(f.Path()); err == nil || !strings.Contains(err.Error(), "uses it") {
		t.Errorf("used twice: %v", err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
}

func TestAwait(t *testing.T) {
	p := Location{Parent: t.TempDir(), Prefix: prefix}
	first, err := p.Make()
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		f   *Dir
		err error
	}
	ended := make(chan end)
	go func() {
		f, err := p.Await(first.Path())
		ended <- end{f, err}
	}()
	select {
	case got := <-ended:
		t.Fatalf("it did not wait for the end: %v", got.err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := first.lock.Close(); err != nil { // as the kernel does for who is killed
		t.Fatal(err)
	}
	second := <-ended
	if second.err != nil {
		t.Fatal(second.err)
	}
	go func() {
		f, err := p.Await(first.Path())
		ended <- end{f, err}
	}()
	<-time.After(20 * time.Millisecond) // whichever comes first, the other sees that it is gone
	if err := second.f.Remove(); err != nil {
		t.Error(err)
	}
	if got := <-ended; !errors.Is(got.err, fs.ErrNotExist) {
		t.Errorf("who waits for a folder that goes gets %v", got.err)
	}
}

func TestAwaitTouchesNothingElse(t *testing.T) {
	p := Location{Parent: t.TempDir(), Prefix: prefix}
	outside := killed(t, t.TempDir(), prefix+"outside")
	for _, invalid := range []string{outside, "/", p.Parent, filepath.Join(p.Parent, "x"), p.Parent + "/" + prefix +
		"x/.."} {
		if _, err := p.Await(invalid); err == nil || !strings.Contains(err.Error(), "not one of the folders") {
			t.Errorf("%s: %v", invalid, err)
		}
	}
	if _, err := p.Await(filepath.Join(p.Parent, prefix+"gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
}
