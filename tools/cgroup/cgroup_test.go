//go:build linux

package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestHierarchies asks this machine, which has some.
func TestHierarchies(t *testing.T) {
	roots, err := Hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) == 0 {
		t.Fatal("it has none")
	}
	for _, root := range roots {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			t.Errorf("%s is not a cgroup: %v", root, err)
		}
	}
}

// TestNothingMounted has a folder where cgroups would be, as the start of a machine leaves it that mounts none.
func TestNothingMounted(t *testing.T) {
	top := t.TempDir()
	if err := os.Mkdir(filepath.Join(top, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{top, filepath.Join(top, "none")} {
		if roots, err := someIn(path); err == nil || !strings.Contains(err.Error(), "mount -t cgroup2 none "+path) {
			t.Errorf("got %v and %v, want what to do", roots, err)
		}
	}
}

// TestMakeInVersion1 gives a new cgroup of the controller cpuset the processors of the one above.
func TestMakeInVersion1(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cpuset.cpus"), "0-1")
	write(t, filepath.Join(root, "cpuset.mems"), "0")
	for range 2 { // a machine that is switched on again
		if err := makeIn(root, "one"); err != nil {
			t.Fatal(err)
		}
	}
	if cpus, mems := read(t, filepath.Join(root, "one/cpuset.cpus")),
		read(t, filepath.Join(root, "one/cpuset.mems")); cpus != "0-1" || mems != "0" {
		t.Errorf("it has the processors %q and memory %q", cpus, mems)
	}
}

func TestDelegate(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.controllers"), "cpuset cpu io memory pids\n")
	if err := delegate(root); err != nil {
		t.Fatal(err)
	}
	enabled := strings.Fields(read(t, filepath.Join(root, "cgroup.subtree_control")))
	if want := []string{"+cpu", "+cpuset", "+memory", "+pids"}; !slices.Equal(enabled, want) {
		t.Errorf("enabled %v, want %v", enabled, want)
	}
	write(t, filepath.Join(root, "cgroup.controllers"), "cpu io\n")
	if err := delegate(root); err == nil || !strings.Contains(err.Error(), "lack the controller cpuset") {
		t.Errorf("got %v, want what is missing", err)
	}
}

func TestRemoveIn(t *testing.T) {
	r := remover{rmdir: unix.Rmdir}
	root := t.TempDir()
	for _, path := range []string{"lab.one./pods/a/b", "lab.two.", "other/lab.one."} {
		if err := os.MkdirAll(filepath.Join(root, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.removeIn(root, "lab."); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other" {
		t.Errorf("left are %v and %v, want the other one", entries, err)
	}
	// What still has something in it is reported.
	if err := os.MkdirAll(filepath.Join(root, "lab.busy."), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "lab.busy.", "process"), "1")
	if err := r.removeIn(root, "lab."); err == nil || !strings.Contains(err.Error(), "lab.busy.") {
		t.Errorf("got %v, want which cgroup stays", err)
	}
}

// TestRemoveWaitsForTheKernel: a cgroup whose last process has just ended is busy for a while.
func TestRemoveWaitsForTheKernel(t *testing.T) {
	for _, test := range []struct {
		name string
		busy time.Duration
		took time.Duration
		want error
	}{
		{"free", 0, 0, nil},
		{"busy for a while", 3 * time.Second, 3 * time.Second, nil},
		{"busy for ever", time.Hour, busyTimeout, unix.EBUSY},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			busy := func(string) error {
				if time.Since(began) < test.busy {
					return unix.EBUSY
				}
				return nil
			}
			r := remover{busy, began.Add(busyTimeout)}
			if err := r.removeTree("cgroup-that-is-not-there"); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			for _, path := range []string{"one", "another"} { // both together take no longer
				if err := r.remove(path); !errors.Is(err, test.want) {
					t.Errorf("%s: %v, want %v", test.name, err, test.want)
				}
			}
			if took := time.Since(began); took < test.took || took > test.took+time.Second {
				t.Errorf("%s: took %s, want %s", test.name, took, test.took)
			}
		})
	}
	other := remover{func(string) error { return unix.EPERM }, time.Now().Add(time.Hour)}
	if err := other.remove("one"); !errors.Is(err, unix.EPERM) {
		t.Errorf("got %v at once, want %v", err, unix.EPERM)
	}
}
