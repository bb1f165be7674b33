//go:build linux

package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRelease removes the folder of disks when the last machine that holds it has ended, and what it did not make not
// at all.
func TestRelease(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk", "by-id")
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	free := func() {
		t.Helper()
		if err := release(path); err != nil {
			t.Fatal(err)
		}
	}
	free() // there is none
	for range 2 {
		held, err := hold(path)
		if err != nil {
			t.Fatal(err)
		}
		if free(); !exists(path) {
			t.Fatal("the folder was removed while a machine held it")
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
		if free(); exists(filepath.Dir(path)) {
			t.Error("nobody holds the folder, and it is there")
		}
	}
	link := filepath.Join(path, "scsi-1")
	if err := errors.Join(os.MkdirAll(path, 0o755), os.Symlink("/dev/sda", link)); err != nil {
		t.Fatal(err)
	}
	if free(); !exists(path) {
		t.Error("a folder with a link was removed")
	}
}

// TestReleaseByAnotherUser leaves an empty folder that belongs to root: not every machine with one has run a cluster.
func TestReleaseByAnotherUser(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "by-id")
	if err := errors.Join(os.Mkdir(path, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		// The permissions of files do not bind root. This thread gives up its rights over them until the test ends.
		runtime.LockOSThread()
		const nobody = 65534
		if err := unix.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Setfsuid(os.Geteuid()), os.Chmod(dir, 0o700)); err != nil {
			t.Error(err)
		}
	})
	if err := release(path); err != nil {
		t.Errorf("a folder of root: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the folder of root was removed: %v", err)
	}
}
