package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// rig is a cluster with a cloud and a process that runs all controllers.
type rig struct {
	*testing.T
	cloud   Cloud
	offered *cloud.Cloud // of the current process
	cluster *cluster.Cluster
	process *workerpooltest.Process
	counts  *prometheus.Registry // the metrics of the current process
	made    int
	// requests is the number of those to the API server.
	requests atomic.Int64
	// expected are the reasons of warnings that the test causes.
	expected []string
}

// podNetwork is the network of all pods.
const podNetwork = "10.244.0.0/16"

// newRig returns a cluster with the Nodes a and b, which are ready, and starts a process.
func newRig(t *testing.T, c Cloud) *rig {
	t.Helper()
	r := &rig{T: t, cloud: c, cluster: cluster.New(), process: workerpooltest.New(t)}
	r.join("a")
	r.join("b")
	r.start()
	return r
}

// start starts a process, after the one before has ended, and waits until it is idle.
func (r *rig) start() {
	r.Helper()
	r.process.End()
	r.offered = r.identified()
	client, err := cluster.Client(roundTripper(r.record))
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		if r.offered.SetInformers != nil {
			r.offered.SetInformers(factory)
		}
		runs, err := r.controllers(client, factory)
		return func(ctx context.Context) {
			if r.offered.Start != nil {
				r.offered.Start(ctx, nil)
			}
			var running sync.WaitGroup
			for _, run := range runs {
				running.Go(func() { run(ctx) })
			}
			running.Wait()
		}, err
	})
	workerpooltest.Pass(time.Minute)
}

// roundTripper is a function as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// record counts the requests to the API server, without watches, which clients begin again every few minutes.
func (r *rig) record(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") == "" {
		r.requests.Add(1)
	}
	return r.cluster.Transport().RoundTrip(request)
}

// identified returns the cloud for a process, with the UID of the cluster.
func (r *rig) identified() *cloud.Cloud {
	offered := r.cloud.New()
	if offered.ClusterIdentity != nil {
		offered.ClusterIdentity.SetUID("6f1c1a52-0000-4000-8000-000000000001")
	}
	return offered
}

// controllers creates all controllers, with the default periods of their flags.
func (r *rig) controllers(
	client kubernetes.Interface, factory informers.SharedInformerFactory,
) ([]func(context.Context), error) {
	core, recorder := factory.Core().V1(), r.process.Recorder
	nodes, err := node.New(node.Options{Provider: r.offered.Machines, Behaviour: r.offered.MachineBehaviour,
		Changes: r.offered.Changes, Client: client, Nodes: core.Nodes(), Period: 5 * time.Minute, Workers: 1,
		ResyncWorkers: 1, Recorder: recorder})
	if err != nil {
		return nil, err
	}
	lifecycle, err := nodelifecycle.New(nodelifecycle.Options{Provider: r.offered.Machines,
		Behaviour: r.offered.MachineBehaviour, Changes: r.offered.Changes, Client: client, Nodes: core.Nodes(),
		Period: 5 * time.Second, Workers: 1, Recorder: recorder})
	if err != nil {
		return nil, err
	}
	services, err := service.New(service.Options{Provider: r.offered.LoadBalancers,
		Behaviour: r.offered.LoadBalancerBehaviour, Changes: r.offered.Changes, Client: client,
		Services: core.Services(), Nodes: core.Nodes(), EndpointSlices: factory.Discovery().V1().EndpointSlices(),
		Identity: r.offered.ClusterIdentity, Recorder: recorder})
	if err != nil {
		return nil, err
	}
	routes, err := route.New(route.Options{Provider: r.offered.Routes, Changes: r.offered.Changes, Client: client,
		Nodes: core.Nodes(), CIDRs: []netip.Prefix{netip.MustParsePrefix(podNetwork)}, Domain: r.offered.LabelDomain,
		Recorder: recorder})
	if err != nil {
		return nil, err
	}
	r.counts = prometheus.NewRegistry()
	r.counts.MustRegister(slices.Concat(nodes.Collectors(), lifecycle.Collectors(), routes.Collectors())...)
	return []func(context.Context){nodes.Run, lifecycle.Run, routes.Run,
		func(ctx context.Context) { services.Run(ctx, 1) }}, nil
}

// react waits as long as the controllers may take to react to a change in the cloud.
func (r *rig) react() { workerpooltest.Pass(r.cloud.Reaction) }

