//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// report is the folder with what helps to find out why a proof failed.
type report struct {
	folder string

	mu  sync.Mutex
	log *os.File
	// logErr is why the log is not complete.
	logErr error
	// gather writes what there is to know about the cluster into a folder; nil while there is no cluster.
	gather func(ctx context.Context, folder string) error
}

// newReport empties the folder of a test, and begins its log: it is there also when the cluster does not start, or
// the test is killed.
func newReport(t *testing.T, root string) *report {
	t.Helper()
	r := &report{folder: filepath.Join(root, "dist", "e2e", t.Name())}
	if err := errors.Join(os.RemoveAll(r.folder), os.MkdirAll(r.folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.log, err = os.Create(r.file("log.txt")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.logErr, r.log.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *report) file(name string) string { return filepath.Join(r.folder, name) }

func (r *report) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.log.WriteString(line + "\n"); err != nil {
		r.logErr = err
	}
}

// measured logs a figure: the output of proofs that pass is not kept, the log is.
func (r *report) measured(since time.Time, what string) {
	r.say(fmt.Sprintf("         %s after %s", time.Since(since).Round(time.Second/10), what))
}

func (r *report) readLog() (string, error) {
	log, err := os.ReadFile(r.file("log.txt"))
	return string(log), err
}

// about sets how to learn about the cluster; nil, when it is closed.
func (r *report) about(gather func(ctx context.Context, folder string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gather = gather
}

// collectLimit bounds how long collecting may take in a broken cluster.
const collectLimit = 30 * time.Second

// collect writes logs, and what the API server, the cloud and the kernel know, if something failed: into the folder of
// that name in that of the test, which is the one of the test where it is empty.
func (r *report) collect(t *testing.T, name string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if err := r.keep(context.WithoutCancel(t.Context()), name); err != nil {
		t.Errorf("collecting what helps to find out why: %v", err)
	}
	t.Logf("logs, events, what the cloud did and what the kernel has are in %s", r.file(name))
}

func (r *report) hasCluster() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gather != nil
}

// keep writes what there is to know about the cluster, if there is one.
func (r *report) keep(ctx context.Context, name string) error {
	r.mu.Lock()
	gather := r.gather
	r.mu.Unlock()
	if gather == nil {
		return nil
	}
	if err := os.MkdirAll(r.file(name), 0o755); err != nil {
		return err
	}
	return gather(ctx, r.file(name))
}

// gather writes what there is to know about a cluster. What cannot be had does not keep it from the rest.
func (l *lab) gather(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, collectLimit)
	defer cancel()
	failed := []error{l.Logs(filepath.Join(folder, "logs")), l.gatherKernel(ctx, filepath.Join(folder, "kernel"))}
	core := l.API().CoreV1()
	lists := l.cloudLists(ctx)
	maps.Copy(lists, map[string]func() (any, error){
		"nodes.yaml":    func() (any, error) { return core.Nodes().List(ctx, metav1.ListOptions{}) },
		"pods.yaml":     func() (any, error) { return core.Pods("").List(ctx, metav1.ListOptions{}) },
		"services.yaml": func() (any, error) { return core.Services("").List(ctx, metav1.ListOptions{}) },
		"endpoints.yaml": func() (any, error) {
			return l.API().DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
		},
		"leases.yaml": func() (any, error) {
			return l.API().CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
		},
		"events.yaml": func() (any, error) { return core.Events("").List(ctx, metav1.ListOptions{}) },
	})
	for name, list := range lists {
		objects, err := list()
		if err == nil {
			err = write(folder, name, objects)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// cloudLists are what there is in the cloud, by the names of files.
func (l *lab) cloudLists(ctx context.Context) map[string]func() (any, error) {
	if l.IronCore() == nil {
		return map[string]func() (any, error){
			"cloud.json":        func() (any, error) { return l.Cloud().State(), nil },
			"cloud-writes.json": func() (any, error) { return l.Cloud().Writes(), nil },
			"route-tables.yaml": func() (any, error) {
				cloud, err := l.Customer()
				if err != nil {
					return nil, err
				}
				return cloud.ListRouteTables(ctx, nil)
			},
		}
	}
	of, networking := cluster.IronCoreNamespace, l.IronCore().Client().NetworkingV1alpha1()
	return map[string]func() (any, error){
		"machines.yaml": func() (any, error) {
			return l.IronCore().Client().ComputeV1alpha1().Machines(of).List(ctx, metav1.ListOptions{})
		},
		"networkinterfaces.yaml": func() (any, error) {
			return networking.NetworkInterfaces(of).List(ctx, metav1.ListOptions{})
		},
		"loadbalancers.yaml": func() (any, error) {
			return networking.LoadBalancers(of).List(ctx, metav1.ListOptions{})
		},
		"loadbalancerroutings.yaml": func() (any, error) {
			return networking.LoadBalancerRoutings(of).List(ctx, metav1.ListOptions{})
		},
	}
}

// gatherKernel writes the addresses, routes and filters of every network namespace.
func (l *lab) gatherKernel(ctx context.Context, folder string) error {
	namespaces, err := filepath.Glob(strings.TrimSuffix(l.Client().Path(), "client") + "*")
	if err = errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	var failed []error
	for _, path := range namespaces {
		var all bytes.Buffer
		for _, command := range []string{"ip address", "ip route show table all", "ip -6 route show table all",
			"ip rule", "nft list ruleset"} {
			fmt.Fprintf(&all, "# %s\n", command)
			c := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + path}, strings.Fields(command)...)...)
			c.Stdout, c.Stderr = &all, &all
			if err := c.Run(); err != nil {
				failed = append(failed, fmt.Errorf("%s in %s: %w", command, path, err))
			}
		}
		failed = append(failed, os.WriteFile(filepath.Join(folder, filepath.Base(path)+".txt"), all.Bytes(), 0o644))
	}
	return errors.Join(failed...)
}

func write(folder, name string, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err == nil && filepath.Ext(name) == ".yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// reported proves that everything is collected that helps to find out why a proof failed.
func reported(t *testing.T, l *lab) {
	t.Helper()
	folder := t.TempDir()
	l.awaitWeb(t, l.expose(t, l.runServers(t, "worker-1"), portHTTP), "worker-1") // something has to be there
	if err := l.gather(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ file, says string }{
		{"logs/control-plane/kube-apiserver.log", ""},
		{"logs/control-plane/kube-controller-manager.log", ""},
		{"logs/nodes/worker-1/kubelet.log", ""},
		{"logs/nodes/worker-1/containerd.log", ""},
		{"logs/nodes/worker-1/kube-proxy.log", ""},
		{"logs/pods/control-plane/kube-system_*/cloud-controller-manager/*.log", "leader"},
		{"nodes.yaml", "providerID: thalassacloud://"},
		{"pods.yaml", "cloud-controller-manager"},
		{"services.yaml", "clusterIP"},
		{"endpoints.yaml", "endpoints"},
		{"leases.yaml", "cloud-controller-manager"},
		{"events.yaml", "EnsuredLoadBalancer"},
		{"cloud.json", "loadBalancers"},
		{"cloud-writes.json", "POST /v1/loadbalancers"},
		{"route-tables.yaml", "10.244."},
		{"kernel/*-vpc*.txt", "10.244."},
		{"kernel/*-worker-1.txt", "table ip kube-proxy"},
	} {
		found, err := filepath.Glob(filepath.Join(folder, want.file))
		if err != nil || len(found) == 0 {
			t.Errorf("there is no %s (%v)", want.file, err)
			continue
		}
		content, err := os.ReadFile(found[0])
		if err != nil || len(content) == 0 || !strings.Contains(string(content), want.says) {
			t.Errorf("%s has %d bytes, and not %q (%v)", want.file, len(content), want.says, err)
		}
	}
	if log, err := l.report.readLog(); !strings.Contains(log, "Node worker-1 has been started") {
		t.Errorf("the log does not say what happened: %v\n%s", err, log)
	}
	l.report.measured(time.Now().Add(-90*time.Second), "nothing: an example")
	if log, err := l.report.readLog(); !strings.HasSuffix(log, "1m30s after nothing: an example\n") {
		t.Errorf("the log does not say what was measured: %v\n%s", err, log)
	}
}

// closeQuietly closes what was only read.
func closeQuietly(c io.Closer) { _ = c.Close() }
