//go:build e2e

package e2etest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

const (
	// waitTimeout bounds every wait; nothing here takes a third of it on an idle machine.
	waitTimeout = 3 * time.Minute
	// monitorGrace is how long a node may be silent before Kubernetes takes it for not ready.
	monitorGrace = 16 * time.Second
	// healthSecond makes a new target healthy within 5 s instead of 20.
	healthSecond = time.Second / 4
)

// lab is a cluster that proofs share.
type lab struct {
	*cluster.Cluster
	report *report
	cuts   cuts
	// root is the folder of the repository, archive is the image of the cloud controller manager that was built there.
	root, archive string
	// scheme is how provider IDs begin.
	scheme string
	// before are the Nodes as they were when nothing was installed yet.
	before []corev1.Node
}

// proof is something that is proven in a cluster. It leaves the cluster as it found it.
type proof struct {
	name  string
	prove func(*testing.T, *lab)
}

// TestCluster proves what works in a cluster, one thing after another.
func TestCluster(t *testing.T) {
	t.Parallel()
	l := start(t, cluster.Options{DNS: true})
	l.prove(t,
		proof{"every node comes up tainted and is initialised", bootstrap},
		proof{"the program is the image that was imported", imported},
		proof{"exec and logs reach pods on both nodes", execAndLogs},
		proof{"pods reach pods on another node by routes of the VPC", podsReachPods},
		proof{"pods resolve names, and connect by them", namesResolve},
		proof{"a load balancer reaches pods on both nodes", balance},
		proof{"datagrams reach pods on both nodes", datagrams},
		proof{"a Service with both families has an address of each", dualStack},
		proof{"the policy Local skips nodes without pods, and shows them the load balancer", local},
		proof{"the PROXY protocol carries the client's address, which the policy Local does not", proxyProtocol},
		proof{"source ranges block and allow", sourceRanges},
		proof{"kubectl thalassa shows a cluster in order on every terminal", pluginShows},
		proof{"Prometheus reads the metrics as the ServiceMonitor says", scraped},
		proof{"the credentials change while it runs", rotated},
		proof{"the program is replaced, and no request fails", managerReplaced},
		proof{"a Deployment is replaced without a request that fails", rolledOut},
		proof{"with the policy Local, the only pod moves ten times without a request that fails", rolledOutLocally},
		proof{"what Services made is gone with them", nothingLeft},
		proof{"what a failure leaves to read is all there", reported},
	)
}

// TestOutage proves what happens when something of a cluster stops: the leader, the cloud's API, machines.
func TestOutage(t *testing.T) {
	t.Parallel()
	l := start(t, cluster.Options{})
	l.prove(t,
		proof{"the leader is stopped, and the standby goes on at once", leaderReplaced},
		proof{"the leader is killed, and the standby goes on", leaderKilled},
		proof{"the cloud's API is away for a while", cloudAway},
		proof{"a machine that is switched off, and on again", poweredOff},
		proof{"a machine that is added, and deleted in the cloud", deleted},
		proof{"a node is drained, marked, switched off, deleted and replaced", retired},
		proof{"what Services made is gone with them", nothingLeft},
	)
}

// prove proves one thing after another.
func (l *lab) prove(t *testing.T, all ...proof) {
	t.Helper()
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			began := time.Now()
			t.Cleanup(func() {
				result := map[bool]string{true: "FAILED", false: "ok"}[t.Failed()]
				l.report.say(fmt.Sprintf("%6.1fs  %s: %s", time.Since(began).Seconds(), one.name, result))
			})
			// Before what the proof made is removed, which is what its failure is about.
			defer func() { l.report.collect(t, filepath.Base(t.Name())) }()
			one.prove(t, l)
		})
	}
}

// start starts a cluster, records its Nodes, and installs the chart.
func start(t *testing.T, o cluster.Options) *lab {
	t.Helper()
	if o.Values == nil && !o.IronCore {
		// Ten seconds prove the same as a minute.
		o.Values = map[string]any{
			"cloudConfig": map[string]any{"instancesV2": map[string]any{"removalGracePeriod": 10}},
			"advanced":    map[string]any{"inventory": map[string]any{"machineAge": 10}},
		}
	}
	l := begin(t, o)
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// begin starts a cluster without a cloud controller manager, and records its Nodes.
func begin(t *testing.T, o cluster.Options) *lab {
	t.Helper()
	root := checkout.Path(t, checkout.Everything)
	l := &lab{report: newReport(t, root), root: root,
		archive: filepath.Join(root, "dist/cluster/images/thalassa-cloud-controller-manager.tar"),
		scheme:  map[bool]string{false: "thalassacloud", true: "ironcore"}[o.IronCore]}
	began := time.Now()
	o.Root, o.Built, o.Bare, o.FailureLogs = root, true, true, l.report.file("logs")
	o.NodeMonitorGracePeriod, o.HealthSecond, o.OnCut = monitorGrace, healthSecond, l.cuts.add
	o.Middleware = openapitest.Sampled(t)
	o.Progress = func(line string) { l.report.say(fmt.Sprintf("%6.1fs  %s", time.Since(began).Seconds(), line)) }
	var err error
	if l.Cluster, err = cluster.Start(l.report.startWatchdog(t, margin), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	l.report.about(l.gather)
	// Before the cluster is closed.
	t.Cleanup(func() {
		l.report.collect(t, "")
		l.report.about(nil)
	})
	nodes, err := l.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.before = nodes.Items
	return l
}
