package thalassa

import (
	"runtime/debug"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// BenchmarkRoutes measures what giving 5,000 nodes the networks of their pods and routes to them takes, as the budgets
// name it. The cloud is a process of its own. It lets more requests a second through than the default, which would be
// all that this measures.
func BenchmarkRoutes(b *testing.B) {
	const nodes, joins, rate = 5000, 500, 1000
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the process has it
	cloud := startCloud(b, nodes+joins+1)
	network := newScale()
	l := &lab{TB: b, network: network, config: cloudconfig.Default()}
	l.credentials = secret.Credentials{ClientID: emulator.DefaultClientID, ClientSecret: emulator.DefaultClientSecret}
	l.config.Organisation, l.config.VPCIdentity, l.config.Cluster, l.config.Endpoint = emulator.DefaultOrganisationSlug,
		emulator.DefaultVPC, "k8s-test", cloud.URL
	l.config.Routes.Enabled, l.config.Routes.DriftPeriod = true, int(time.Minute/hurry/time.Second)
	l.config.API.RequestsPerSecond, l.config.API.Burst = rate, rate
	l.restart()
	process := workerpooltest.New(b)
	process.Recorder = record.NewFakeRecorder(10 * nodes)
	s := routesCluster{&nodesCluster{lab: l, cluster: cluster.New(), process: process}, cloud.Machines}
	c := externalNodesCluster{s.nodesCluster, network}
	s.join(1, nodes)
	benchtest.ForgetMemory()
	var stop func()
	first := c.costs(func() { stop = s.begin(); s.awaitRoutes() })
	defer func() { stop() }()
	c.minute() // what the conditions brought
	var quiet cost
	for b.Loop() {
		quiet = c.costs(c.minute)
	}
	replaced := c.costs(func() { s.replace(1, nodes+1); s.awaitRoutes() })
	more := c.costs(func() { s.join(nodes+2, nodes+1+joins); s.awaitRoutes() })

	// Metrics from before the loop are forgotten by it.
	first.report(b, "routes-5000-first", nodes)
	quiet.report(b, "routes-5000-quiet", 1)
	replaced.report(b, "routes-5000-replaced", 1)
	more.report(b, "routes-5000-joins", joins)
	b.ReportMetric(benchtest.PeakMemory(), "routes-5000-memory")
	b.ReportMetric(benchtest.LiveMemory(), "routes-5000-heap")
}

// awaitRoutes returns once all nodes have their routes.
func (s routesCluster) awaitRoutes() {
	s.Helper()
	const often, long = 50 * time.Millisecond, 10 * time.Minute
	late := time.After(long)
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for s.unrouted() > 0 {
		select {
		case <-ticker.C:
		case <-late:
			s.Fatalf("%d nodes wait for routes: %s", s.unrouted(), s.events())
		}
	}
}
