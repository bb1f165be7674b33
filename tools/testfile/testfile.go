//go:build linux

// Package testfile writes and reads files and block devices for end-to-end tests of volumes: it runs in their pods, as
// a part of tools/cmd/guest, because the images there contain no other program.
package testfile

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Write writes random content of a size to the beginning of a file or block device and waits until it is on the disk.
// It returns the checksum of the content.
func Write(path string, size int64) (checksum string, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(file, sum), rand.Reader, size); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	if err := file.Sync(); err != nil {
		return "", fmt.Errorf("writing %s to the disk: %w", path, err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// Sum returns the checksum of the first bytes of a file or block device.
func Sum(path string, size int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.CopyN(sum, file, size); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// Space returns the size of the filesystem that a path is on, and its type as in `stat -f`: 0xef53 is ext4, 0x58465342
// is XFS. For a block device it is the size of the device, and no type.
func Space(path string) (size, filesystem int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	if info.Mode()&os.ModeDevice == 0 {
		var found unix.Statfs_t
		if err := unix.Statfs(path, &found); err != nil {
			return 0, 0, fmt.Errorf("reading the size of the filesystem at %s: %w", path, err)
		}
		return int64(found.Blocks) * found.Bsize, found.Type, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = file.Close() }()
	if size, err = file.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, fmt.Errorf("reading the size of %s: %w", path, err)
	}
	return size, 0, nil
}
