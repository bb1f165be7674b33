package monitoring

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics/legacyregistry"
)

// running is a cluster in virtual time whose cloud is emulated, with a process of the program: all controllers, behind
// a leader election. Its metrics are recorded.
type running struct {
	*testing.T
	*recording
	emulator  *emulator.Emulator   // Thalassa Cloud, or nil
	simulator *simulator.Simulator // IronCore, or nil
	folder    string               // of the configuration and the credentials
	settings  string               // more keys of the configuration
	workers   int                  // of the service controller
	uid       types.UID            // of the cluster

	cluster  *cluster.Cluster
	api      *apiServer
	election *election
	process  *workerpooltest.Process
	registry *prometheus.Registry
	machines map[string]string // identities, by name
	made     int
	known    map[string]bool // what identifies the objects there were
}

// The cluster of the tests.
const (
	podNetwork    = "10.244.0.0/16"
	ironNamespace = "production"
	ironNetwork   = "nodes"
)

// record runs a process in virtual time, and returns what Prometheus has of it.
func record(t *testing.T, ironCore bool, settings string, test func(*running)) *recording {
	t.Helper()
	r := &running{recording: newRecording("thalassa-ccm-x7k2p"), folder: t.TempDir(), settings: settings, workers: 10,
		uid:      "6f1c1a52-0000-4000-8000-000000000001",
		machines: map[string]string{}, known: map[string]bool{}}
	// The second handler waits until a time of the process, which is another one in each bubble.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		r.T, r.cluster, r.election = t, cluster.New(), &election{}
		r.process = workerpooltest.New(t)
		r.api = &apiServer{next: r.cluster.Transport()}
		r.api.repair()
		if ironCore {
			r.simulator = simulator.New(simulator.Options{Namespace: ironNamespace, Network: ironNetwork,
				Provision: time.Second, Deletion: time.Second})
		} else {
			made, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(),
				Middleware: openapitest.Sampled(t)})
			r.must(err)
			defer func() { r.must(made.Close()) }()
			r.emulator = made
		}
		test(r)
		r.repairCloud()
		r.process.End()
		workerpooltest.Pass(2 * time.Minute) // what was under way ends
	})
	return r.recording
}

// repairCloud ends all faults of the cloud, and waits until the queues are empty: their lengths are metrics of the
// process of the test.
func (r *running) repairCloud() {
	r.endFaults()
	workerpooltest.Pass(10 * time.Minute)
}

// endFaults ends all faults of the cloud.
func (r *running) endFaults() {
	if r.simulator != nil {
		r.simulator.Fail(nil)
		return
	}
	r.emulator.ClearFaults()
}

func (r *running) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// offer makes the cloud, as a process does. It ends with the context.
func (r *running) offer(ctx context.Context) *cloud.Cloud {
	r.Helper()
	path := filepath.Join(r.folder, "config.yaml")
	if r.simulator != nil {
		writeFile(r.T, path, "networkName: "+ironNetwork+"\nclusterName: production\n"+r.settings)
		options, flags := ironcore.NewOptions("test"), new(cobra.Command).Flags()
		options.AddFlags(flags)
		r.must(flags.Parse([]string{"--ironcore-kubeconfig=" + filepath.Join(r.folder, "kubeconfig"),
			"--use-nic-selector=false"}))
		made, err := options.New(ctx, cloud.Options{ConfigFile: path, Network: r.simulator.Config().Transport})
		r.must(err)
		return made
	}
	writeFile(r.T, path, "organisation: "+emulator.DefaultOrganisationSlug+"\nvpcIdentity: "+emulator.DefaultVPC+
		"\ncluster: k8s-test\nendpoint: http://cloud.test\nroutes: {enabled: true}\ncloudCredentials: {directory: \""+
		r.folder+"\"}\n"+r.settings)
	made, err := thalassa.New("test")(ctx, cloud.Options{ConfigFile: path, Network: r.emulator.Transport()})
	r.must(err)
	return made
}

// credentials writes the files with the credentials.
func (r *running) credentials(token string) {
	r.Helper()
	if r.simulator == nil {
		writeFile(r.T, filepath.Join(r.folder, "personalAccessToken"), token)
		return
	}
	writeFile(r.T, filepath.Join(r.folder, "kubeconfig"), fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a, namespace: %s}}]
