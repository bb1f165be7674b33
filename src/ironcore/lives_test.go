package ironcore

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

const (
	// lifeSteps are the things that happen in one life, in both clusters.
	lifeSteps = 40
	// longestPause is between two of them; the shortest is none.
	longestPause = 40 * time.Second
	// always are the machines of a cluster that are always there, of six: if most Nodes are missing, labels stay.
	always = 3
)

// TestLives lets people and other programs do random things with the Services, Nodes and machines of two clusters in
// one namespace and network, while requests fail in every way and processes change at random. Then both clusters have
// what their objects ask for, and nothing else; at no moment was something of others written, a Node deleted whose
// machine exists, or a load balancer replaced or without destinations. TRIAL_SEED, TRIAL_LIVES and TRIAL_TIME say which
// lives.
func TestLives(t *testing.T) {
	t.Parallel()
	for seed := range faulttest.Seeds(t, tierSize().someLives) {
		t.Run(fmt.Sprintf("life-%d", seed), func(t *testing.T) { synctest.Test(t, life{seed: seed}.run) })
	}
}

// life is what happens in two clusters, which comes from a seed.
type life struct{ seed uint64 }

// run lets everything happen, and then lets the clusters get what they want.
func (f life) run(t *testing.T) {
	d := &dice{Rand: rand.New(rand.NewPCG(f.seed, 0))}
	clusters := f.clusters(t, d)
	for _, c := range clusters {
		c.network.begin(f.disturb(c, 1+d.IntN(20)))
		c.begin()
	}
	var script []string
	for range lifeSteps {
		c := clusters[d.IntN(len(clusters))]
		name, step := d.step(c)
		script = append(script, fmt.Sprintf("%s %s: %s", time.Now().Format(time.TimeOnly), c.config.ClusterName,
			name))
		c.people(clusters, step)
		pass(time.Duration(d.Int64N(int64(longestPause))))
		for _, one := range clusters {
			one.alive()
		}
	}
	for _, c := range clusters {
		c.outage.Store(false)
		c.network.end()
	}
	f.end(t, clusters)
	if t.Failed() {
		t.Logf("repeat it: TRIAL_SEED=%d TRIAL_LIVES=1 go test -count=1 -run '^TestLives$' ./src/ironcore\n%s", f.seed,
			strings.Join(script, "\n"))
	}
}

// people changes something that a cluster has. Whatever follows from this at once is their doing.
func (c *lifeCluster) people(clusters []*lifeCluster, step func(*lifeCluster)) {
	change := func() { step(c) }
	for _, one := range clusters {
		inner := change
		change = func() { one.network.guard.during(inner) }
	}
	change()
}

// end wants the clusters to get what their objects ask for, to write nothing after a restart, and to have no load
// balancers when all Services are deleted.
func (f life) end(t *testing.T, clusters []*lifeCluster) {
	t.Helper()
	for _, c := range clusters {
		c.converge(t, "in the end")
		c.stop()
		c.alive()
		c.wantIdle("after a restart")
		c.people(clusters, func(c *lifeCluster) {
			for _, service := range c.objects.Services() {
				_ = c.objects.Delete(service) // it may be gone
			}
		})
		c.converge(t, "without Services")
		c.stop()
		for _, problem := range c.network.guard.problems() {
			t.Error(problem)
		}
	}
}

// lifeCluster is a cluster in which things happen.
type lifeCluster struct {
	*wholeCluster
	names  []string       // of machines; the first ones and their Nodes are always there
	uids   int            // of Services, so far
	nodes  map[string]int // the networks of pods, by machine
	outage atomic.Bool    // all requests to IronCore fail
}

// clusters returns two that have three Nodes each. Their server behaves in any way but one: with NoGC, the network
// interfaces of deleted machines would stay.
func (f life) clusters(t *testing.T, d *dice) []*lifeCluster {
	t.Helper()
	view := newUserViewOf(t, d.IntN(2) == 0, simulator.Options{NoWatchList: d.IntN(4) == 0,
		Routing: time.Duration(d.IntN(3)) * time.Second})
	var clusters []*lifeCluster
	for i, letters := range []string{"abcdef", "uvwxyz"} {
		config := testConfig()
		config.ClusterName = []string{testCluster, "violet"}[i]
		config.LoadBalancer.RemoveOrphans = d.IntN(2) == 0
		config.InstancesV2.MaxRemovals = 100 // several machines of six may be missing
		c := &lifeCluster{wholeCluster: newWholeCluster(view, config), names: strings.Split(letters, ""),
			nodes: map[string]int{}}
		c.others = []string{"uvwxyz", "abcdef"}[i]
		for number, name := range c.names {
			c.nodes[name] = 10*i + number + 1
		}
		clusters = append(clusters, c)
	}
	clusters[0].addForeign()
	for _, c := range clusters {
		for _, name := range c.names[:always] {
			c.join(name)
		}
		c.create(c.service("web"))
	}
	pass(2 * provision)
	return clusters
}

// join adds a machine, unless it exists, and its Node.
func (c *lifeCluster) join(name string) {
	if _, exists := c.server.Machine(name); !exists {
		c.addMachine(name)
	}
	if !c.hasNode(name) {
		c.register(name, pods(c.nodes[name]))
	}
}

func (c *lifeCluster) hasNode(name string) bool {
	return slices.ContainsFunc(c.objects.Nodes(), func(n *corev1.Node) bool { return n.Name == name })
}

