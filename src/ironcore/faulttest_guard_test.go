package ironcore

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// guard checks, before and after each request, what must hold at every moment.
type guard struct {
	cluster *wholeCluster

	mu          sync.Mutex
	latest      moment
	initialised map[types.UID]time.Time    // when Nodes were first seen so
	former      map[string]*corev1.Service // the Services before the latest change of a person, by UID
	changed     time.Time                  // when that was
	broken      []string
}

// moment is what IronCore and Kubernetes have at one moment, by name.
type moment struct {
	balancers  map[string]*networkingv1alpha1.LoadBalancer
	routings   map[string]*networkingv1alpha1.LoadBalancerRouting
	interfaces map[string]*networkingv1alpha1.NetworkInterface
	services   map[string]*corev1.Service // by the UID
	nodes      []*corev1.Node
	machines   map[string]bool
	foreign    map[string]string // the versions of the objects of others

	initialised map[types.UID]time.Time    // of the guard
	former      map[string]*corev1.Service // of the guard, if a request that was sent for them may still be on its way
}

// now returns the present moment. Load balancers are those of the cluster.
func (c *wholeCluster) now() moment {
	m := moment{balancers: map[string]*networkingv1alpha1.LoadBalancer{},
		routings:   map[string]*networkingv1alpha1.LoadBalancerRouting{},
		interfaces: map[string]*networkingv1alpha1.NetworkInterface{}, services: map[string]*corev1.Service{},
		foreign: map[string]string{}, nodes: c.objects.Nodes(), machines: map[string]bool{}}
	for _, one := range c.server.LoadBalancers() {
		if label.OwnerOf(one).Cluster == c.config.ClusterName {
			m.balancers[one.Name] = one
		}
		m.addForeign("LoadBalancer", one)
	}
	for _, one := range c.server.LoadBalancerRoutings() {
		m.routings[one.Name] = one
		m.addForeign("LoadBalancerRouting", one)
	}
	for _, one := range c.server.NetworkInterfaces() {
		m.interfaces[one.Name] = one
		m.addForeign("NetworkInterface", one)
	}
	for _, one := range c.server.Machines() {
		m.machines[one.Name] = true
		m.addForeign("Machine", one)
	}
	for _, one := range c.objects.Services() {
		m.services[string(one.UID)] = one
	}
	return m
}

// foreign begins the names of objects that belong to others.
const foreign = "foreign"

func (m moment) addForeign(kind string, object metav1.Object) {
	if strings.HasPrefix(object.GetName(), foreign) {
		m.foreign[kind+" "+object.GetName()] = object.GetResourceVersion()
	}
}

// check compares the present moment with the one before.
func (g *guard) check(when string) {
	if g == nil { // of a large cluster, where it would take too long
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.latest
	g.latest = g.cluster.now()
	g.setInitialised()
	if time.Since(g.changed) <= slowness {
		g.latest.former = g.former
	}
	if was.balancers == nil {
		return
	}
	for _, rule := range []func(was, is moment) []string{foreignStays, nodesStay, addressesStay, addressesDiffer,
		destinationsStay, routesStay, prefixesStay, nothingLeaks} {
		for _, problem := range rule(was, g.latest) {
			g.broken = append(g.broken, when+": "+problem)
		}
	}
}

// setInitialised remembers when each Node was first seen initialised.
func (g *guard) setInitialised() {
	if g.initialised == nil {
		g.initialised = map[types.UID]time.Time{}
	}
	for _, node := range g.latest.nodes {
		if _, known := g.initialised[node.UID]; !known && !uninitialised(node) {
			g.initialised[node.UID] = time.Now()
		}
	}
	g.latest.initialised = g.initialised
}

// problems returns what was wrong, oldest first.
func (g *guard) problems() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.broken)
}

// forget begins anew: a person has changed something.
func (g *guard) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latest = moment{}
}

