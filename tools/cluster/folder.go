//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/tools/realnode"
)

const (
	// folders are where clusters have theirs. The path is short because sockets are below it, and not
	// in /run, /var/lib or /var/log, which machines have of their own.
	folders      = "/var/tmp"
	folderPrefix = "thalassa-cluster-"
	// lockName is a file that a running cluster has locked; the kernel releases it however the cluster ends.
	lockName = "lock"
)

// folder holds the files of one cluster.
type folder struct {
	path string
	lock *os.File
}

// openFolder makes the folder of this cluster, and first removes what killed ones left.
func openFolder(say func(string, ...any)) (*folder, error) {
	stale, err := Clean()
	for _, path := range stale {
		say("Removed what a cluster that was killed left: %s", path)
	}
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(folders, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for the cluster: %w", err)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path, lock}, nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// cgroup is the name of a machine's cgroup.
func (f *folder) cgroup(machine string) string { return filepath.Base(f.path) + "." + machine }

func (f *folder) remove() error { return errors.Join(removeFolder(f.path), f.lock.Close()) }

// removeFolder removes a cluster's files, and its cgroups.
func removeFolder(path string) error {
	return errors.Join(realnode.RemoveCgroups(filepath.Base(path)+"."), os.RemoveAll(path))
}

func lockFolder(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cluster's folder: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("folder %s belongs to a cluster that runs: %w", path, err), lock.Close())
	}
	return lock, nil
}

// Clean removes the files and cgroups of clusters that were killed, and returns their folders. Their
// processes have ended with them; their network namespaces are removed by the next cluster that starts.
func Clean() ([]string, error) {
	candidates, err := filepath.Glob(filepath.Join(folders, folderPrefix+"*"))
	if err != nil {
		return nil, err
	}
	var removed []string
	var failed []error
	for _, path := range candidates {
		lock, err := lockFolder(path)
		if err != nil {
			continue // it runs
		}
		err = errors.Join(removeFolder(path), lock.Close())
		if err == nil {
			removed = append(removed, path)
		}
		failed = append(failed, err)
	}
	return removed, errors.Join(failed...)
}
