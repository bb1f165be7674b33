package ironcore

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// withControllers starts all controllers in a cluster with these Nodes, which are initialised, and records the events.
func (r *rig) withControllers(nodes ...*corev1.Node) *wholeCluster {
	r.Helper()
	c := newWholeCluster(r.userView, testConfig())
	c.recorder, c.allocates = record.NewFakeRecorder(10_000), true
	for _, one := range nodes {
		c.create(one)
	}
	c.begin()
	r.Cleanup(c.stop)
	pass(time.Minute)
	return c
}

// addService creates the Service, and waits for the controllers.
func (c *wholeCluster) addService(changes ...func(*corev1.Service)) {
	c.t.Helper()
	c.create(service(changes...))
	pass(time.Minute)
}

// web returns the Service.
func (c *wholeCluster) web() *corev1.Service {
	c.t.Helper()
	all := c.objects.Services()
	at := slices.IndexFunc(all, func(s *corev1.Service) bool { return s.Name == "web" })
	if at < 0 {
		c.t.Fatal("there is no Service")
	}
	return all[at]
}

// events returns the events since the last time, as "Type Reason Message", in their order.
func (c *wholeCluster) events() (events []string) {
	recorder, _ := c.recorder.(*record.FakeRecorder)
	for len(recorder.Events) > 0 {
		events = append(events, <-recorder.Events)
	}
	return events
}

// eventsWith returns the events with a reason since the last time.
func (c *wholeCluster) eventsWith(reason string) []string {
	return slices.DeleteFunc(c.events(), func(event string) bool { return !strings.Contains(event, " "+reason+" ") })
}

// TestAllocateNodeCIDRs: --allocate-node-cidrs works with IronCore. Each Node gets a network, of the size that its
// annotation sets, and the network becomes a prefix of its network interface. A Node that is excluded from routes gets
// none.
func TestAllocateNodeCIDRs(t *testing.T) {
	inBubble(t, func(r *rig) {
		var nodes []*corev1.Node
		for _, name := range []string{"a", "b", "c"} {
			r.addMachine(name)
			nodes = append(nodes, node(name))
		}
		nodes[1].Annotations = map[string]string{labelDomain + "/node-cidr-mask-size-ipv4": "22"}
		nodes[2].Annotations = map[string]string{labelDomain + "/exclude-from-routes": "true"}
		c := r.withControllers(nodes...)
		for name, bits := range map[string]int{"a": 24, "b": 22} {
			cidr := c.node(name).Spec.PodCIDR
			network, err := netip.ParsePrefix(cidr)
			if err != nil {
				t.Fatalf("Node %s has the network %q: %v", name, cidr, err)
			}
			want(r, "length of the prefix of "+name, network.Bits(), bits)
			want(r, "is in the network of all pods", podNetwork().Contains(network.Addr()), true)
			want(r, "prefixes of the network interface of "+name, r.prefixes(interfaceOf(name)), cidr)
		}
		want(r, "network of the excluded Node", c.node("c").Spec.PodCIDR, "")
		want(r, "prefixes of its network interface", r.prefixes(interfaceOf("c")), "")
	})
}

// node returns a Node.
func (c *wholeCluster) node(name string) *corev1.Node {
	all := c.objects.Nodes()
	return all[slices.IndexFunc(all, func(n *corev1.Node) bool { return n.Name == name })]
}
