package ironcore

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	nodecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
)

// wholeCluster is a Kubernetes cluster whose machines are in IronCore. It exists longer than its processes, which run
// all controllers.
type wholeCluster struct {
	*userView
	objects  *cluster.Cluster
	config   cloudconfig.Config
	recorder record.EventRecorder
	network  *network
	others   string // the first letters of the machines of another cluster that lives, too
	workers  int
	// allocates means that a controller allocates the networks of pods.
	allocates bool
	rate      int // requests to IronCore in a second; 0 is no limit
	process   *process
	remote    http.RoundTripper // the way to IronCore if it is another process; nil if it is the simulator
	compared  *atomic.Int64     // comparisons of Services
}

func newWholeCluster(u *userView, config cloudconfig.Config) *wholeCluster {
	u.t.Helper()
	config.InstancesV2.RemovalGracePeriod = 10
	c := &wholeCluster{userView: u, objects: cluster.New(), config: config, recorder: &record.FakeRecorder{},
		workers: 1, compared: &atomic.Int64{}}
	c.network = newNetwork(c)
	return c
}

// process runs the controllers until it ends.
type process struct {
	// life ends when the process ends, and with it all its requests; duty ends when it has to stop.
	life, duty   context.Context
	end, relieve context.CancelCauseFunc
	ended        chan struct{} // closed when nothing of it runs any more
}

var (
	errDied     = errors.New("the process has ended")
	errRelieved = errors.New("the process has to stop")
)

// begin starts a process, which knows nothing of the ones before.
func (c *wholeCluster) begin() {
	c.t.Helper()
	p := &process{ended: make(chan struct{})}
	p.life, p.end = context.WithCancelCause(klog.NewContext(context.WithoutCancel(c.t.Context()), klog.Logger{}))
	p.duty, p.relieve = context.WithCancelCause(p.life)
	c.process = p
	kubernetes, err := cluster.Client(link{network: c.network, process: p, next: c.objects.Transport()})
	if err != nil {
		c.t.Fatal(err)
	}
	built := c.connect(p)
	offered, factory := built.offer(), informers.NewSharedInformerFactory(kubernetes, 0)
	offered.SetInformers(factory)
	runs, err := c.controllers(offered, kubernetes, factory)
	if err != nil {
		c.t.Fatal(err)
	}
	factory.StartWithContext(p.duty)
	offered.Start(p.duty, nil)
	go func() {
		defer close(p.ended)
		var running sync.WaitGroup
		for _, run := range runs {
			running.Go(func() { run(p.duty) })
		}
		running.Wait()
		_ = offered.Drain(p.life) // the error is that it was killed
		p.end(errDied)
		factory.Shutdown()
	}()
}

// connect returns the cloud as the process makes it.
func (c *wholeCluster) connect(p *process) *Cloud {
	c.t.Helper()
	config := c.server.Config()
	if c.remote != nil {
		config.Transport = c.remote
	}
	config.Transport = link{network: c.network, process: p, next: config.Transport, cloud: true}
	if c.rate > 0 {
		config.QPS, config.Burst = float32(c.rate), 2*c.rate
	}
	api, err := client.New(config, testNamespace)
	if err != nil {
		c.t.Fatal(err)
	}
	return build(c.config, api, c.selector)
}

