package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

func TestFolderOfAnotherUser(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	err := roottest.AsUser(func() error {
		_, err := Open(filepath.Join(folder, "state.yaml"))
		return err
	})
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "a folder that this user can write to") {
		t.Errorf("error %v, want what to do", err)
	}
}

// On a full disk, the older state stays, and nothing else. It works again when there is space.
func TestFullDisk(t *testing.T) {
	roottest.Need(t)
	folder := t.TempDir()
	mount(t, folder)
	f := open(t, filepath.Join(folder, "state.yaml"))
	state := seed.Default()
	if err := f.Write(state); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	state.Organisations[0].Slug = "new"
	if err := f.Write(state); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free space") {
		t.Errorf("error %v, want what to do", err)
	}
	if got := slug(t, f); got != seed.DefaultOrganisationSlug {
		t.Errorf("organisation %q, want the older state", got)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 3 {
		t.Errorf("files %v, %v, want the state, its lock and the filler", files, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(state); err != nil || slug(t, f) != "new" {
		t.Errorf("after there was space again: %v, organisation %q", err, slug(t, f))
	}
}

// mount mounts a small file system that only this test sees.
func mount(t *testing.T, folder string) {
	t.Helper()
	// The thread stays locked, and ends with the test, and so does what it mounted.
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("tmpfs", folder, "tmpfs", 0, "size=64k")
	}
	if err != nil {
		t.Fatalf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
}
