package thalassa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// servicesCluster is a large cluster in front of a lab's cloud. Its API server consists of a few lists in memory,
// because client-go's fake clientset takes longer than everything that is measured here. Writes of the service
// controller are carried out and counted.
type servicesCluster struct {
	*lab
	services, nodes, slices *shelf
	client                  *fake.Clientset
	patches, protections    atomic.Int64 // writes of Services, and those of finalizers
	compared                atomic.Int64 // looks at Services
	reported                *tally
}

// newServicesCluster is an empty cluster.
func newServicesCluster(l *lab) *servicesCluster {
	t := &servicesCluster{lab: l, services: newShelf(), nodes: newShelf(), slices: newShelf(),
		client:   &fake.Clientset{},
		reported: &tally{}}
	l.Cleanup(func() { t.services.close(); t.nodes.close(); t.slices.close() })
	t.client.AddReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, _ := action.(kubetesting.PatchAction)
		patched, err := t.patch(patch.GetNamespace()+"/"+patch.GetName(), patch.GetPatch())
		return true, patched, err
	})
	return t
}

// newPopulatedCluster is one whose nodes are on new machines of the cloud.
func newPopulatedCluster(l *lab, nodes int) *servicesCluster {
	l.Helper()
	t := newServicesCluster(l)
	t.join(nodes)
	return t
}

// join adds machines to the cloud, and nodes on them.
func (t *servicesCluster) join(nodes int) {
	t.Helper()
	machines, err := t.emulator.AddMachines(nodes)
	if err != nil {
		t.Fatal(err)
	}
	t.populate(machines)
}

// patch carries out a write of the controller.
func (t *servicesCluster) patch(key string, patch []byte) (*corev1.Service, error) {
	t.patches.Add(1)
	if strings.Contains(string(patch), `"finalizers":[`) {
		t.protections.Add(1)
	}
	current, known := t.services.get(key).(*corev1.Service)
	if !known {
		return nil, fmt.Errorf("there is no Service %s", key)
	}
	before, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, current)
	if err != nil {
		return nil, err
	}
	changed := &corev1.Service{}
	if err := json.Unmarshal(after, changed); err != nil {
		return nil, err
	}
	t.services.put(changed)
	return changed.DeepCopy(), nil
}

// populate makes nodes on machines that there are.
func (t *servicesCluster) populate(machines []string) {
	for _, id := range machines {
		t.nodes.put(readyNode(id))
	}
}

// readyNode returns a Node on a machine.
func readyNode(machine string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + machine},
		Spec: corev1.NodeSpec{ProviderID: providerid.Of(machine)},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
			Status: corev1.ConditionTrue}}}}
}

// order adds n Services with so many ports.
func (t *servicesCluster) order(n, ports int) {
	first := len(t.services.all())
	for i := range n {
		t.services.put(service(fmt.Sprintf("web-%04d", first+i), []int32{80, 443}[:ports]...))
	}
}

// twin adds another node on a machine that has one: all Services are looked at, and nothing differs.
func (t *servicesCluster) twin() {
	for _, object := range t.nodes.all()[:1] {
		if node, ok := object.(*corev1.Node); ok {
			other := node.DeepCopy()
			other.Name = fmt.Sprintf("twin-%d-of-%s", len(t.nodes.all()), node.Name)
			t.nodes.put(other)
		}
	}
}