clusters: [{name: a, cluster: {server: "http://ironcore.test"}}]
users: [{name: a, user: {token: %s}}]
`, ironNamespace, token))
}

// begin starts a process, after the one before has ended.
func (r *running) begin() {
	r.Helper()
	r.process.End()
	r.credentials(emulator.DefaultToken)
	client, err := cluster.Client(r.api)
	r.must(err)
	alive, end := context.WithCancel(r.Context())
	offered := r.offer(alive)
	offered.ClusterIdentity.SetUID(r.uid)
	r.registry = prometheus.NewRegistry()
	r.register(append(offered.Collectors, build.Current().Collector("cloud_controller_manager"))...)
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		if offered.SetInformers != nil {
			offered.SetInformers(factory)
		}
		run, err := r.controllers(offered, client, factory)
		return func(ctx context.Context) {
			defer end()
			r.lead(ctx, func(ctx context.Context) error {
				offered.Start(ctx, clients{workerpooltest.NewClient()})
				run(ctx)
				return nil
			})
		}, err
	})
}

func (r *running) register(all ...prometheus.Collector) {
	r.Helper()
	for _, collector := range all {
		r.must(r.registry.Register(collector))
	}
}

// lead does the work while the process holds the lease. After it lost the lease, it is a standby without work.
func (r *running) lead(ctx context.Context, work func(context.Context) error) {
	for ctx.Err() == nil {
		err := lease.Hold(ctx, lease.Config{Lock: r.election, Name: "cloud-controller-manager",
			Duration:      15 * time.Second,
			RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}, work)
		if err != nil && !errors.Is(err, lease.ErrLost) {
			r.Error(err)
		}
		work = func(ctx context.Context) error { <-ctx.Done(); return nil }
	}
}

// controllers makes all controllers, with the default periods of their flags.
func (r *running) controllers(offered *cloud.Cloud, client kubernetes.Interface,
	factory informers.SharedInformerFactory) (func(context.Context), error) {
	core, recorder := factory.Core().V1(), r.process.Recorder
	nodes, nodesErr := node.New(node.Options{Provider: offered.Machines, Behaviour: offered.MachineBehaviour,
		Changes: offered.Changes, Client: client, Nodes: core.Nodes(), Period: 5 * time.Minute, Workers: 1,
		ResyncWorkers: 1, Recorder: recorder})
	life, lifeErr := nodelifecycle.New(nodelifecycle.Options{Provider: offered.Machines,
		Behaviour: offered.MachineBehaviour, Changes: offered.Changes, Client: client, Nodes: core.Nodes(),
		Period: 5 * time.Second, Workers: 1, Recorder: recorder})
	services, servicesErr := service.New(service.Options{Provider: offered.LoadBalancers,
		Behaviour: offered.LoadBalancerBehaviour, Changes: offered.Changes, Client: client, Services: core.Services(),
		Nodes: core.Nodes(), EndpointSlices: factory.Discovery().V1().EndpointSlices(), Recorder: recorder,
		Identity: offered.ClusterIdentity})
	pods := []netip.Prefix{netip.MustParsePrefix(podNetwork)}
	networks, networksErr := nodeipam.New(nodeipam.Options{Client: client, Nodes: core.Nodes(), CIDRs: pods,
		Masks: nodeipam.Masks{IPv4: 24}, Domain: offered.LabelDomain, Recorder: recorder})
	routes, routesErr := route.New(route.Options{Provider: offered.Routes, Changes: offered.Changes, Client: client,
		Nodes: core.Nodes(), CIDRs: pods, Domain: offered.LabelDomain, Recorder: recorder})
	if err := errors.Join(nodesErr, lifeErr, servicesErr, networksErr, routesErr); err != nil {
		return nil, err
	}
	r.register(slices.Concat(nodes.Collectors(), life.Collectors(), services.Collectors(), networks.Collectors(),
		routes.Collectors())...)
	return func(ctx context.Context) {
		var all sync.WaitGroup
		for _, run := range []func(context.Context){nodes.Run, life.Run, networks.Run, routes.Run,
			func(ctx context.Context) { services.Run(ctx, r.workers) }} {
			all.Go(func() { run(ctx) })
		}
		all.Wait()
	}, nil
}

// pass lets time pass while Prometheus scrapes, and while users change a Service every four minutes.
func (r *running) pass(d time.Duration) {
	r.Helper()
	const often = 4 * time.Minute
	for at := step; at <= d; at += step {
		workerpooltest.Pass(step)
		r.process.Events() // so that there is room for more
		r.scrape(r.T, time.Now(), r.registry, legacyregistry.DefaultGatherer)
		if at%often == 0 {
			r.identify()
			r.changeService("web", int32(8000+at/often))
		}
	}
}

// join adds a machine and its Node, which is ready.
func (r *running) join(name string) {
	r.Helper()
	if r.emulator != nil {
		identity, err := r.emulator.AddMachine(emulator.MachineSpec{Name: name})
		r.must(err)
		r.machines[name] = identity
	} else {
		r.simulator.AddMachine(simulator.Machine{Name: name,
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(10 + len(r.machines))})}})
		r.machines[name] = name
	}
	r.registerNode(name)
}

// registerNode creates a Node as its kubelet does.
func (r *running) registerNode(name string) {
	r.Helper()
	r.must(r.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}))
}

// lose deletes the machine of a Node, whose kubelet then reports nothing any more.
func (r *running) lose(name string) {
	r.Helper()
	if r.emulator != nil {
		r.must(r.emulator.DeleteMachine(r.machines[name]))
	} else {
		r.simulator.DeleteMachine(name)
	}
	r.must(r.cluster.ChangeNode(name, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				n.Status.Conditions[i].Status = corev1.ConditionUnknown
			}
		}
	}))
}

// addService creates a Service of type LoadBalancer with port 80.
func (r *running) addService(name string) {
	r.Helper()
	r.made++
	r.must(r.cluster.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
			UID: types.UID(fmt.Sprintf("4a1e8c5e-0000-4000-8000-%012d", r.made))},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.10",
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: int32(30000 + r.made),
					TargetPort: intstr.FromInt32(8080)}}}}))
}

// addServices creates many Services.
func (r *running) addServices(count int) {
	r.Helper()
	for n := range count {
		r.addService(fmt.Sprintf("more-%d", n))
	}
}

// serviceNamed is what the cluster finds a Service by.
func serviceNamed(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

// changeService changes the port of a Service.
func (r *running) changeService(name string, port int32) {
	r.Helper()
	r.must(r.cluster.Change(serviceNamed(name), func(object cluster.Object) {
		object.(*corev1.Service).Spec.Ports[0].Port = port
	}))
}
