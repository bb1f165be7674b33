//go:build linux

// Package leftover keeps the files, cgroups and network namespaces of a cluster from being there longer than
// the cluster: it removes them in the end, and a sweeper, a process of its own, does when the cluster is killed.
//
//	folder, stale, err := leftover.Open()
//	...
//	defer folder.Remove()
//	err = folder.Guard("bin/guest")
package leftover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
)

const (
	// parent is where clusters have their folders. The path is short because sockets are below it, and not
	// in /run, /var/lib or /var/log, which machines have of their own.
	parent = "/var/tmp"
	prefix = "thalassa-cluster-"
	// lockName is a file that a running cluster has locked; the kernel releases it however the cluster ends.
	lockName = "lock"
	// dying is how long the processes of a cluster that was killed may take to end.
	dying = 30 * time.Second
	retry = 200 * time.Millisecond
	// young is how old a folder without a lock has to be: a cluster may just have made it.
	young = time.Minute
)

// Folder holds the files of one cluster that runs.
type Folder struct {
	path string
	lock *os.File
}

// Open makes the folder of a cluster, and first removes what killed ones left: stale are their folders.
func Open() (made *Folder, stale []string, err error) {
	stale, err = Clean()
	if err != nil {
		return nil, stale, err
	}
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, stale, fmt.Errorf("making a folder for the cluster: %w", err)
	}
	file, err := lock(path, unix.LOCK_NB)
	if err != nil {
		return nil, stale, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{path, file}, stale, nil
}

// Path is the folder's path.
func (f *Folder) Path() string { return f.path }

// File is a path in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.path, name) }

// Cgroup is the name of the cgroup of one of the cluster's machines: they are removed with the folder.
func (f *Folder) Cgroup(machine string) string { return filepath.Base(f.path) + "." + machine + "." }

// Remove removes the folder and the cgroups.
func (f *Folder) Remove() error { return errors.Join(remove(f.path), f.lock.Close()) }

// remove removes the cgroups first: as long as the folder is there, somebody tries again.
func remove(path string) error {
	if err := cgroup.RemoveAll(filepath.Base(path) + "."); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("removing a cluster's files: %w", err)
	}
	return nil
}

// lock locks a cluster's folder; how is how to wait for whoever has it.
func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cluster's folder: %w", err)
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|how)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("folder %s belongs to a cluster that runs: %w", path, err), file.Close())
		}
		return file, nil
	}
}

// Clean removes what clusters left that were killed, and returns their folders. What belongs to one that
// runs is not touched.
func Clean() ([]string, error) { return clean(parent, time.Now()) }

func clean(in string, now time.Time) ([]string, error) {
	candidates, err := filepath.Glob(filepath.Join(in, prefix+"*"))
	if err != nil {
		return nil, err
	}
	var removed []string
	var failed []error
	for _, path := range candidates {
		if beginning(path, now) {
			continue
		}
		file, err := lock(path, unix.LOCK_NB)
		if err != nil {
			continue // it runs
		}
		if err = errors.Join(remove(path), file.Close()); err == nil {
			removed = append(removed, path)
		}
		failed = append(failed, err)
	}
	return removed, errors.Join(failed...)
}

// beginning says whether a cluster may have made the folder just now and not locked it yet.
func beginning(path string, now time.Time) bool {
	if _, err := os.Stat(filepath.Join(path, lockName)); err == nil {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || now.Sub(info.ModTime()) < young
}

// Guard starts a sweeper that removes what is left should this process be killed: `guest sweep FOLDER`.
// It ends by itself when Remove has removed the folder.
func (f *Folder) Guard(guest string) error {
	sweeper := exec.CommandContext(context.Background(), guest, "sweep", f.path)
	// It must survive us, and whatever kills us: a terminal that closes, a test that runs out of time.
	sweeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	sweeper.Dir = "/"
	if err := sweeper.Start(); err != nil {
		return fmt.Errorf("starting the sweeper of the cluster: %w", err)
	}
	go func() { _ = sweeper.Wait() }()
	return nil
}

// Sweep waits until the cluster with that folder has ended, and removes what it left, if anything.
func Sweep(path string) error {
	if filepath.Dir(path) != parent || !strings.HasPrefix(filepath.Base(path), prefix) {
		return fmt.Errorf("sweeping %s: it is not the folder of a cluster", path)
	}
	file, err := lock(path, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	deadline := time.Now().Add(dying)
	for {
		err := sweep(path)
		if err == nil || time.Now().After(deadline) {
			return errors.Join(err, file.Close())
		}
		<-time.After(retry)
	}
}

// sweep removes the network namespaces, too: the plane that they belong to has been killed as well.
func sweep(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := netns.Clean()
	return errors.Join(err, remove(path))
}
