//go:build linux

// Package reaper keeps the files, cgroups and network namespaces of a cluster from being there longer than
// the cluster: it removes them in the end, and another process, the reaper, does when the cluster is killed.
//
//	folder, stale, err := reaper.Open()
//	...
//	defer folder.Remove()
//	err = folder.StartReaper("bin/guest")
package reaper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
	"github.com/thalassa-cloud/thalassa-ccm/tools/machine"
	"github.com/thalassa-cloud/thalassa-ccm/tools/rundir"
)

const (
	// dying is how long the processes of a cluster that was killed may take to end.
	dying = 3 * time.Minute
	retry = 200 * time.Millisecond
)

// clusters is where clusters have their folders. The path is short because sockets are below it, and not
// in /run, /var/lib or /var/log, which machines have of their own.
func clusters() rundir.Location {
	return rundir.Location{Parent: "/var/tmp", Prefix: "thalassa-cluster-", Discard: discard}
}

// Dir holds the files of one cluster that runs. Removing it removes its cgroups, too.
type Dir struct{ *rundir.Dir }

// Open makes the folder of a cluster, and first removes what killed ones left: stale are their folders.
func Open() (made *Dir, stale []string, err error) {
	if stale, err = Clean(); err != nil {
		return nil, stale, err
	}
	f, err := clusters().Make()
	if err != nil {
		return nil, stale, err
	}
	return &Dir{f}, stale, nil
}

// Cgroup is the name of the cgroup of one of the cluster's machines: they are removed with the folder.
func (f *Dir) Cgroup(machine string) string { return filepath.Base(f.Path()) + "." + machine + "." }

// discard removes the cgroups first: as long as the folder is there, a later run tries again.
func discard(path string) error {
	if err := cgroup.RemoveAll(filepath.Base(path) + "."); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), machine.RemoveDiskFolder())
}

// Clean removes what clusters left that were killed, and returns their folders. What belongs to one that
// runs is not touched.
func Clean() ([]string, error) { return clusters().Clean() }

// StartReaper starts a process that removes what is left if this one is killed: `guest reap FOLDER`.
// It ends by itself when Remove has removed the folder.
func (f *Dir) StartReaper(guest string) error {
	command := exec.CommandContext(context.Background(), guest, "reap", f.Path())
	// It must survive us, and whatever kills us: a terminal that closes, a test that runs out of time.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Dir = "/"
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the reaper of the cluster: %w", err)
	}
	go func() { _ = command.Wait() }()
	return nil
}

// Reap waits until the cluster with that folder has ended, and removes what it left, if anything. Its network
// namespaces are among that: the plane that they belong to has been killed as well.
func Reap(path string) error { return reap(clusters(), path, netns.Clean) }

func reap(in rundir.Location, path string, networks func() (removed []string, err error)) error {
	f, err := in.Await(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("waiting until the cluster has ended: %w", err)
	}
	deadline := time.Now().Add(dying)
	for there := true; ; {
		_, err := networks()
		if there {
			// Also when there is trouble with a network: that may be another cluster's, which cannot be removed.
			failed := f.Remove()
			there, err = failed != nil, errors.Join(err, failed)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(retry)
	}
}
