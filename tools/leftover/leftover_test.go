//go:build linux

package leftover

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func make1(t *testing.T, in, name string) string {
	t.Helper()
	path := filepath.Join(in, name)
	if err := os.MkdirAll(filepath.Join(path, "machines/worker-1/lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestClean(t *testing.T) {
	in := t.TempDir()
	dead, alive, fresh, other := make1(t, in, prefix+"dead"), make1(t, in, prefix+"alive"), make1(t, in, prefix+"fresh"), make1(t, in, "somebody-else")
	held, err := lock(dead, unix.LOCK_NB)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil { // as the kernel does for who is killed
		t.Fatal(err)
	}
	if held, err = lock(alive, unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	now := time.Now()
	removed, err := clean(in, now)
	if err != nil || !slices.Equal(removed, []string{dead}) {
		t.Errorf("removed %v and %v, want %s", removed, err, dead)
	}
	for _, path := range []string{alive, fresh, other} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	removed, err = clean(in, now.Add(2*young))
	if err != nil || !slices.Equal(removed, []string{fresh}) {
		t.Errorf("later, removed %v and %v, want the one that nobody ever locked", removed, err)
	}
}

func TestFolderGoes(t *testing.T) {
	path := make1(t, t.TempDir(), prefix+"one")
	held, err := lock(path, unix.LOCK_NB)
	if err != nil {
		t.Fatal(err)
	}
	f := &Folder{path, held}
	if _, err := lock(path, unix.LOCK_NB); err == nil || !strings.Contains(err.Error(), "that runs") {
		t.Errorf("locked twice: %v", err)
	}
	if got := f.Cgroup("worker-1"); got != prefix+"one.worker-1." {
		t.Errorf("the cgroup of a machine is %q", got)
	}
	if strings.HasPrefix(f.Cgroup("worker-10"), f.Cgroup("worker-1")) {
		t.Error("removing one machine's cgroup removes another's")
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is still there")
	}
	if err := sweep(path); err != nil {
		t.Errorf("sweeping what is gone: %v", err)
	}
}

func TestSweepTouchesNothingElse(t *testing.T) {
	path := make1(t, t.TempDir(), prefix+"elsewhere")
	for _, strange := range []string{path, "/", "/var/tmp", "/var/tmp/x", "/var/tmp/" + prefix + "x/.."} {
		if err := Sweep(strange); err == nil || !strings.Contains(err.Error(), "not the folder of a cluster") {
			t.Errorf("%s: %v", strange, err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := Sweep(filepath.Join(parent, prefix+"that-is-not-there")); err != nil {
		t.Errorf("a folder that is gone: %v", err)
	}
}