// settle waits as long as the controllers may take to react to a change in the cluster.
func (r *rig) settle() { workerpooltest.Pass(10 * time.Second) }

// join adds a machine and its Node. A machine boots before its kubelet registers: a cloud has reported it by then.
func (r *rig) join(name string) {
	r.Helper()
	r.cloud.AddMachine(name)
	synctest.Wait()
	r.register(name)
}

// register creates a Node as its kubelet does: ready, and not initialised, apart from these changes.
func (r *rig) register(name string, changes ...func(*corev1.Node)) {
	r.Helper()
	r.made++
	cidr := fmt.Sprintf("10.244.%d.0/24", r.made)
	created := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("uid-%s-%d", name, r.made)),
			CreationTimestamp: metav1.Now()},
		Spec: corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}, Taints: []corev1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}},
	}
	for _, change := range changes {
		change(created)
	}
	r.must(r.cluster.Create(created))
}

// count returns the sum of the values of a metric.
func (r *rig) count(name string) (sum float64) {
	r.Helper()
	families, err := r.counts.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, one := range family.GetMetric() {
				sum += one.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// setReady changes the Ready condition of a Node.
func (r *rig) setReady(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.must(r.cluster.ChangeNode(name, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				n.Status.Conditions[i].Status = status
			}
		}
	}))
}

// must fails the test if there is an error.
func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// nodeExists reports whether there is a Node with the name.
func (r *rig) nodeExists(name string) bool { return r.node(name) != nil }

// node returns the Node with the name, or nil.
func (r *rig) node(name string) *corev1.Node {
	for _, one := range r.cluster.Nodes() {
		if one.Name == name {
			return one
		}
	}
	return nil
}

func (r *rig) isTainted(name, key string) bool {
	r.Helper()
	return slices.ContainsFunc(r.node(name).Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// podsOf returns the network of the pods of a Node.
func (r *rig) podsOf(name string) netip.Prefix {
	r.Helper()
	return netip.MustParsePrefix(r.node(name).Spec.PodCIDR)
}

// namespace is that of all Services.
const namespace = "shop"

// web is the Service of the tests.
func web() types.NamespacedName { return types.NamespacedName{Namespace: namespace, Name: "web"} }

// addService creates a Service of type LoadBalancer with port 80, and waits until its load balancer is ready.
func (r *rig) addService(name string) {
	r.Helper()
	r.made++
	uid := types.UID(fmt.Sprintf("4a1e8c5e-0000-4000-8000-%012d", r.made))
	created := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80}}},
	}
	if r.cloud.NodePorts {
		created.Spec.Ports[0].NodePort = 30080
	}
	r.must(r.cluster.Create(created))
	r.settle()
	workerpooltest.Pass(r.cloud.Provision)
	r.react()
}

// service returns the Service of the tests, or nil.
func (r *rig) service() *corev1.Service {
	for _, one := range r.cluster.Services() {
		if one.Name == web().Name {
			return one
		}
	}
	return nil
}

func (r *rig) changeService(change func(*corev1.Service)) {
	r.Helper()
	r.must(r.cluster.Change(r.service(), func(object cluster.Object) {
		if service, ok := object.(*corev1.Service); ok {
			change(service)
		}
	}))
	r.settle()
}

// wantLoadBalancer fails the test unless the load balancer has these ports and machines.
func (r *rig) wantLoadBalancer(when string, port int32, machines ...string) {
	r.Helper()
	got, exists := r.cloud.LoadBalancer(web())
	if !exists || !slices.Equal(got.Ports, []int32{port}) || !slices.Equal(got.Machines, machines) {
		r.Errorf("%s: exists %v, ports %v, machines %v; want port %d, machines %v", when, exists, got.Ports,
			got.Machines, port, machines)
	}
}

// wantNoWarnings fails the test if there was a warning that is not expected.
func (r *rig) wantNoWarnings() {
	r.Helper()
	for _, event := range r.process.Events() {
		expected := slices.ContainsFunc(r.expected, func(reason string) bool { return strings.Contains(event, reason) })
		if strings.HasPrefix(event, corev1.EventTypeWarning) && !expected {
			r.Errorf("event %s", event)
		}
	}
}

// want fails the test unless the values are equal.
func want[T comparable](r *rig, what string, got, wanted T) {
	r.Helper()
	if got != wanted {
		r.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
