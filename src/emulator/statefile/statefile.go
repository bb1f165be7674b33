// Package statefile keeps the state of an emulator in a file, as a seed. The file is replaced as a whole, so that it is
// complete at any time, and only one process uses it.
package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// File is a state file that this process uses alone.
type File struct {
	path string
	lock *os.File
	// written is the content of the file.
	written []byte
}

// Open locks a state file, which need not exist. Of a symbolic link, it uses the file that the link leads to. It
// creates only the lock beside the file: what exists may not be of an emulator, and is not changed before Write.
func Open(path string) (*File, error) {
	target, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("--state=%s: %w; use the path of a file in a folder that this user can write to", path,
			err)
	}
	if err := checkStaged(target); err != nil {
		return nil, fmt.Errorf("--state=%s: %w", path, err)
	}
	lock, err := os.OpenFile(lockOf(target), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--state=%s: locking it: %w; use a path in a folder that this user can "+
			"write to", path, err)
	}
	if err := exclude(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("--state=%s: locking it: %w; stop the other emulator that uses the "+
			"file, or use another file", path, err), lock.Close())
	}
	return &File{path: target, lock: lock}, nil
}

// lockOf is the name of the lock of a state file. It stays when the emulator ends.
func lockOf(path string) string { return path + ".lock" }

// stagedOf is the name of a state that is not complete yet. There is one at most, because of the lock.
func stagedOf(path string) string { return path + ".new" }

// checkStaged returns an error if Write would remove a file that no emulator has made: there was none, because there is
// no lock.
func checkStaged(path string) error {
	if _, err := os.Lstat(lockOf(path)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(stagedOf(path)); err != nil {
		return nil //nolint:nilerr // it does not exist, or opening the lock says what is wrong with the folder
	}
	return fmt.Errorf("%s exists, and it is not of an emulator: each new state would replace it; move it away, or use "+
		"another file", stagedOf(path))
}

// resolve returns the file that a path leads to.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return missing(path)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	return target, nil
}

// missing returns the file that is to be made for a path: the path itself, or what it leads to as a symbolic link.
func missing(path string) (string, error) {
	target, err := os.Readlink(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(target) {
		return resolve(target)
	}
	// A path relative to the link begins in the folder that has the link, not in a link to that folder.
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return resolve(filepath.Join(folder, target))
}

// Read returns the state; found is false if there is no file yet. A damaged file stays as it is.
func (f *File) Read() (state seed.Seed, found bool, err error) {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return seed.Seed{}, false, nil
	}
	if err != nil {
		return seed.Seed{}, false, fmt.Errorf("--state=%s: %w", f.path, err)
	}
	if !bytes.HasSuffix(content, []byte("\n"+seed.End+"\n")) {
		return seed.Seed{}, false, f.Damaged(fmt.Errorf("it was cut off: its last line is not %q", seed.End))
	}
	if state, err = seed.Read(bytes.NewReader(content)); err != nil {
		return seed.Seed{}, false, f.Damaged(err)
	}
	f.written = content
	return state, true, nil
}

// Damaged is the error about a file whose content cannot be used, for a reason.
func (f *File) Damaged(reason error) error {
	return fmt.Errorf("--state=%s: the file cannot be used and was not changed: %w; correct it, or move it away to "+
		"start with a new state", f.path, reason)
}

// Write replaces the state, unless it is the same, and removes what a process that was killed left beside it. Only this
// user can read the file from now on.
func (f *File) Write(state seed.Seed) error {
	var content bytes.Buffer
	err := seed.Write(&content, state)
	if err == nil {
		err = f.discard()
	}
	switch {
	case err != nil:
	case bytes.Equal(content.Bytes(), f.written):
		err = f.hide()
	default:
		err = f.put(content.Bytes())
	}
	if err != nil {
		return fmt.Errorf("--state=%s: writing it: %w; free space, or make its folder writable", f.path, err)
	}
	f.written = content.Bytes()
	return nil
}

// hide takes the file from other users, because it has credentials.
func (f *File) hide() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // somebody has removed it, and the next change creates it
		return nil
	case err != nil || info.Mode().Perm()&0o077 == 0:
		return err
	}
	return os.Chmod(f.path, 0o600)
}

// put replaces the content of the file.
func (f *File) put(content []byte) error {
	name, err := f.stage(content)
	if err != nil {
		return err
	}
	return f.replace(name)
}

// discard removes a state that was not completed.
func (f *File) discard() error {
	if err := os.Remove(stagedOf(f.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stage writes content to a new file in the same folder, and to the disk. Only this user can read it.
func (f *File) stage(content []byte) (name string, err error) {
	name = stagedOf(f.path)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// replace makes a staged file the state file, also after a loss of power.
func (f *File) replace(name string) error {
	if err := os.Rename(name, f.path); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	folder, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Close lets other processes use the file.
func (f *File) Close() error { return f.lock.Close() }
