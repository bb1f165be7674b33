//go:build linux

// Package cgroup makes and removes control groups in every hierarchy that the machine has: one with
// version 2, one for each controller with version 1. It needs root.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// cgroups is where the hierarchies of cgroups are.
	cgroups = "/sys/fs/cgroup"
	// busyTimeout is how long cgroups may be busy after the end of their processes.
	busyTimeout = time.Minute
	busyRetry   = 50 * time.Millisecond
)

// Hierarchies are the roots of all hierarchies of cgroups: one with version 2, and one for each
// controller with version 1, where the folder above them is not one. That there is none is an error.
func Hierarchies() ([]string, error) { return someIn(cgroups) }

func someIn(top string) ([]string, error) {
	found, err := findIn(top)
	if err == nil && len(found) == 0 {
		err = errors.New("finding cgroups: none are mounted")
	}
	if err != nil {
		return nil, fmt.Errorf("%w; mount them, with version 2: mount -t cgroup2 none %s", err, top)
	}
	return found, nil
}

func findIn(top string) ([]string, error) {
	unified, err := isCgroup(top, unix.CGROUP2_SUPER_MAGIC)
	if err != nil {
		return nil, fmt.Errorf("finding cgroups: %w", err)
	}
	if unified {
		return []string{top}, nil
	}
	entries, err := os.ReadDir(top)
	if err != nil {
		return nil, fmt.Errorf("finding cgroups: %w", err)
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(top, entry.Name())
		if entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		first, _ := isCgroup(path, unix.CGROUP_SUPER_MAGIC)
		second, _ := isCgroup(path, unix.CGROUP2_SUPER_MAGIC)
		if first || second {
			found = append(found, path)
		}
	}
	return found, nil
}

func isCgroup(path string, magic int64) (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return false, os.NewSyscallError("statfs "+path, err)
	}
	return stat.Type == magic, nil
}

// Make makes a cgroup with that name in every hierarchy, fit for a kubelet. One that is there stays.
func Make(name string) error {
	roots, err := Hierarchies()
	for _, root := range roots {
		err = errors.Join(err, makeIn(root, name))
	}
	return err
}

func makeIn(root, name string) error {
	made := filepath.Join(root, name)
	if err := os.Mkdir(made, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making cgroup %s: %w", made, err)
	}
	if err := inherit(root, made); err != nil {
		return err
	}
	if root == cgroups {
		return delegate(root)
	}
	return nil
}

// inherit gives a new cgroup of version 1 the processors and memory of the one above: it has none of
// its own, and nothing can then run in it.
func inherit(root, made string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // another controller, or version 2, where the root has no such file
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(made, name), content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("giving cgroup %s what the one above has: %w", made, err)
		}
	}
	return nil
}

// needed are the controllers that a kubelet requires of version 2.
func needed() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// delegate lets the cgroups of version 2 below root have the controllers that a kubelet requires.
func delegate(root string) error {
	content, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers of cgroups: %w", err)
	}
	var enable []string
	for _, controller := range needed() {
		if !slices.Contains(strings.Fields(string(content)), controller) {
			return fmt.Errorf("cgroups of version 2 lack the controller %s, which a kubelet needs", controller)
		}
		enable = append(enable, "+"+controller)
	}
	if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte(strings.Join(enable, " ")),
		0o644); err != nil {
		return fmt.Errorf("handing the controllers of cgroups on (in a container, its processes must be in a cgroup "+
			"below its root): %w", err)
	}
	return nil
}

// remover removes cgroups, each with rmdir. It waits for busy ones until the deadline, which they share: there may be
// hundreds.
type remover struct {
	rmdir    func(path string) error
	deadline time.Time
}

// removeTree removes folders from the inside out; the files of cgroups go with them.
func (r remover) removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, r.removeTree(filepath.Join(path, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	if err := r.remove(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("removing cgroup %s: %w", path, err)
	}
	return nil
}

// remove removes a cgroup, which the kernel still takes for busy for a while after its last process has ended.
func (r remover) remove(path string) error {
	for {
		err := r.rmdir(path)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(r.deadline) {
			return err
		}
		<-time.After(busyRetry)
	}
}

// RemoveAll removes the cgroups whose names begin with prefix, and everything below them. They must
// be without processes: otherwise it is an error after a minute. What is not there is removed already.
func RemoveAll(prefix string) error {
	roots, err := findIn(cgroups)
	r := remover{unix.Rmdir, time.Now().Add(busyTimeout)}
	for _, root := range roots {
		err = errors.Join(err, r.removeIn(root, prefix))
	}
	return err
}

func (r remover) removeIn(root, prefix string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("listing cgroups: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), prefix) {
			err = errors.Join(err, r.removeTree(filepath.Join(root, entry.Name())))
		}
	}
	return err
}
