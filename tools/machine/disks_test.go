//go:build linux

package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
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
