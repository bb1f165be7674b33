package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// limit is how long anything in these tests may take before it counts as never.
const limit = time.Minute

// eventually calls check until it returns nil.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); <-tick.C {
		if last = check(); last == nil {
			return
		}
	}
	t.Fatal(last)
}

// gone reports processes that still run. One that has ended and is not reaped yet does not count.
func gone(pids []int) error {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "Z") {
			return fmt.Errorf("still running: %s", stat)
		}
	}
	return nil
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	tier.NeedFull(t)
	owner := exec.CommandContext(t.Context(), "/proc/self/exe")
	owner.Env = append(os.Environ(), ownerEnv+"="+t.TempDir())
	owner.Stderr = os.Stderr
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Process.Kill() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	if err := json.Unmarshal([]byte(strings.ReplaceAll(line, " ", ",")), &pids); err != nil || len(pids) != 4 {
		t.Fatalf("the owner said %q, %v; want four processes", line, err)
	}
	if gone(pids[:1]) == nil || gone(pids[3:]) == nil {
		t.Fatal("a component does not run")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	eventually(t, func() error { return gone(pids) })
}

func TestStartFails(t *testing.T) {
	tier.NeedFull(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	lab := buildLab(t)
	used := t.TempDir()
	if err := os.Mkdir(filepath.Join(used, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	badFlag := func(name string) map[string][]string { return map[string][]string{name: {"--no-such-flag"}} }
	tests := []struct {
		name    string
		ctx     context.Context
		options Options
		want    string
	}{
		{"no folder", t.Context(), Options{}, "Options.Dir is empty"},
		{"used folder", t.Context(), Options{Dir: used}, "serves one control plane only"},
		{"no binary", t.Context(), Options{Dir: t.TempDir(), Binary: "/no/such/lab"}, "starting etcd: "},
		{"context has ended", ended, Options{Dir: t.TempDir()}, "context canceled"},
		{"Service range", t.Context(), Options{Dir: t.TempDir(), ServiceCIDR: "10.96.0.0"},
			`Service range "10.96.0.0"`},
		{"IPv6 address", t.Context(), Options{Dir: t.TempDir(), Address: netip.IPv6Loopback()}, "not an IPv4 address"},
		{"etcd ends", t.Context(), Options{Dir: t.TempDir(), Flags: badFlag(Etcd)}, "etcd (pid "},
		{"API server ends", t.Context(), Options{Dir: t.TempDir(), Flags: badFlag(APIServer)},
			"unknown flag: --no-such-flag"},
		{"controller manager ends", t.Context(), Options{Dir: t.TempDir(), Flags: badFlag(ControllerManager)},
			"unknown flag: --no-such-flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.options.Binary == "" {
				tt.options.Binary = lab
			}
			c, err := Start(tt.ctx, tt.options)
			if err == nil {
				_ = c.Stop()
				t.Fatal("Start() succeeded")
			}
			if !strings.HasPrefix(err.Error(), "starting a control plane") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error lacks %q: %v", tt.want, err)
			}
		})
	}
}

// buildLab returns the path of the lab.
func buildLab(t *testing.T) string {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, err := Build(t.Context(), root, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testStop stops a control plane and expects nothing to be left but its files.
func testStop(t *testing.T, c *ControlPlane) {
	t.Helper()
	pids := c.pids()
	if len(pids) != 4 {
		t.Fatalf("got %d processes, want 4", len(pids))
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err() = %v while all components run", err)
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("Stop() = %v, want nil", err)
		}
	}
	if err := gone(pids); err != nil {
		t.Error(err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err() after Stop = %v, want nil", err)
	}
	if _, err := os.Stat(c.AuditLog()); err != nil {
		t.Errorf("the audit log is not left for the caller: %v", err)
	}
}

// testErr kills a component: Err and Stop report it with its name.
func testErr(t *testing.T, c *ControlPlane) {
	t.Helper()
	scheduler := c.components[slices.IndexFunc(c.components, func(p *component) bool { return p.name == Scheduler })]
	if err := syscall.Kill(scheduler.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-scheduler.Done()
	var exit *process.ExitError
	if err := c.Err(); !errors.As(err, &exit) || exit.Name != Scheduler || exit.Signal != syscall.SIGKILL {
		t.Errorf("Err() = %v, want the end of the scheduler", err)
	}
	if err := c.Stop(); !errors.As(err, &exit) {
		t.Errorf("Stop() = %v, want the end of the scheduler", err)
	}
	if err := gone([]int{scheduler.PID()}); err != nil {
		t.Error(err)
	}
}

func testPrivacy(t *testing.T, c *ControlPlane) {
	t.Helper()
	for _, dir := range []string{c.layout.certs, c.layout.etcd, c.layout.logs} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q has mode %v, %v; want 0700", dir, info.Mode(), err)
		}
	}
	if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has mode %v, %v; want 0600", info.Mode(), err)
	}
}
