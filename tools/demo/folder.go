package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// folderPrefix starts the names of all demo folders in the system's folder for temporary files.
const folderPrefix = "thalassa-ccm-demo-"

// lockName is the file that a running demo holds locked in its folder; the kernel releases the lock however the demo ends.
const lockName = ".lock"

// folder holds the files of one demo.
type folder struct {
	path string
	lock *os.File
}

// openFolder makes the folder of this demo, and first removes those of earlier ones that were killed before they could.
func openFolder(path string, t *teller) (*folder, error) {
	if path == "" {
		for _, stale := range removeStale(os.TempDir()) {
			t.say("Removed what an earlier demo that was killed left behind: %s", stale)
		}
		var err error
		if path, err = os.MkdirTemp("", folderPrefix); err != nil {
			return nil, fmt.Errorf("making a folder for the demo's files: %w", err)
		}
	} else if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for the demo's files: %w", err)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, err
	}
	return &folder{path: path, lock: lock}, nil
}

// file is a path in the folder.
func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

func lockFolder(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the demo's folder: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("folder %s is used by another demo: %w", path, err), lock.Close())
	}
	return lock, nil
}

// removeStale removes the folders in dir of demos of this user that no longer run, and returns their paths. A demo's processes
// die with it, so its folder is all that a killed one leaves.
func removeStale(dir string) []string {
	candidates, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	var removed []string
	for _, candidate := range candidates {
		if !ownFolder(candidate) {
			continue
		}
		if beginning(candidate) {
			continue
		}
		lock, err := lockFolder(candidate)
		if err != nil {
			continue // it runs
		}
		if os.RemoveAll(candidate) == nil {
			removed = append(removed, candidate)
		}
		_ = lock.Close()
	}
	return removed
}

// beginning says whether a demo may have made the folder just now and not locked it yet.
func beginning(path string) bool {
	if _, err := os.Stat(filepath.Join(path, lockName)); err == nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) < time.Minute
}

// ownFolder says whether path is a real folder of this user: in a folder that all users share, nothing else is to be trusted.
func ownFolder(path string) bool {
	var stat unix.Stat_t
	return unix.Lstat(path, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR && int(stat.Uid) == os.Getuid()
}
