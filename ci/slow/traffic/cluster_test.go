package traffic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	// waitTimeout bounds every wait; nothing here takes half of it on an idle machine.
	waitTimeout = 2 * time.Minute
	// cloudTakes is how long the cloud takes for every write. Between two writes hundreds of milliseconds pass then,
	// and what one of them left half done for that long is met by connections.
	cloudTakes = 100 * time.Millisecond
	// image is that of the pods behind the Services.
	image = "registry.test/echo"
	// podsLabel is on the nodes with such pods. They are not those that leave: what happens to pods is not the matter
	// of a cloud controller manager.
	podsLabel = "traffic.test/pods"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// cluster is a cluster on a cloud, with the chart installed and a cloud controller manager on each of two control-plane
// nodes.
type cluster struct {
	// whole is the test of which all others are parts: what they start lasts as long.
	whole    testing.TB
	plane    *controlplane.ControlPlane
	api      kubernetes.Interface
	cloud    cloud.Cloud
	recorder *recorder
	// system is the namespace of the chart, shop that of the Services.
	system, shop string

	network  *virtualnode.Network
	images   map[string]virtualnode.Image
	first    netip.Addr // all addresses of nodes follow it
	nodes    map[string]*virtualnode.Node
	machines map[string]string     // identities in the cloud, by node
	names    map[netip.Addr]string // of all nodes there will be
}

// workers are all nodes that are ever targets, with the last part of their addresses.
func workers() map[string]byte {
	return map[string]byte{"a": 11, "b": 12, "c": 13, "d": 14, "e": 15}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{whole: t, nodes: map[string]*virtualnode.Node{}, machines: map[string]string{},
		names: map[netip.Addr]string{}}
	c.startCloud(t)
	c.plane = controlplanetest.Get(t)
	c.api = controlplanetest.Client(t, c.plane)
	c.system, c.shop = controlplanetest.Namespace(t), controlplanetest.Namespace(t)
	var err error
	if c.network, err = virtualnode.NewNetwork(c.plane.Config(),
		slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.network.Close)
	for name, last := range workers() {
		c.names[c.address(last)] = name
	}
	c.images = map[string]virtualnode.Image{
		host.Image: virtualnode.Program(host.Program(t), "kubeconfig", "authentication-kubeconfig",
			"authorization-kubeconfig"),
		image: virtualnode.Server(c.echo),
	}
	return c
}

// startCloud starts a cloud whose load balancers carry connections, and records its moments.
func (c *cluster) startCloud(t *testing.T) {
	t.Helper()
	carrier, err := loopback.New(loopback.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := emulator.LoopbackSeed(carrier.Network())
	if err != nil {
		t.Fatal(err)
	}
	c.first, c.recorder = carrier.Network().Addr(), newRecorder(carrier)
	slow := fault.Effect{Kind: fault.Latency, Delay: cloudTakes}
	c.cloud = cloud.Run(t, emulator.Config{Seed: seed, DataPlane: c.recorder, Faults: []fault.Rule{
		{Operation: "POST *", Effect: slow}, {Operation: "PUT *", Effect: slow}, {Operation: "DELETE *", Effect: slow},
	}})
}

func (c *cluster) address(last byte) netip.Addr {
	bytes := c.first.As4()
	bytes[3] = last
	return netip.AddrFrom4(bytes)
}

// echo is the server in the pods. It says which target of the load balancer a connection came through: a node that
// forwards one to another node's pod puts its own address in place of the client's.
func (c *cluster) echo(pod virtualnode.PodInfo) http.Handler {
	return load.Handler(func(r *http.Request) string {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if name, through := c.names[from.Addr()]; err == nil && through {
			return name
		}
		return pod.Node
	})
}

// startNode adds a server to the cloud and its node to the cluster. Both last until everything ends.
func (c *cluster) startNode(t *testing.T, name string, last byte, change func(*virtualnode.Options)) {
	t.Helper()
	c.startNodeOn(t, emulator.MachineSpec{Name: name, Addresses: []netip.Addr{c.address(last)}}, change)
}

// startNodeOn is startNode with this server.
func (c *cluster) startNodeOn(t *testing.T, machine emulator.MachineSpec, change func(*virtualnode.Options)) {
	t.Helper()
	name := machine.Name
	var err error
	if c.machines[name], err = c.cloud.AddMachine(machine); err != nil {
		t.Fatal(err)
	}
	options := virtualnode.Options{Network: c.network, Name: name, Address: machine.Addresses[0],
		Dir: c.whole.TempDir(), Images: c.images}
	change(&options)
	node, err := virtualnode.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	c.nodes[name] = node
	c.whole.Cleanup(func() { c.stopNode(c.whole, name) })
}

// stopNode switches a machine off. Its Node object, if there still is one, goes too.
func (c *cluster) stopNode(tb testing.TB, name string) {
	tb.Helper()
	node, runs := c.nodes[name]
	if !runs {
		return
	}
	delete(c.nodes, name)
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout) // the test's own may have ended
	defer cancel()
	if err := node.Remove(ctx); err != nil {
		tb.Error(err)
	}
}

func controlPlane(o *virtualnode.Options) { o.ControlPlane = true }

func withPods(o *virtualnode.Options) { o.Labels = map[string]string{podsLabel: ""} }

func plain(*virtualnode.Options) {}

// startNodes starts the nodes that are there from the beginning.
func (c *cluster) startNodes(t *testing.T) {
	t.Helper()
	c.startNode(t, "control-plane-1", 1, controlPlane)
	c.startNode(t, "control-plane-2", 2, controlPlane)
	for _, name := range []string{"a", "b", "c"} {
		c.startNode(t, name, workers()[name], withPods)
	}
}

// initialised wants a node to be known by the cloud controller manager.
func (c *cluster) initialised(ctx context.Context, name string) error {
	node, err := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.ProviderID == "" || len(node.Status.Addresses) < 2 {
		return fmt.Errorf("node %s is not initialised: %q, %v", name, node.Spec.ProviderID, node.Status.Addresses)
	}
	return nil
}

// changeNode changes a Node object.
func (c *cluster) changeNode(t *testing.T, name string, change func(*corev1.Node)) {
	t.Helper()
	eventually(t, "node "+name+" is changed", func(ctx context.Context) error {
		node, err := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = c.api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// exclude gives a node the label that keeps load balancers away, or takes it off.
func (c *cluster) exclude(t *testing.T, name string, yes bool) {
	t.Helper()
	c.changeNode(t, name, func(node *corev1.Node) {
		node.Labels = maps.Clone(node.Labels)
		delete(node.Labels, corev1.LabelNodeExcludeBalancers)
		if yes {
			node.Labels[corev1.LabelNodeExcludeBalancers] = ""
		}
	})
}

// eventually waits until check is content.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	controlplanetest.Eventually(t, waitTimeout, what, check)
}

// answers wants a page with status 200.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(url + " answers " + response.Status)
	}
	return nil
}
