package thalassa

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// routesCluster is a nodesCluster without an overlay network: its nodes get the networks of their pods, and routes to
// them.
type routesCluster struct {
	*nodesCluster
	servers []string // that are there already; nodes beyond them get one of their own
}

// newRoutesCluster returns one in virtual time. settings change the configuration.
func newRoutesCluster(t *testing.T, settings func(*cloudconfig.Routes)) routesCluster {
	t.Helper()
	s := routesCluster{nodesCluster: &nodesCluster{lab: newLab(t, emulator.Config{}), cluster: cluster.New(),
		process: workerpooltest.New(t)}}
	s.config.Routes.Enabled = true
	if settings != nil {
		settings(&s.config.Routes)
	}
	s.restart()
	stop := s.begin()
	t.Cleanup(stop)
	s.pass(time.Minute)
	s.count()
	return s
}

// begin starts both controllers, and returns what ends them.
func (s routesCluster) begin() (stop func()) {
	s.Helper()
	kubernetes, err := cluster.Client(s)
	if err != nil {
		s.Fatal(err)
	}
	nodes := informers.NewSharedInformerFactory(kubernetes, 0)
	pods := []netip.Prefix{netip.MustParsePrefix("10.128.0.0/9")}
	router, err := route.New(route.Options{Provider: s.cloud.routes, Client: kubernetes,
		Nodes: nodes.Core().V1().Nodes(), CIDRs: pods, Recorder: s.process.Recorder})
	if err != nil {
		s.Fatal(err)
	}
	giver, err := nodeipam.New(nodeipam.Options{Client: kubernetes, Nodes: nodes.Core().V1().Nodes(), CIDRs: pods,
		Masks: nodeipam.Masks{IPv4: nodeipam.DefaultIPv4, IPv6: nodeipam.DefaultIPv6}, Recorder: s.process.Recorder})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(s.Context()), klog.Logger{}))
	nodes.StartWithContext(ctx)
	var running sync.WaitGroup
	running.Go(func() { router.Run(ctx) })
	running.Go(func() { giver.Run(ctx) })
	return func() { cancel(); running.Wait(); nodes.Shutdown() }
}

// join registers the nodes with these numbers, each on a machine of its own in the emulator's subnet.
func (s routesCluster) join(from, to int) {
	s.Helper()
	for i := from; i <= to; i++ {
		if err := s.cluster.Create(named(machineName(i), providerid.Of(s.server(i)))); err != nil {
			s.Fatal(err)
		}
	}
}

// server is the machine that the node with that number runs on.
func (s routesCluster) server(i int) string {
	s.Helper()
	if i <= len(s.servers) {
		return s.servers[i-1]
	}
	return s.machine(emulator.MachineSpec{Name: machineName(i)})
}

// replace lets one node take the place of another.
func (s routesCluster) replace(old, young int) {
	s.Helper()
	if err := s.cluster.Delete(named(machineName(old), "")); err != nil {
		s.Fatal(err)
	}
	s.join(young, young)
}

// unrouted counts the nodes that do not say that they have their routes.
func (s routesCluster) unrouted() int {
	count := 0
	for _, n := range s.cluster.Nodes() {
		routed := false
		for _, one := range n.Status.Conditions {
			routed = routed || one.Type == corev1.NodeNetworkUnavailable && one.Status == corev1.ConditionFalse
		}
		if !routed {
			count++
		}
	}
	return count
}

// routed lets time pass until all nodes have their routes, and returns how long it took.
func (s routesCluster) routed() time.Duration {
	s.Helper()
	began := time.Now()
	for s.unrouted() > 0 {
		if s.pass(time.Second); time.Since(began) > 10*time.Minute {
			s.Fatalf("%d nodes wait for routes: %s", s.unrouted(), s.events())
		}
	}
	return time.Since(began)
}

// TestBudgetsOfRoutes: a route costs one call, a quiet cluster next to none, and a Node three writes at most however
// many come at once.
func TestBudgetsOfRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const minutes = 15
		size, joins := tierSize().largeSize, tierSize().largeSize/2
		s := newRoutesCluster(t, nil)
		s.join(1, size)
		s.within("routes-first-seconds", s.routed().Seconds())
		s.within("routes-first-calls", s.spent()/float64(size))
		s.within("routes-first-patches", float64(s.patches.Load())/float64(size))

		s.pass(time.Minute)
		s.count()
		s.pass(minutes * time.Minute)
		s.within("routes-quiet-calls", s.spent()/minutes)
		s.within("routes-quiet-writes", float64(s.patches.Load())+float64(len(s.events())))

		s.count()
		s.replace(1, size+1)
		s.routed()
		s.pass(time.Minute)
		s.within("routes-replaced-calls", s.spent())
		s.within("routes-replaced-patches", float64(s.patches.Load()))

		s.count()
		s.join(size+2, size+1+joins)
		s.routed()
		s.within("routes-joins-calls", s.spent()/float64(joins))
		s.within("routes-joins-patches", float64(s.patches.Load())/float64(joins))
		if got := s.emulatedRoutes(); got != size+joins {
			t.Errorf("%d routes, want one for each of %d nodes", got, size+joins)
		}
	})
}

// emulatedRoutes counts the routes that the cloud has.
func (s routesCluster) emulatedRoutes() int {
	s.Helper()
	table, err := s.api().GetRouteTable(s.Context(), "default")
	if err != nil {
		s.Fatal(err)
	}
	seen := map[string]bool{}
	for _, one := range table.Routes {
		seen[one.DestinationCidrBlock] = true
	}
	return len(seen)
}
