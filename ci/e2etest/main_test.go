//go:build e2e

package e2etest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const (
	// patience bounds every wait; nothing here takes a third of it on an idle machine.
	patience = 3 * time.Minute
	// monitorGrace is how long a node may be silent before Kubernetes takes it for not ready.
	monitorGrace = 16 * time.Second
)

// lab is the cluster that all proofs share.
type lab struct {
	*cluster.Cluster
	// before are the Nodes as they were when the chart was not installed yet.
	before []corev1.Node
}

// TestCluster starts a cluster, and has it prove one thing after another. A proof leaves it as it found it.
func TestCluster(t *testing.T) {
	l := start(t)
	for _, proof := range []struct {
		name  string
		prove func(*testing.T, *lab)
	}{
		{"every node comes up tainted and is initialised", bootstrap},
		{"the program is the image that was imported", imported},
		{"exec and logs reach pods on both nodes", execAndLogs},
		{"a load balancer reaches pods on both nodes", balance},
		{"datagrams reach pods on both nodes", datagrams},
		{"the policy Local keeps the sender and skips nodes without pods", local},
		{"the PROXY protocol tells the client's address", proxyProtocol},
		{"source ranges block and allow", sourceRanges},
		{"the program is replaced, and nobody notices", managerReplaced},
		{"a Deployment is replaced without a request that fails", rolledOut},
		{"the cloud's API is away for a while", cloudAway},
		{"a machine that is switched off, and on again", poweredOff},
		{"a machine that is added, and deleted in the cloud", deleted},
		{"what Services made is gone with them", nothingLeft},
	} {
		t.Run(proof.name, func(t *testing.T) { proof.prove(t, l) })
	}
}

// start starts the cluster, remembers what its Nodes are like, and installs the chart.
func start(t *testing.T) *lab {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	report := newReport(t, root)
	began := time.Now()
	c, err := cluster.Start(t.Context(), cluster.Options{
		Root: root, Bare: true, NodeMonitorGracePeriod: monitorGrace,
		Progress: func(line string) { report.say(fmt.Sprintf("%6.1fs  %s", time.Since(began).Seconds(), line)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{Cluster: c}
	// Before the cluster is closed.
	t.Cleanup(func() { report.collect(t, l) })
	nodes, err := c.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.before = nodes.Items
	if err := c.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}
