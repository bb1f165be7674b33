//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// TestKilledClusterLeavesNothing kills the program of `make cluster`, which then cannot clean up: its processes,
// namespaces, cgroups and files go nevertheless. The program builds what it needs, which no other test may use then.
func TestKilledClusterLeavesNothing(t *testing.T) {
	root := checkout.Path(t, checkout.Everything)
	state := t.TempDir() // not that of make cluster
	p, err := process.Start(t.Context(), process.Spec{
		Name: "cluster", Path: filepath.Join(root, "bin", "cluster"), Args: []string{"--bare", "--workers=1",
			"--state=" + state},
		Dir: root, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, p)
	r, err := cluster.Find(state)
	if err != nil {
		t.Fatal(err)
	}
	left := leftBehind(t, r)
	for _, kind := range []string{"process", "namespace", "cgroup", "file"} {
		if !strings.Contains(left, kind) {
			t.Errorf("while it runs, no %s of it is seen: %s", kind, left)
		}
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	eventually(t, "nothing is left", func(context.Context) error {
		if left := leftBehind(t, r); left != "" {
			return fmt.Errorf("there are %s", left)
		}
		return nil
	})
	if _, err := cluster.Find(state); err == nil {
		t.Error("the cluster that was killed is found")
	}
}

// leftBehind names the namespaces, files, block devices, cgroups and processes of a cluster.
func leftBehind(t *testing.T, r cluster.Remote) string {
	t.Helper()
	var found []string
	see := func(kind, pattern string) {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			found = append(found, kind+" "+path)
		}
	}
	see("namespace", strings.TrimSuffix(r.Namespace, "client")+"*")
	see("file", r.Folder)
	disks := "/var/lib/thalassa-emulator/" + strings.TrimSuffix(filepath.Base(r.Namespace), "-client")
	see("file", disks)
	devices, err := loopdevice.Below(disks)
	if err != nil {
		t.Fatal(err)
	}
	for file, device := range devices {
		found = append(found, "device "+device.Path+" of "+file)
	}
	roots, err := cgroup.Hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		see("cgroup", filepath.Join(root, filepath.Base(r.Folder)+".*"))
	}
	return strings.Join(append(found, processes(t, r.Folder)...), ", ")
}

// processes are those that run for a cluster, the reaper included, which ends last.
func processes(t *testing.T, folder string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(folder)) {
			found = append(found, "process "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))[:min(len(line),
				60)])
		}
	}
	return found
}

// TestFailedStart keeps the logs of a cluster that does not come up: everything else of it goes.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	root := checkout.Path(t, checkout.Everything)
	ctx, cancel := context.WithCancelCause(t.Context())
	broken := errors.New("the start is cancelled")
	logs := t.TempDir()
	c, err := cluster.Start(ctx, cluster.Options{Root: root, Built: true, Workers: 1, Bare: true, FailureLogs: logs,
		Progress: func(line string) {
			if strings.HasPrefix(line, "Kubernetes answers") {
				cancel(broken)
			}
		}})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if c != nil {
		t.Error(errors.Join(errors.New("it has started"), c.Close()))
	}
	content, err := os.ReadFile(filepath.Join(logs, "control-plane", "kube-apiserver.log"))
	if err != nil || len(content) == 0 {
		t.Errorf("the API server's log has %d bytes: %v", len(content), err)
	}
}