// removing lets a person delete a Node, which does not count.
func (g *guard) removing(remove func()) {
	if g == nil {
		remove()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	remove()
	g.latest.nodes = g.cluster.objects.Nodes()
}

// during lets a person change something, which does not count.
func (g *guard) during(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.former, g.changed = g.cluster.now().services, time.Now()
	change()
	g.latest = moment{}
}

// foreignStays: objects of others do not change.
func foreignStays(was, is moment) (problems []string) {
	for name, version := range was.foreign {
		if is.foreign[name] != version {
			problems = append(problems, name+" of others has changed")
		}
	}
	return problems
}

// nodesStay: no Node is deleted whose machine exists.
func nodesStay(was, is moment) (problems []string) {
	for _, node := range was.nodes {
		if !is.hasNode(node) && was.machines[node.Name] && is.machines[node.Name] {
			problems = append(problems, fmt.Sprintf("Node %s was deleted, but its machine exists", node.Name))
		}
	}
	return problems
}

// checkWrite wants a request not to write what belongs to another cluster.
func (g *guard) checkWrite(c call) {
	if g == nil || !c.cloud || !c.write() {
		return
	}
	kind, name, _ := strings.Cut(c.object, "/")
	others := strings.HasPrefix(name, foreign) || g.cluster.others != "" && strings.Contains(g.cluster.others, name[:1])
	if kind == "loadbalancers" || kind == "loadbalancerroutings" {
		balancer, exists := g.cluster.server.LoadBalancer(name)
		others = exists && label.OwnerOf(balancer).Cluster != g.cluster.config.ClusterName
	}
	if others {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.broken = append(g.broken, fmt.Sprintf("cluster %s writes what is not its own: %s",
			g.cluster.config.ClusterName, c))
	}
}

// live returns the Services of a moment that want a load balancer, by UID.
func (m moment) live() map[string]*corev1.Service {
	live := maps.Clone(m.services)
	maps.DeleteFunc(live, func(_ string, s *corev1.Service) bool { return !wantsBalancer(s) })
	return live
}

func wantsBalancer(s *corev1.Service) bool {
	return s.DeletionTimestamp == nil && s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// wasOn reports whether the deletion of a load balancer was already on its way when a person let its Service want it
// again.
func (m moment) wasOn(balancer *networkingv1alpha1.LoadBalancer, uid string) bool {
	former := m.former[uid]
	return former != nil && (!wantsBalancer(former) || recreated(balancer, former))
}

// of returns the load balancers of a Service.
func (m moment) of(uid string) (all []*networkingv1alpha1.LoadBalancer) {
	for _, one := range m.balancers {
		if string(label.OwnerOf(one).UID) == uid {
			all = append(all, one)
		}
	}
	return all
}

// recreated reports whether a load balancer has another type than its Service asks for, before or after a change: it is
// deleted then, and created again.
func recreated(balancer *networkingv1alpha1.LoadBalancer, services ...*corev1.Service) bool {
	return slices.ContainsFunc(services, func(s *corev1.Service) bool {
		internal := balancer.Spec.Type == networkingv1alpha1.LoadBalancerTypeInternal
		return s != nil && internal != (s.Annotations[label.Internal] == "true")
	})
}

// addressesDiffer: no two load balancers have one address.
func addressesDiffer(_, is moment) (problems []string) {
	of := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(is.balancers)) {
		for _, ip := range is.balancers[name].Status.IPs {
			if other := of[ip.String()]; other != "" {
				problems = append(problems, fmt.Sprintf("LoadBalancers %s and %s have the address %s", other, name, ip))
			}
			of[ip.String()] = name
		}
	}
	return problems
}

// addressesStay: the load balancer of a Service is replaced only if it has another type than the Service asks for, and
// there is no second one. Its addresses never change, and the published ones are its own.
func addressesStay(was, is moment) (problems []string) {
	for uid, service := range is.live() {
		before, now := was.of(uid), is.of(uid)
		if len(now) > 1 {
			problems = append(problems, fmt.Sprintf("Service %s has %d load balancers", service.Name, len(now)))
		}
		if len(before) != 1 || was.live()[uid] == nil || before[0].DeletionTimestamp != nil {
			continue
		}
		switch {
		case recreated(before[0], was.live()[uid], service), is.wasOn(before[0], uid):
		case len(now) == 0 || now[0].UID != before[0].UID || now[0].DeletionTimestamp != nil:
			problems = append(problems, fmt.Sprintf("LoadBalancer %s was deleted", before[0].Name))
		case len(before[0].Status.IPs) > 0 && !slices.Equal(now[0].Status.IPs, before[0].Status.IPs):
			problems = append(problems, fmt.Sprintf("the addresses of LoadBalancer %s were %v and are %v", now[0].Name,
				before[0].Status.IPs, now[0].Status.IPs))
		}
	}
	return problems
}

// destinationsStay: a load balancer never loses all its destinations, nor those of machines whose Nodes stay.
func destinationsStay(was, is moment) (problems []string) {
	for uid, service := range is.live() {
		for _, balancer := range is.of(uid) {
			before, now := was.routings[balancer.Name], is.routings[balancer.Name]
			if before == nil || len(before.Destinations) == 0 || was.live()[uid] == nil ||
				recreated(balancer, was.live()[uid], service) {
				continue
			}
			if now == nil || len(now.Destinations) == 0 {
				problems = append(problems, fmt.Sprintf("the load balancer of Service %s has lost its destinations",
					service.Name))
			}
		}
	}
	return problems
}

// removal is the time in which a route may still be removed after a Node was initialised. Until then, the route is that
// of the Node of this name that was there before, and its removal may have been decided already.
const removal = time.Minute

// routesStay: the network of the pods of a Node that stays, and is initialised, is never without a route, unless
// somebody deletes the network interface.
func routesStay(was, is moment) (problems []string) {
	for _, node := range is.nodes {
		pods, err := netip.ParsePrefix(node.Spec.PodCIDR)
		if err != nil || !was.hasNode(node) || uninitialised(node) ||
			time.Since(is.initialised[node.UID]) < removal {
			continue
		}
		if at := was.routed(pods); at != "" && is.interfaces[at] != nil && is.routed(pods) == "" {
			problems = append(problems, fmt.Sprintf("the route to %s of Node %s is gone", pods, node.Name))
		}
	}
	return problems
}

func uninitialised(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

func (m moment) hasNode(node *corev1.Node) bool {
	return slices.ContainsFunc(m.nodes, func(one *corev1.Node) bool { return one.UID == node.UID })
}

// routed returns the name of the network interface that has the route; "" if there is none.
func (m moment) routed(pods netip.Prefix) string {
	for name, one := range m.interfaces {
		if slices.ContainsFunc(one.Spec.Prefixes, func(s networkingv1alpha1.PrefixSource) bool {
			return s.Value != nil && s.Value.Prefix == pods
		}) {
			return name
		}
	}
	return ""
}

// prefixesStay: prefixes of others do not change, and ephemeral ones keep their positions.
func prefixesStay(was, is moment) (problems []string) {
	for name, before := range was.interfaces {
		now := is.interfaces[name]
		if now != nil && now.UID == before.UID && prefixesOfOthers(before) != prefixesOfOthers(now) {
			problems = append(problems, fmt.Sprintf("the prefixes of others of NetworkInterface %s were %s and are %s",
				name, sourcesOf(before), sourcesOf(now)))
		}
	}
	return problems
}

// prefixesOfOthers returns the static prefixes outside of the network of pods, and the positions of ephemeral ones. The
// positions of static ones mean nothing.
func prefixesOfOthers(one *networkingv1alpha1.NetworkInterface) string {
	var texts []string
	for i, source := range one.Spec.Prefixes {
		switch {
		case source.Value == nil:
			texts = append(texts, fmt.Sprintf("ephemeral at %d", i))
		case !podNetwork().Overlaps(source.Value.Prefix):
			texts = append(texts, source.Value.String())
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// nothingLeaks: a load balancer is only created for a Service whose deletion waits for it.
func nothingLeaks(was, is moment) (problems []string) {
	for name, one := range is.balancers {
		owner := label.OwnerOf(one)
		service := is.services[string(owner.UID)]
		if was.balancers[name] == nil && (service == nil || !helpers.HasLBFinalizer(service)) {
			problems = append(problems, fmt.Sprintf("LoadBalancer %s was created for Service %s, which does not wait "+
				"for its deletion", name, owner.Service))
		}
	}
	return problems
}
