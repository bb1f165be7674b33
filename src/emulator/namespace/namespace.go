//go:build linux

// Package namespace makes network namespaces with names, as `ip netns` does, and
// works in them: it opens sockets, starts programs and runs code there.
//
//	machine, err := namespace.Create("worker-1")
//	...
//	defer machine.Remove()
//	listener, err := machine.Listen(ctx, "tcp", "10.0.0.5:80")
//
// It needs root, or the capabilities SYS_ADMIN and NET_ADMIN.
package namespace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is where namespaces have their names; `ip netns` uses the same.
const Folder = "/run/netns"

// current is the namespace of the thread that opens it.
const current = "/proc/thread-self/ns/net"

// Namespace is an open network namespace. It may be used from any goroutine.
type Namespace struct {
	name, path string
	file       *os.File
}

// Create makes a namespace with a name that is not in use yet. It has nothing
// but a loopback interface, which is down.
func Create(name string) (*Namespace, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || name == "" {
		return nil, fmt.Errorf("creating network namespace %q: the name must be one of a file", name)
	}
	if err := shareFolder(); err != nil {
		return nil, err
	}
	path := filepath.Join(Folder, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, fmt.Errorf("creating network namespace %q: %w", name, err)
	}
	err = errors.Join(file.Close(), inThread(func() error { return mountNew(path) }))
	if err != nil {
		return nil, fmt.Errorf("creating network namespace %q (it needs root, or the capability SYS_ADMIN): %w", name,
			errors.Join(err, os.Remove(path)))
	}
	return Open(name)
}

// mountNew gives a name to a new namespace, in which the thread then is.
func mountNew(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	return os.NewSyscallError("mount", unix.Mount(current, path, "", unix.MS_BIND, ""))
}

// shareFolder makes the folder of the names one that hands mounts on to all
// mount namespaces, as `ip netns` does: a name must be gone everywhere when it
// is removed.
func shareFolder() error {
	if err := os.MkdirAll(Folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of network namespaces (it needs root): %w", err)
	}
	share := func() error { return unix.Mount("", Folder, "none", unix.MS_SHARED|unix.MS_REC, "") }
	err := share()
	if errors.Is(err, unix.EINVAL) { // not a mount yet
		if err = unix.Mount(Folder, Folder, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = share()
		}
	}
	if err != nil {
		return fmt.Errorf("mounting %s for network namespaces (it needs root, or the capability SYS_ADMIN): %w", Folder,
			err)
	}
	return nil
}

// Open opens a namespace by its name, or by a path such as /proc/1/ns/net.
func Open(nameOrPath string) (*Namespace, error) {
	path := nameOrPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(Folder, nameOrPath)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening network namespace %q: %w", nameOrPath, err)
	}
	return &Namespace{name: filepath.Base(path), path: path, file: file}, nil
}

// Current opens the namespace in which the program runs.
func Current() (*Namespace, error) {
	// Of any thread but those that Do has sent elsewhere: the first thread, whose
	// is /proc/self/ns/net, may be one.
	n, err := Open(current)
	if err == nil {
		n.path = fmt.Sprintf("/proc/%d/ns/net", os.Getpid())
		n.name = n.path
	}
	return n, err
}

// Names are the names of the namespaces that begin with a prefix.
func Names(prefix string) ([]string, error) {
	entries, err := os.ReadDir(Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Name is the name that the namespace was opened with.
func (n *Namespace) Name() string { return n.name }

// Path is a file that `nsenter --net=PATH` enters the namespace by.
func (n *Namespace) Path() string { return n.path }

// FD is the descriptor of the namespace. It is valid until Close or Remove.
func (n *Namespace) FD() int { return int(n.file.Fd()) }

// Do runs work in the namespace and returns its error. Goroutines that work
// starts are not in the namespace.
func (n *Namespace) Do(work func() error) error {
	return inThread(func() error {
		if err := unix.Setns(n.FD(), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering network namespace %q (it needs root, or the capability SYS_ADMIN): %w", n.name,
				err)
		}
		return work()
	})
}

// Start starts a program in the namespace.
func (n *Namespace) Start(cmd *exec.Cmd) error { return n.Do(cmd.Start) }

// Close lets go of the namespace, which stays.
func (n *Namespace) Close() error { return n.file.Close() }

// Remove takes the namespace's name away and lets go of it. It ends, along with
// its interfaces, when no program is in it and no file descriptor of it is open.
func (n *Namespace) Remove() error { return errors.Join(Remove(n.name), n.Close()) }

// Remove takes the name of a namespace away.
func Remove(name string) error {
	path := filepath.Join(Folder, name)
	err := unix.Unmount(path, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) { // a name whose namespace was never mounted
		err = nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("removing network namespace %q: %w", name, err)
	}
	return nil
}

// inThread runs work in a thread of its own, which is used again only when it
// is back in the namespace where it came from.
func inThread(work func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(current)
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("opening the thread's network namespace: %w", err)
			return
		}
		defer func() { _ = home.Close() }()
		err = work()
		// Without the unlock the thread ends with this goroutine.
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
