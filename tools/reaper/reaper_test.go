//go:build linux

package reaper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/rundir"
)

// testLocation is where the tests have folders of clusters.
func testLocation(t *testing.T) rundir.Location {
	t.Helper()
	place := clusters()
	place.Parent = t.TempDir()
	return place
}

func TestCgroupsHaveTheNamesOfMachines(t *testing.T) {
	made, err := testLocation(t).Make()
	if err != nil {
		t.Fatal(err)
	}
	f := &Dir{made}
	if got, want := f.Cgroup("worker-1"), filepath.Base(f.Path())+".worker-1."; got != want {
		t.Errorf("the cgroup of a machine is %q, want %q", got, want)
	}
	if strings.HasPrefix(f.Cgroup("worker-10"), f.Cgroup("worker-1")) {
		t.Error("removing one machine's cgroup removes another's")
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files after the end: %v", err)
	}
}

// TestReap removes what a cluster left that was killed: its lock file is there, and is not locked.
func TestReap(t *testing.T) {
	in := testLocation(t)
	path := filepath.Join(in.Parent, in.Prefix+"killed")
	err := errors.Join(os.MkdirAll(filepath.Join(path, "machines/worker-1/lib"), 0o700),
		os.WriteFile(filepath.Join(path, "lock"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	networks := func() ([]string, error) {
		if tries++; tries == 1 {
			return nil, errors.New("a process that ends is still in one")
		}
		return nil, nil
	}
	for range 2 { // the second time there is nothing to do
		if err := reap(in, path, networks); err != nil {
			t.Error(err)
		}
	}
	if tries != 2 {
		t.Errorf("tried %d times, want again after the first failed, and not once more", tries)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files afterwards: %v", err)
	}
}

// TestReapThoughAnotherCannotBeCleaned removes its own files, although the network of another cluster stays for ever,
// and says so in the end.
func TestReapThoughAnotherCannotBeCleaned(t *testing.T) {
	in := testLocation(t)
	path := filepath.Join(in.Parent, in.Prefix+"killed")
	if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	stuck := errors.New("another's namespace is busy")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := reap(in, path, func() ([]string, error) { return nil, stuck }); !errors.Is(err, stuck) {
			t.Errorf("got %v, want %v", err, stuck)
		}
		if took := time.Since(began); took < dying || took > dying+time.Second {
			t.Errorf("gave up after %s, want %s", took, dying)
		}
	})
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files afterwards: %v", err)
	}
}

func TestReapTouchesNothingElse(t *testing.T) {
	other := filepath.Join(t.TempDir(), clusters().Prefix+"other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, invalid := range []string{other, "/", "/var/tmp", "/var/tmp/x", "/var/tmp/" + clusters().Prefix + "x/.."} {
		if err := Reap(invalid); err == nil || !strings.Contains(err.Error(), "not one of the folders") {
			t.Errorf("%s: %v", invalid, err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if err := Reap(filepath.Join(clusters().Parent, clusters().Prefix+"that-is-not-there")); err != nil {
		t.Errorf("a folder that is gone: %v", err)
	}
}
