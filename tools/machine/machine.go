//go:build linux

// Package machine is the first process of a machine that is made of namespaces: it gives the
// machine folders of its own where programs expect them, and then reaps zombies, as the first
// process of a machine has to. It is Go code and not a shell's because it must not end before the
// machine does.
//
// The machine's files are below one folder:
//
//	run  is mounted at /run, and begins empty
//	lib  at /var/lib
//	log  at /var/log
//
// The links to its disks are a folder of their own, which is mounted at DiskFolder. Everything else is the host's.
package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadyFile is made below the machine's folder when it has booted.
const ReadyFile = "run/booted"

// folders are those of a machine, and where it has them.
func folders() map[string]string {
	return map[string]string{"run": "/run", "lib": "/var/lib", "log": "/var/log"}
}

// tunables are the settings of the kernel that a kubelet requires. There is one kernel for all
// machines and the host, so each machine is shown a file that says what the kubelet requires.
func tunables() map[string]string {
	return map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	}
}

// Make makes the folders of a machine below dir, and deletes what was in memory when it ran before.
func Make(dir string) error {
	err := os.RemoveAll(filepath.Join(dir, "run"))
	for folder := range folders() {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	// Both are a part of every system, and nothing else makes them.
	err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "run", "netns"), 0o755),
		os.MkdirAll(filepath.Join(dir, "run", "lock"), 0o755))
	if err != nil {
		return fmt.Errorf("making the folders of a machine: %w", err)
	}
	return nil
}

// Run is the life of a machine with that host name and that folder, which Make has made. disks is the folder with the
// links to its disks; empty, when it sees those of the host. It returns only when it cannot boot. The process has to be
// the first one of PID, mount and UTS namespaces of its own, because what it does to others would harm them.
func Run(dir, name, disks string) error {
	if os.Getpid() != 1 {
		return errors.New("booting a machine: this is not the first process of a PID namespace; start it with " +
			"process.Spec.Isolate")
	}
	// Before anything can die.
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	held, err := boot(dir, name, disks)
	if err != nil {
		return fmt.Errorf("booting machine %s: %w", name, err)
	}
	for range deaths {
		reap()
	}
	return held.Close()
}

// reap reaps everything that has died: here, orphans become children.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err != nil && !errors.Is(err, unix.EINTR) || err == nil && pid <= 0 {
			return
		}
	}
}

// boot makes the machine what it is. The returned file holds DiskFolder while the machine runs.
func boot(dir, name, disks string) (held *os.File, err error) {
	// What is mounted here stays here; what the host unmounts goes here, too.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return nil, fmt.Errorf("keeping its mounts apart: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("mounting /proc: %w", err)
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return nil, fmt.Errorf("setting its host name: %w", err)
	}
	if err := errors.Join(showTunables(dir), forward()); err != nil {
		return nil, err
	}
	if disks != "" {
		if held, err = showDisks(disks); err != nil {
			return nil, err
		}
	}
	return held, mountFolders(dir)
}

// mountFolders mounts the machine's folders, and then makes ReadyFile.
func mountFolders(dir string) error {
	ready := filepath.Join(dir, ReadyFile)
	// Before its folder may be hidden by one of its own mounts.
	booted, err := os.Create(ready + ".new")
	if err != nil {
		return err
	}
	for folder, at := range folders() {
		if err := unix.Mount(filepath.Join(dir, folder), at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting its folder at %s: %w", at, err)
		}
	}
	// As systemd does: what a container mounts in a folder that it shares with the machine is seen by the kubelet.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("sharing its mounts with its containers: %w", err)
	}
	return errors.Join(booted.Close(), os.Rename("/run/booted.new", "/run/booted"))
}

// showTunables shows the kubelet what it requires, where the kernel has the setting.
func showTunables(dir string) error {
	for name, value := range tunables() {
		at := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(at); errors.Is(err, os.ErrNotExist) {
			continue
		}
		source := filepath.Join(dir, "tunables", name)
		err := os.MkdirAll(filepath.Dir(source), 0o755)
		if err == nil {
			err = os.WriteFile(source, []byte(value+"\n"), 0o644)
		}
		if err == nil {
			err = unix.Mount(source, at, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("showing %s=%s: %w", name, value, err)
		}
	}
	return nil
}

// forward makes the machine hand packets on to its pods. These settings are those of its network
// namespace.
func forward() error {
	for _, path := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		err := os.WriteFile(filepath.Join("/proc/sys/net", path), []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("forwarding packets: %w", err)
		}
	}
	return nil
}

// Pause does nothing until a signal asks it to end: what a pod's namespaces are kept by. It prints a line when it
// waits, and one when it ends. It reaps zombies of a pod whose containers share a PID namespace.
func Pause(out io.Writer) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	if _, err := fmt.Fprintln(out, "waiting for SIGTERM"); err != nil {
		return err
	}
	for s := range signals {
		if s != syscall.SIGCHLD {
			_, err := fmt.Fprintln(out, "ends:", s)
			return err
		}
		reap()
	}
	return nil
}