// run starts the service controller, and returns what ends it.
func (t *servicesCluster) run(workers int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	services, nodes, slices := t.services.informer(&corev1.Service{}), t.nodes.informer(&corev1.Node{}),
		t.slices.informer(&discoveryv1.EndpointSlice{})
	controller, err := servicecontroller.New(servicecontroller.Options{
		Provider: looks{t.cloud.balancers, &t.compared}, Behaviour: t.config.LoadBalancer.Behaviour(), Client: t.client,
		Recorder: t.reported, Recovered: t.cloud.recovered,
		Services: informer[corelisters.ServiceLister]{services,
			corelisters.NewServiceLister(services.GetIndexer())},
		Nodes: informer[corelisters.NodeLister]{nodes, corelisters.NewNodeLister(nodes.GetIndexer())},
		EndpointSlices: informer[discoverylisters.EndpointSliceLister]{slices,
			discoverylisters.NewEndpointSliceLister(slices.GetIndexer())},
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for _, one := range []cache.SharedIndexInformer{services, nodes, slices} {
		running.Go(func() { one.Run(ctx.Done()) })
	}
	running.Go(func() { t.cloud.client.MonitorOutages(ctx, t.cloud.inventory.Ping) })
	running.Go(func() { controller.Run(klog.NewContext(ctx, klog.Logger{}), workers) })
	return func() { cancel(); running.Wait() }
}

// addressless is how many Services have no address.
func (t *servicesCluster) addressless() int {
	without := 0
	for _, object := range t.services.all() {
		if one, ok := object.(*corev1.Service); ok && len(one.Status.LoadBalancer.Ingress) == 0 {
			without++
		}
	}
	return without
}

// looks counts comparisons.
type looks struct {
	*balancers
	made *atomic.Int64
}

// Diff implements cloud.LoadBalancers.
func (l looks) Diff(ctx context.Context, service *corev1.Service, targets cloud.Targets,
	settled bool) (cloud.Comparison, error) {
	defer l.made.Add(1)
	return l.balancers.Diff(ctx, service, targets, settled)
}

// informer is what client-go's factories make, of an informer of our own.
type informer[Lister any] struct {
	cache.SharedIndexInformer
	lister Lister
}

// Informer implements the interfaces of client-go's informers.
func (i informer[Lister]) Informer() cache.SharedIndexInformer { return i.SharedIndexInformer }

// Lister implements the interfaces of client-go's informers.
func (i informer[Lister]) Lister() Lister { return i.lister }

// shelf is all objects of one kind, and tells about changes.
type shelf struct {
	source *cachetesting.FakeControllerSource
	mu     sync.Mutex
	latest map[string]runtime.Object
}

func newShelf() *shelf {
	return &shelf{source: cachetesting.NewFakeControllerSource(), latest: map[string]runtime.Object{}}
}

func (s *shelf) close() { s.source.Shutdown() }

func (s *shelf) informer(kind runtime.Object) cache.SharedIndexInformer {
	lists := &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return s.source.List(options)
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.source.Watch(options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lists, plain{}), kind, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// plain is a client whose lists are no watches.
type plain struct{}

// IsWatchListSemanticsUnSupported tells reflectors not to ask for the initial list as a watch.
func (plain) IsWatchListSemanticsUnSupported() bool { return true }

func keyOf(object runtime.Object) string {
	key, _ := cache.MetaNamespaceKeyFunc(object)
	return key
}

// put adds or replaces an object, which belongs to the shelf from then on.
func (s *shelf) put(object runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(object)
	_, known := s.latest[key]
	s.latest[key] = object
	if known {
		s.source.Modify(object)
	} else {
		s.source.Add(object)
	}
}

func (s *shelf) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source.Delete(s.latest[key])
	delete(s.latest, key)
}

func (s *shelf) get(key string) runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest[key]
}

func (s *shelf) all() []runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objects []runtime.Object
	for _, object := range s.latest {
		objects = append(objects, object)
	}
	return objects
}

// tally counts events by type and reason.
type tally struct {
	mu     sync.Mutex
	events map[string]int
}

// Event implements record.EventRecorder.
func (t *tally) Event(_ runtime.Object, kind, reason, _ string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.events == nil {
		t.events = map[string]int{}
	}
	t.events[kind+" "+reason]++
}

// Eventf implements record.EventRecorder.
func (t *tally) Eventf(object runtime.Object, kind, reason, message string, _ ...any) {
	t.Event(object, kind, reason, message)
}

// AnnotatedEventf implements record.EventRecorder.
func (t *tally) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, message string, _ ...any) {
	t.Event(object, kind, reason, message)
}

func (t *tally) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := 0
	for _, n := range t.events {
		total += n
	}
	return total
}
