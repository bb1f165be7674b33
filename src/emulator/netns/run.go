//go:build linux

package netns

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
)

// runs is where every run has a file with its name, locked for as long as it
// lives.
const runs = "/run/thalassa-emulator"

// maxName keeps the client's interface, which is named after the run, within
// the kernel's 15 characters.
const maxName = 12

// run is the life of one plane. Everything that it makes is named after it.
type run struct {
	name   string
	folder string
	lock   *os.File
}

// begin begins a run with a name that no other has, or with a made-up one.
func begin(folder, name string) (*run, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of running emulators: %w", err)
	}
	if name == "" {
		name = "tc" + strings.ToLower(rand.Text()[:5])
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(name) || len(name) > maxName {
		return nil, fmt.Errorf("name %q: use a letter and then letters and digits, at most %d, all lower case", name,
			maxName)
	}
	path := filepath.Join(folder, name)
	_, absent := os.Stat(path)
	lock, err := claim(path)
	if err != nil {
		return nil, fmt.Errorf("name %q: %w", name, err)
	}
	r := &run{name: name, folder: folder, lock: lock}
	return r, r.prepare(absent != nil)
}

// claim locks a run's file. Somebody who cleans up has it for a moment only.
func claim(path string) (*os.File, error) {
	for range 50 {
		lock, err := take(path)
		if lock != nil || err != nil {
			return lock, err
		}
		<-time.After(20 * time.Millisecond)
	}
	return nil, errors.New("an emulator with this name is running; choose another name")
}

// prepare removes what a dead run of the same name left. Where there was none,
// namespaces with such names are somebody else's.
func (r *run) prepare(first bool) error {
	if !first {
		_, err := r.removeNamespaces()
		err = errors.Join(err, r.removeDisks())
		if err != nil {
			err = errors.Join(err, r.lock.Close()) // the file stays, for whoever tries again
		}
		return err
	}
	names, err := namespace.Names(r.prefix())
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("name %q: network namespaces %v exist that are not an emulator's; choose another name", r.name,
			names)
	}
	if err != nil {
		err = errors.Join(err, r.end())
	}
	return err
}

// take locks a run's file. It returns nil when somebody else has it.
func take(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the run: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || err == nil && replaced(file, path) {
		return nil, file.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}

// replaced reports whether a path is no longer that of a file: whoever had it
// locked before has removed it, and another run may have begun.
func replaced(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return true
	}
	there, err := os.Stat(path)
	return err != nil || !os.SameFile(mine, there)
}

// prefix is how the names of the run's namespaces begin.
func (r *run) prefix() string { return r.name + "-" }

// removeNamespaces removes the namespaces of the run, and says which.
func (r *run) removeNamespaces() ([]string, error) {
	names, err := namespace.Names(r.prefix())
	if err != nil {
		return nil, err
	}
	failed := []error{r.disconnect(names)}
	for _, name := range names {
		failed = append(failed, namespace.Remove(name))
	}
	return names, errors.Join(failed...)
}

// disconnect removes the link to the client, which would otherwise be there
// until the kernel has got round to the namespace at its other end.
func (r *run) disconnect(names []string) error {
	for _, name := range names {
		if name != r.prefix()+hubName {
			continue
		}
		in, err := namespace.Open(name)
		if err != nil {
			return err
		}
		s, err := enter(in)
		if err != nil {
			// It got its name and then its maker died: there is no namespace.
			return in.Close()
		}
		if _, err := s.link(clientLink); err == nil {
			return errors.Join(s.removeLink(clientLink), s.leave())
		}
		return s.leave()
	}
	return nil
}

// end removes the run's file, and with it the lock.
func (r *run) end() error {
	return errors.Join(os.Remove(r.lock.Name()), r.lock.Close())
}

// entries are the names in a folder, which may not exist.
func entries(folder string) (names []string, err error) {
	all, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing the runs of emulators: %w", err)
	}
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names, nil
}

// clean removes what dead runs left, and says what. More are the names of runs
// that may have no file any more: /run ends with the machine's uptime.
func clean(folder string, more ...string) ([]string, error) {
	names, err := entries(folder)
	if err != nil {
		return nil, err
	}
	var removed []string
	var failed []error
	for _, name := range append(names, more...) {
		lock, err := take(filepath.Join(folder, name))
		if lock == nil {
			failed = append(failed, err)
			continue
		}
		dead := &run{name: name, folder: folder, lock: lock}
		names, err := dead.removeNamespaces()
		err = errors.Join(err, dead.removeDisks())
		removed = append(removed, names...)
		failed = append(failed, err)
		if err == nil {
			failed = append(failed, dead.end())
		} else {
			failed = append(failed, lock.Close())
		}
	}
	return removed, errors.Join(failed...)
}

// Clean removes the network namespaces and volumes that emulators left which were
// killed, and returns the names of the namespaces. What belongs to one that runs,
// or to anybody else, is not touched. Only root may.
func Clean() ([]string, error) {
	if user := os.Geteuid(); user != 0 {
		return nil, fmt.Errorf("removing what emulators left: only root may, and this is user %d", user)
	}
	volumes, err := entries(diskFolder)
	if err == nil && len(volumes) > 0 {
		err = os.MkdirAll(runs, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("removing what emulators left: %w", err)
	}
	return clean(runs, volumes...)
}
