//go:build linux

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DiskFolder is where programs look for links to the disks of a machine. udev makes it on a machine that has udev. Here
// it also has their serial numbers.
const DiskFolder = "/dev/disk/by-id"

// showDisks mounts a folder with links to disks at DiskFolder. The folder there stays as long as the returned file is
// open.
func showDisks(disks string) (*os.File, error) {
	held, err := hold(DiskFolder)
	if err == nil {
		err = unix.Mount(disks, DiskFolder, "", unix.MS_BIND, "")
	}
	if err != nil {
		return nil, fmt.Errorf("mounting the folder of its disks at %s: %w", DiskFolder, err)
	}
	return held, nil
}

// hold makes a folder if there is none, and keeps it from being removed by release while the returned file is open.
func hold(path string) (*os.File, error) {
	for {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, err
		}
		folder, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed
		}
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(folder.Fd()), unix.LOCK_SH); err != nil {
			return nil, errors.Join(err, folder.Close())
		}
		if isStill(folder, path) {
			return folder, nil
		}
		if err := folder.Close(); err != nil {
			return nil, err
		}
	}
}

// isStill reports whether a path leads to the folder that was opened there.
func isStill(folder *os.File, path string) bool {
	opened, err := folder.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}

// RemoveDiskFolder removes the host's DiskFolder if it was made for machines and none of them runs any more. A folder
// of udev is never empty.
func RemoveDiskFolder() error {
	if err := release(DiskFolder); err != nil {
		return fmt.Errorf("removing the folder of disks that was made for machines: %w", err)
	}
	return nil
}

// release removes a folder and the one above it, unless they contain something or are held. A folder that this user may
// not remove stays: whoever runs machines is root, so it was not made for one of this user's.
func release(path string) error {
	folder, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	switch err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil
	case err != nil:
		return err
	}
	for _, empty := range []string{path, filepath.Dir(path)} {
		err := os.Remove(empty)
		if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
