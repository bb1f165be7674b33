//go:build linux

package loopdevice_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

const mebibyte = 1 << 20

// size is that of a block device.
func size(t *testing.T, device string) int64 {
	t.Helper()
	file, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	end, err := file.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// disk makes a file of one MiB.
func disk(t *testing.T, folder string) (path string) {
	t.Helper()
	path = filepath.Join(folder, "disk")
	if err := os.WriteFile(path, make([]byte, mebibyte), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// attached makes a file a block device, until the test ends.
func attached(t *testing.T, path string) loopdevice.Device {
	t.Helper()
	device, err := loopdevice.Attach(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Detach() })
	return device
}

// below waits until a folder has a number of block devices.
func below(t *testing.T, folder string, want int) map[string]loopdevice.Device {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		devices, err := loopdevice.Below(folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(devices) == want {
			return devices
		}
		if time.Now().After(deadline) {
			t.Fatalf("block devices %v, want %d", devices, want)
		}
	}
}

func TestDevice(t *testing.T) {
	roottest.Need(t)
	folder := t.TempDir()
	path := disk(t, folder)
	device := attached(t, path)
	if got := below(t, folder, 1)[path]; got != device || size(t, device.Path) != mebibyte {
		t.Errorf("device %s of %d bytes, want %s of %d", got.Path, size(t, device.Path), device.Path, mebibyte)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if got := below(t, link, 1)[filepath.Join(link, "disk")]; got != device {
		t.Errorf("through a link: device %q, want %s", got.Path, device.Path)
	}
	user, err := os.OpenFile(device.Path, os.O_RDWR|os.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = user.Close() }()
	if _, err := user.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(content, []byte("content")) {
		t.Errorf("the file has %q, %v", content[:10], err)
	}
	if err := errors.Join(os.Truncate(path, 2*mebibyte), device.Resize()); err != nil {
		t.Error(err)
	}
	if got := size(t, device.Path); got != 2*mebibyte {
		t.Errorf("%d bytes after the device grew, want %d", got, 2*mebibyte)
	}
	// It is open, and stays until it is closed.
	if err := device.Detach(); err != nil {
		t.Error(err)
	}
	below(t, folder, 1)
	if err := user.Close(); err != nil {
		t.Error(err)
	}
	below(t, folder, 0)
	if err := device.Detach(); err != nil {
		t.Errorf("detaching again: %v", err)
	}
	if _, err := loopdevice.Attach(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestDetachEndsDevicesAbove ends a device of which another one was made, as by a kubelet.
func TestDetachEndsDevicesAbove(t *testing.T) {
	roottest.Need(t)
	folder := t.TempDir()
	device := attached(t, disk(t, folder))
	above := attached(t, device.Path)
	if got := size(t, above.Path); got != mebibyte {
		t.Errorf("the device above has %d bytes, want %d", got, mebibyte)
	}
	if err := device.Detach(); err != nil {
		t.Fatal(err)
	}
	below(t, folder, 0)
}

// TestFormerDevice uses a Device whose name has another file since.
func TestFormerDevice(t *testing.T) {
	roottest.Need(t)
	former, now := attached(t, disk(t, t.TempDir())), attached(t, disk(t, t.TempDir()))
	above := attached(t, now.Path)
	former.Path = now.Path
	if err := former.Detach(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{now.Path, above.Path} {
		if got := size(t, name); got != mebibyte {
			t.Errorf("%s has %d bytes after the former device was detached, want %d", name, got, mebibyte)
		}
	}
	if err := former.Resize(); err == nil || !strings.Contains(err.Error(), "no longer has its file") {
		t.Errorf("resizing the former device: %v, want an error", err)
	}
}
