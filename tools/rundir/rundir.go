//go:build unix

// Package rundir keeps the files of a run in one folder that goes with it. A run has a file in its folder locked, and
// the kernel releases that however the run ends: so the next run knows which folders are not needed any more, and
// removes them.
//
//	place := rundir.Location{Parent: os.TempDir(), Prefix: "thalassa-ccm-demo-"}
//	stale, err := place.Clean()
//	...
//	f, err := place.Make()
//	...
//	defer f.Remove()
//
// The parent may be one that all users share. There, only real folders of the own user are trusted, and no link is
// followed.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockName is the file that a run has locked.
	lockName = "lock"
	// young is how old a folder without a lock has to be: a run may just have made it.
	young = time.Minute
)

// Location is where runs of one kind have their folders.
type Location struct {
	// Parent is the folder above them. Prefix begins their names, and those of nothing else.
	Parent, Prefix string
	// Discard removes a folder and what belongs to it in other places. Default: os.RemoveAll.
	Discard func(path string) error
}

// Dir holds the files of one run, until Remove.
type Dir struct {
	path    string
	lock    *os.File
	discard func(path string) error
}

// Make makes the folder of a run. Its name ends by chance.
func (p Location) Make() (*Dir, error) {
	path, err := os.MkdirTemp(p.Parent, p.Prefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for files: %w", err)
	}
	f, err := p.hold(path, unix.LOCK_NB)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

// Use makes a folder with that path, or takes the one that is there and no other run uses. Remove removes it, too.
func Use(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for files: %w", err)
	}
	return Location{}.hold(path, unix.LOCK_NB)
}

// Await waits until the run with that folder has ended, and takes what it left. A folder that is gone is
// os.ErrNotExist.
func (p Location) Await(path string) (*Dir, error) {
	if filepath.Dir(path) != filepath.Clean(p.Parent) || !strings.HasPrefix(filepath.Base(path), p.Prefix) {
		return nil, fmt.Errorf("waiting for the end of who uses %s: it is not one of the folders %s*", path,
			filepath.Join(p.Parent, p.Prefix))
	}
	if err := trusted(path, os.Getuid()); err != nil {
		return nil, err
	}
	return p.hold(path, 0)
}

// Clean removes what runs of this user left that were killed, and returns their folders. What belongs to one that runs
// is not touched.
func (p Location) Clean() ([]string, error) { return p.clean(time.Now(), os.Getuid()) }

func (p Location) clean(now time.Time, user int) (removed []string, err error) {
	candidates, err := filepath.Glob(filepath.Join(p.Parent, p.Prefix+"*"))
	for _, path := range candidates {
		if trusted(path, user) != nil || beginning(path, now) {
			continue
		}
		f, busy := p.hold(path, unix.LOCK_NB)
		if busy != nil {
			continue // it runs
		}
		if failed := f.Remove(); failed != nil {
			err = errors.Join(err, failed, f.lock.Close())
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}

// trusted says what speaks against a folder: in one that all users share, another user may have made it, or a link to
// another folder.
func trusted(path string, user int) error {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return fmt.Errorf("checking folder %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != user {
		return fmt.Errorf("%s is not a folder of this user, and is left alone", path)
	}
	return nil
}

// beginning reports whether a run may have made the folder just now and not locked it yet.
func beginning(path string, now time.Time) bool {
	if _, err := os.Lstat(filepath.Join(path, lockName)); err == nil {
		return false
	}
	info, err := os.Lstat(path)
	return err != nil || now.Sub(info.ModTime()) < young
}

// hold locks a folder; how is how to wait for another process that has it.
func (p Location) hold(path string, how int) (*Dir, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking folder %s: %w", path, err)
	}
	if err := take(lock, how); err != nil {
		return nil, errors.Join(fmt.Errorf("locking folder %s: %w", path, err), lock.Close())
	}
	f := &Dir{path: path, lock: lock, discard: p.Discard}
	if f.discard == nil {
		f.discard = os.RemoveAll
	}
	return f, nil
}

// take locks a file. When who had it removed it meanwhile, that is os.ErrNotExist.
func take(lock *os.File, how int) error {
	err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|how)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|how)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("a program that runs uses it; end that one, or choose another folder")
	}
	if err == nil {
		_, err = os.Lstat(lock.Name())
	}
	return err
}

// Path is the folder's path.
func (f *Dir) Path() string { return f.path }

// File is a path in the folder.
func (f *Dir) File(name string) string { return filepath.Join(f.path, name) }

// Remove removes the folder, and what belongs to it in other places. When that fails the folder stays this run's, and
// Remove may be tried again.
func (f *Dir) Remove() error {
	if err := f.discard(f.path); err != nil {
		return fmt.Errorf("removing folder %s: %w", f.path, err)
	}
	return f.lock.Close()
}