// disturb lets one of so many requests fail in some way, which depends on the request and the seed alone.
func (f life) disturb(c *lifeCluster, oneOf int) func(call) *failureMode {
	modes := append(failureModes(), append(deaths(), relief())...)
	return func(one call) *failureMode {
		hash := fnv.New64a()
		_, _ = fmt.Fprint(hash, f.seed, c.config.ClusterName, one) // a hash has no errors
		drawn := rand.New(rand.NewPCG(hash.Sum64(), f.seed))
		switch {
		case c.outage.Load() && one.cloud:
			return unreachable()
		case drawn.IntN(oneOf+1) > 0:
			return nil
		}
		return modes[drawn.IntN(len(modes))]
	}
}

// converge lets time pass until the cluster has what it wants, and nothing is written any more.
func (c *lifeCluster) converge(t *testing.T, when string) {
	t.Helper()
	var diff string
	var writes []string
	for began := time.Now(); time.Since(began) < tooLate; {
		c.alive()
		c.network.begin(nil)
		pass(quiet)
		_, _, writes = c.network.end()
		if diff = gocmp.Diff(c.wanted(), c.found()); diff == "" && len(writes) == 0 {
			return
		}
	}
	t.Errorf("%s, after %s, cluster %s writes %q and has (-want +got):\n%s\nof\n%s", when, tooLate,
		c.config.ClusterName, writes, diff, c.snapshot())
}

// wanted returns what there should be for the objects of the cluster, computed as a reader of the documentation would.
func (c *lifeCluster) wanted() (lines []string) {
	var eligible []string
	for _, node := range c.objects.Nodes() {
		machine, exists := c.server.Machine(node.Name)
		switch {
		case !exists && node.Spec.ProviderID == "": // a person has to find out why it has no machine
			lines = append(lines, fmt.Sprintf("Node %s: initialised false, route false", node.Name))
			continue
		case !exists:
			lines = append(lines, fmt.Sprintf("Node %s is deleted", node.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("Node %s: initialised true, route true", node.Name))
		if cloud.Eligible(node) {
			eligible = append(eligible, interfaceOf(machine.Name))
		}
	}
	for _, service := range c.objects.Services() {
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		kind := networkingv1alpha1.LoadBalancerTypePublic
		if service.Annotations[label.Internal] == "true" {
			kind = networkingv1alpha1.LoadBalancerTypeInternal
		}
		var ports []string
		for _, port := range service.Spec.Ports {
			ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
		}
		slices.Sort(ports)
		lines = append(lines, fmt.Sprintf("LoadBalancer of %s: %s, ports %s, destinations %s, published true",
			service.UID, kind, strings.Join(ports, " "), strings.Join(eligible, " ")))
	}
	slices.Sort(lines)
	return lines
}

// destinationsOf returns the names of the network interfaces that a load balancer sends packets to.
func (c *lifeCluster) destinationsOf(balancer string) (names []string) {
	for _, routing := range c.server.LoadBalancerRoutings() {
		if routing.Name != balancer {
			continue
		}
		for _, destination := range routing.Destinations {
			names = append(names, destination.TargetRef.Name)
		}
	}
	slices.Sort(names)
	return names
}

// published reports whether the Service of a load balancer shows its addresses, and no others.
func (c *lifeCluster) published(lb *networkingv1alpha1.LoadBalancer) bool {
	for _, service := range c.objects.Services() {
		if service.UID != label.OwnerOf(lb).UID {
			continue
		}
		var shown, has []string
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			shown = append(shown, ingress.IP)
		}
		for _, ip := range lb.Status.IPs {
			has = append(has, ip.String())
		}
		return len(has) > 0 && slices.Equal(shown, has)
	}
	return false
}

// found returns what there is, in the words of wanted.
func (c *lifeCluster) found() (lines []string) {
	for _, node := range c.objects.Nodes() {
		routed := false
		if nic, exists := c.server.NetworkInterface(interfaceOf(node.Name)); exists {
			routed = slices.Contains(strings.Fields(sourcesOf(nic)), node.Spec.PodCIDR)
		}
		lines = append(lines, fmt.Sprintf("Node %s: initialised %t, route %t", node.Name, !uninitialised(node),
			routed))
	}
	for _, name := range c.names {
		nic, exists := c.server.NetworkInterface(interfaceOf(name))
		if exists && !c.hasNode(name) && strings.Contains(sourcesOf(nic), pods(c.nodes[name]).String()) &&
			!strings.Contains(sourcesOf(nic), "ephemeral") { // before an ephemeral one, it stays
			lines = append(lines, fmt.Sprintf("a route to the pods of %s, which is no Node", name))
		}
	}
	for _, lb := range c.server.LoadBalancers() {
		owner := label.OwnerOf(lb)
		if owner.Cluster != c.config.ClusterName || strings.HasPrefix(lb.Name, foreign) {
			continue
		}
		destinations := c.destinationsOf(lb.Name)
		lb.Spec, _ = c.server.CarriedOut(lb.Name)
		ports := strings.Fields(portNumbers(lb))
		slices.Sort(ports)
		lines = append(lines, fmt.Sprintf("LoadBalancer of %s: %s, ports %s, destinations %s, published %t", owner.UID,
			lb.Spec.Type, strings.Join(ports, " "), strings.Join(destinations, " "), c.published(lb)))
	}
	slices.Sort(lines)
	return lines
}
