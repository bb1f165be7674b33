package ironcore

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// controlledCluster is a cluster whose process runs the controllers of Services, routes and pod networks with IronCore.
type controlledCluster struct {
	*rig
	*fake.Clientset
	process *workerpooltest.Process
}

// podNetworks are the networks of all pods.
func podNetworks() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")} }

// withControllers starts the controllers in a cluster with these Nodes. They log with the logger.
func (r *rig) withControllers(log logr.Logger, nodes ...*corev1.Node) *controlledCluster {
	r.Helper()
	c := &controlledCluster{rig: r, Clientset: workerpooltest.NewClient(), process: workerpooltest.New(r.T)}
	for _, one := range nodes {
		if err := c.Tracker().Add(one); err != nil {
			r.Fatal(err)
		}
	}
	offered := connect(r.T, r.server, testConfig(), r.selector).offer()
	c.process.Begin(c, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		offered.SetInformers(factory)
		core, recorder := factory.Core().V1(), c.process.Recorder
		services, err := servicecontroller.New(servicecontroller.Options{Provider: offered.LoadBalancers,
			Behaviour: offered.LoadBalancerBehaviour, Changes: offered.Changes, Recovered: offered.Recovered, Client: c,
			Services: core.Services(), Nodes: core.Nodes(), EndpointSlices: factory.Discovery().V1().EndpointSlices(),
			Recorder: recorder})
		if err != nil {
			return nil, err
		}
		routes, err := route.New(route.Options{Provider: offered.Routes, Changes: offered.Changes, Client: c,
			Nodes: core.Nodes(), CIDRs: podNetworks(), Domain: offered.LabelDomain, Recorder: recorder})
		if err != nil {
			return nil, err
		}
		networks, err := nodeipam.New(nodeipam.Options{Client: c, Nodes: core.Nodes(), CIDRs: podNetworks(),
			Masks: nodeipam.Masks{IPv4: 24, IPv6: 64}, Domain: offered.LabelDomain, Recorder: recorder})
		return func(ctx context.Context) {
			ctx = klog.NewContext(ctx, log)
			offered.Start(ctx, nil)
			var running sync.WaitGroup
			for _, run := range []func(context.Context){routes.Run, networks.Run,
				func(ctx context.Context) { services.Run(ctx, 1) }} {
				running.Go(func() { run(ctx) })
			}
			running.Wait()
		}, err
	})
	workerpooltest.Pass(time.Minute)
	return c
}

// addService creates the Service, and waits for the controllers.
func (c *controlledCluster) addService(changes ...func(*corev1.Service)) {
	c.Helper()
	c.createService(changes...)
	workerpooltest.Pass(time.Minute)
}

func (c *controlledCluster) createService(changes ...func(*corev1.Service)) {
	c.Helper()
	_, err := c.CoreV1().Services("shop").Create(c.ctx, service(changes...), metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
}

// service returns the Service.
func (c *controlledCluster) service() *corev1.Service {
	c.Helper()
	found, err := c.CoreV1().Services("shop").Get(c.ctx, "web", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return found
}

// eventsWith returns the events with a reason.
func (c *controlledCluster) eventsWith(reason string) (events []string) {
	for _, event := range c.process.Events() {
		if strings.Contains(event, " "+reason+" ") {
			events = append(events, event)
		}
	}
	return events
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
		c := r.withControllers(logr.Logger{}, nodes...)
		for name, bits := range map[string]int{"a": 24, "b": 22} {
			cidr := workerpooltest.Node(t, c, name).Spec.PodCIDR
			network, err := netip.ParsePrefix(cidr)
			if err != nil {
				t.Fatalf("Node %s has the network %q: %v", name, cidr, err)
			}
			want(r, "length of the prefix of "+name, network.Bits(), bits)
			want(r, "is in the network of all pods", podNetworks()[0].Contains(network.Addr()), true)
			want(r, "prefixes of the network interface of "+name, r.prefixes(interfaceOf(name)), cidr)
		}
		want(r, "network of the excluded Node", workerpooltest.Node(t, c, "c").Spec.PodCIDR, "")
		want(r, "prefixes of its network interface", r.prefixes(interfaceOf("c")), "")
	})
}
