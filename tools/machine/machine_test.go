//go:build linux

package machine_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/machine"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// The test binary plays first processes: which one comes in this variable.
const roleEnv = "MACHINE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "machine":
		if err := machine.Run(os.Getenv("MACHINE_TEST_DIR"), "worker-1", os.Getenv("MACHINE_TEST_DISKS")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	case "pause":
		if err := machine.Pause(os.Stdout); err != nil {
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

func TestMake(t *testing.T) {
	dir := t.TempDir()
	if err := machine.Make(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run/left", "lib/left"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := machine.Make(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run/left")); err == nil {
		t.Error("what was in memory is there after a restart")
	}
	if _, err := os.Stat(filepath.Join(dir, "lib/left")); err != nil {
		t.Errorf("what was on disk is gone: %v", err)
	}
}

// TestRunKeepsAwayFromOthers calls what changes mounts and the host's name from a process that is not the first one.
func TestRunKeepsAwayFromOthers(t *testing.T) {
	if err := machine.Run(t.TempDir(), "worker-1", ""); err == nil ||
		!strings.Contains(err.Error(), "not the first process") {
		t.Errorf("got %v", err)
	}
}

func TestPauseEndsWhenAsked(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=pause")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil { // it receives signals from here on
		t.Fatalf("read %q: %v", line, err)
	}
	for _, s := range []os.Signal{syscall.SIGCHLD, syscall.SIGTERM} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || string(rest) != "ends: terminated\n" {
		t.Errorf("ended with %v, and printed %q", err, rest)
	}
}

// TestMachine boots a machine: what its first process is shown is its own, and everything ends with it.
func TestMachine(t *testing.T) {
	roottest.Need(t, "unshare", "nsenter", "grep")
	dir, disks := t.TempDir(), t.TempDir()
	if err := machine.Make(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "lib/mine"), []byte("mine"), 0o600),
		os.Symlink("/dev/loop99", filepath.Join(disks, "scsi-mine"))); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{
		Path: "unshare", Args: []string{"--net", os.Args[0]}, Isolate: true,
		Env: append(os.Environ(), roleEnv+"=machine", "MACHINE_TEST_DIR="+dir, "MACHINE_TEST_DISKS="+disks),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Signal(syscall.SIGKILL) }()
	booted(t, p, dir)
	in := func(command ...string) string {
		t.Helper()
		line := append([]string{"--target=" + strconv.Itoa(p.PID()), "--mount", "--uts", "--pid", "--net", "--"},
			command...)
		output, err := exec.CommandContext(t.Context(), "nsenter", line...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"hostname"}, "worker-1"},
		{[]string{"cat", "/var/lib/mine"}, "mine"},
		{[]string{"ls", "/run"}, "booted\nlock\nnetns"},
		{[]string{"cat", "/proc/sys/net/ipv4/ip_forward"}, "1"},
		{[]string{"cat", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic"}, "1\n10"},
		{[]string{"cat", "/proc/1/comm"}, filepath.Base(os.Args[0])},
		{[]string{"ls", machine.DiskFolder}, "scsi-mine"},
		{[]string{"grep", "-c", " /var/lib .* shared:", "/proc/self/mountinfo"}, "1"},
	} {
		if got := in(test.command...); got != test.want {
			t.Errorf("%v says %q, want %q", test.command, got, test.want)
		}
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left: %v", err)
	}
	if err := machine.RemoveDiskFolder(); err != nil {
		t.Error(err)
	}
}

func booted(t *testing.T, p *process.Process, dir string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(dir, machine.ReadyFile)); err == nil {
			return
		}
		select {
		case <-p.Done():
			t.Fatalf("it ended: %v", p.Err())
		case <-tick.C:
		}
	}
}