// controllers creates all controllers, with the default periods of their flags.
func (c *wholeCluster) controllers(offered *cloud.Cloud, client kubernetes.Interface,
	factory informers.SharedInformerFactory) ([]func(context.Context), error) {
	core := factory.Core().V1()
	nodes, err := nodecontroller.New(nodecontroller.Options{Provider: offered.Machines,
		Behaviour: offered.MachineBehaviour, Changes: offered.Changes, Client: client,
		Nodes: core.Nodes(), Period: 5 * time.Minute, Workers: c.workers,
		ResyncWorkers: 1, Recorder: c.recorder})
	if err != nil {
		return nil, err
	}
	lifecycle, err := nodelifecycle.New(nodelifecycle.Options{Provider: offered.Machines,
		Behaviour: offered.MachineBehaviour, Changes: offered.Changes, Client: client, Nodes: core.Nodes(),
		Period: 5 * time.Second, Workers: 1, Recorder: c.recorder})
	if err != nil {
		return nil, err
	}
	services, err := servicecontroller.New(servicecontroller.Options{
		Provider: comparisons{offered.LoadBalancers, c.compared}, Behaviour: offered.LoadBalancerBehaviour,
		Changes: offered.Changes, Recovered: offered.Recovered, Client: client,
		Services: core.Services(), Nodes: core.Nodes(), EndpointSlices: factory.Discovery().V1().EndpointSlices(),
		Recorder: c.recorder})
	if err != nil {
		return nil, err
	}
	routes, err := route.New(route.Options{Provider: offered.Routes, Changes: offered.Changes, Client: client,
		Nodes: core.Nodes(), CIDRs: []netip.Prefix{podNetwork()}, Domain: offered.LabelDomain, Recorder: c.recorder})
	if err != nil {
		return nil, err
	}
	all := []func(context.Context){nodes.Run, lifecycle.Run, routes.Run,
		func(ctx context.Context) { services.Run(ctx, c.workers) }}
	if !c.allocates {
		return all, nil
	}
	networks, err := nodeipam.New(nodeipam.Options{Client: client, Nodes: core.Nodes(),
		CIDRs: []netip.Prefix{podNetwork()}, Masks: nodeipam.Masks{IPv4: 24, IPv6: 64}, Domain: offered.LabelDomain,
		Recorder: c.recorder})
	if err != nil {
		return nil, err
	}
	return append(all, networks.Run), nil
}

// comparisons counts comparisons of Services.
type comparisons struct {
	cloud.LoadBalancers
	made *atomic.Int64
}

// Diff implements cloud.LoadBalancers.
func (c comparisons) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets, settled bool) (cloud.Comparison, error) {
	defer c.made.Add(1)
	return c.LoadBalancers.Diff(ctx, service, targets, settled)
}

// podNetwork is the network of all pods.
func podNetwork() netip.Prefix { return netip.MustParsePrefix("10.128.0.0/9") }

// stop ends the duty of the process, and waits until its work has ended.
func (c *wholeCluster) stop() {
	c.process.relieve(errRelieved)
	<-c.process.ended
}

// alive starts a process if the one before has ended, or had to stop.
func (c *wholeCluster) alive() {
	c.t.Helper()
	if c.process.duty.Err() == nil {
		return
	}
	<-c.process.ended
	c.begin()
}

// register creates the Node of a machine as its kubelet does: ready, and not initialised. Pods is the network of its
// pods.
func (c *wholeCluster) register(name string, pods netip.Prefix) {
	c.t.Helper()
	c.create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{PodCIDR: pods.String(), PodCIDRs: []string{pods.String()}, Taints: []corev1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}},
	})
}

// pods returns the network of the pods of a Node.
func pods(node int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128 + byte(node>>8), byte(node), 0}), 24)
}

func (c *wholeCluster) create(object cluster.Object) {
	c.t.Helper()
	if err := c.objects.Create(object); err != nil {
		c.t.Fatal(err)
	}
}

// changeService changes the Service of the tests.
func (c *wholeCluster) changeService(changes ...func(*corev1.Service)) {
	c.t.Helper()
	err := c.objects.Change(service(), func(object cluster.Object) {
		if s, is := object.(*corev1.Service); is {
			for _, change := range changes {
				change(s)
			}
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// changeNode changes a Node.
func (c *wholeCluster) changeNode(name string, change func(*corev1.Node)) {
	c.t.Helper()
	if err := c.objects.ChangeNode(name, change); err != nil {
		c.t.Fatal(err)
	}
}

// remove deletes an object.
func (c *wholeCluster) remove(like cluster.Object) {
	c.t.Helper()
	c.network.guard.removing(func() {
		if err := c.objects.Delete(like); err != nil {
			c.t.Fatal(err)
		}
	})
}

// rig returns the means of tests without controllers.
func (c *wholeCluster) rig() *rig {
	c.t.Helper()
	t, is := c.t.(*testing.T)
	if !is {
		c.t.Fatal("a benchmark has no rig")
	}
	return &rig{T: t, userView: c.userView, ctx: t.Context()}
}
