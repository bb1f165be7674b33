package thalassa

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// hurry is how many times faster than usual all periods are, so that a minute takes six seconds.
const hurry = 10

// BenchmarkNodes measures what looking after 5,000 nodes takes, and after 500 that join them, as the budgets name it.
// The cloud is a process of its own, so that CPU and memory are the provider's; what stands for the API server is part
// of them, and small.
func BenchmarkNodes(b *testing.B) {
	const nodes, some, joins = 5000, 50, 500
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the process has it
	c := newExternalNodesCluster(b, nodes+joins)
	c.join(1, nodes)
	benchtest.ForgetMemory()
	first := c.costs(func() { c.begin(); c.settled() })
	defer c.process.End()
	var quiet cost
	for b.Loop() {
		quiet = c.costs(c.minute)
	}
	c.silent(1, some)
	aFew := c.costs(c.minute)
	c.silent(some+1, nodes)
	all := c.costs(c.minute)
	more := c.costs(func() { c.join(nodes+1, nodes+joins); c.settled() })

	// Metrics from before the loop are forgotten by it.
	first.report(b, "nodes-5000-initialise", nodes)
	quiet.report(b, "nodes-5000-quiet", 1)
	aFew.report(b, "nodes-5000-some", 1)
	all.report(b, "nodes-5000-all", 1)
	more.report(b, "nodes-5000-joins", joins)
	b.ReportMetric(benchtest.PeakMemory(), "nodes-5000-memory")
	b.ReportMetric(benchtest.LiveMemory(), "nodes-5000-heap")
}

// externalNodesCluster is a nodesCluster in real time whose cloud is another process, and whose nodes are also removed.
type externalNodesCluster struct {
	*nodesCluster
	network *scale
}

func newExternalNodesCluster(b *testing.B, machines int) externalNodesCluster {
	b.Helper()
	cloud := startCloud(b, machines)
	network := newScale()
	l := &lab{TB: b, network: network, config: cloudconfig.Default()}
	l.credentials = secret.Credentials{ClientID: emulator.DefaultClientID, ClientSecret: emulator.DefaultClientSecret}
	l.config.Organisation, l.config.VPCIdentity, l.config.Cluster, l.config.Endpoint = emulator.DefaultOrganisationSlug,
		emulator.DefaultVPC, "k8s-test", cloud.URL
	l.config.Inventory.MachineAge /= hurry
	l.restart()
	process := workerpooltest.New(b)
	process.Recorder = record.NewFakeRecorder(10 * machines)
	return externalNodesCluster{&nodesCluster{lab: l, cluster: cluster.New(), process: process}, network}
}

// begin starts both controllers.
func (c externalNodesCluster) begin() {
	c.Helper()
	kubernetes, err := cluster.Client(c)
	if err != nil {
		c.Fatal(err)
	}
	c.process.Begin(kubernetes, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		provider, behaviour := c.cloud.machines, c.config.InstancesV2.Behaviour()
		controller, err := node.New(node.Options{Provider: provider, Behaviour: behaviour, Client: kubernetes,
			Nodes: factory.Core().V1().Nodes(), Period: keepPeriod / hurry, Workers: 1, ResyncWorkers: 1,
			Recorder: c.process.Recorder})
		if err != nil {
			return nil, err
		}
		life, err := nodelifecycle.New(nodelifecycle.Options{Provider: provider, Behaviour: behaviour,
			Client: kubernetes,
			Nodes:  factory.Core().V1().Nodes(), Period: lifePeriod / hurry, Workers: 1, Recorder: c.process.Recorder})
		return func(ctx context.Context) {
			var both sync.WaitGroup
			both.Go(func() { controller.Run(ctx) })
			both.Go(func() { life.Run(ctx) })
			both.Wait()
		}, err
	})
}

// join registers nodes, ready, for the machines with these numbers.
func (c externalNodesCluster) join(from, to int) {
	c.Helper()
	for i := from; i <= to; i++ {
		c.register(machineName(i), func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		})
	}
}

// machineName is what the emulator calls a machine.
func machineName(i int) string { return fmt.Sprintf("machine-%05d", i) }

// silent lets kubelets fall silent.
func (c externalNodesCluster) silent(from, to int) {
	c.Helper()
	for i := from; i <= to; i++ {
		err := c.cluster.Change(named(machineName(i), ""), func(object cluster.Object) {
			if n, ok := object.(*corev1.Node); ok {
				n.Status.Conditions[0].Status = corev1.ConditionUnknown
			}
		})
		if err != nil {
			c.Fatal(err)
		}
	}
}

// settled returns once no node waits.
func (c externalNodesCluster) settled() {
	c.Helper()
	const often, long = 50 * time.Millisecond, 10 * time.Minute
	late := time.After(long)
	for tick := time.NewTicker(often); c.waiting() > 0; {
		select {
		case <-tick.C:
		case <-late:
			c.Fatalf("%d nodes wait: %s", c.waiting(), c.events())
		}
	}
}

// minute lets one pass.
func (c externalNodesCluster) minute() { <-time.After(time.Minute / hurry) }

// cost is what some work takes.
type cost struct {
	seconds, processor     float64
	calls, received, wrote int64
}

// costs measures work.
func (c externalNodesCluster) costs(work func()) cost {
	c.Helper()
	began, used := time.Now(), benchtest.CPU(c)
	calls, received, wrote := c.network.calls.Load(), c.network.received.Load(), c.patches.Load()
	work()
	return cost{time.Since(began).Seconds(), (benchtest.CPU(c) - used).Seconds(),
		c.network.calls.Load() - calls, c.network.received.Load() - received, c.patches.Load() - wrote}
}

// report makes metrics of it, the writes for each of so many nodes. Of what is not done for any of them the time says
// nothing.
func (c cost) report(b *testing.B, name string, nodes int) {
	b.Helper()
	if nodes > 1 {
		b.ReportMetric(c.seconds, name+"-seconds")
	}
	b.ReportMetric(c.processor, name+"-cpu")
	b.ReportMetric(float64(c.calls), name+"-calls")
	b.ReportMetric(float64(c.received)/mebi, name+"-traffic")
	b.ReportMetric(float64(c.wrote)/float64(nodes), name+"-writes")
}
