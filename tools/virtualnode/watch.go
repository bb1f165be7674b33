package virtualnode

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/proxy"
)

const (
	// byNode finds the pods of a node, byService the slices of a Service.
	byNode    = "node"
	byService = "service"
)

// watches are the watches of one cluster. Nodes are watched from the first node on; pods and
// Services only once there is a node that is not light.
type watches struct {
	objects, workloads factories

	nodes, pods, services, slices *watched
}

// factories are informer factories that are started together.
type factories struct {
	all     []informers.SharedInformerFactory
	handled bool
}

func newWatches(client kubernetes.Interface) watches {
	small := informers.WithTransform(strip)
	scheduled := informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" })
	nodes := informers.NewSharedInformerFactoryWithOptions(client, 0, small)
	services := informers.NewSharedInformerFactoryWithOptions(client, 0, small)
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, small, scheduled)
	return watches{
		objects:   factories{all: []informers.SharedInformerFactory{nodes}},
		workloads: factories{all: []informers.SharedInformerFactory{services, pods}},
		nodes:     newWatched("Nodes", nodes.Core().V1().Nodes().Informer()),
		pods:      newWatched("Pods", pods.Core().V1().Pods().Informer()),
		services:  newWatched("Services", services.Core().V1().Services().Informer()),
		slices:    newWatched("EndpointSlices", services.Discovery().V1().EndpointSlices().Informer()),
	}
}

// strip leaves out what nobody here reads and what is half of most objects.
func strip(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

func (w *watches) close() {
	for _, f := range append(w.objects.all, w.workloads.all...) {
		f.Shutdown()
	}
}

// watch starts what a node needs and waits until it is complete.
func (n *Network) watch(ctx context.Context, light bool) error {
	if err := n.handle(light); err != nil {
		return fmt.Errorf("preparing the watches: %w", err)
	}
	needed := n.watches.objects.all
	reading := []*watched{n.watches.nodes}
	if !light {
		needed = append(slices.Clip(needed), n.watches.workloads.all...)
		reading = append(reading, n.watches.pods, n.watches.services, n.watches.slices)
	}
	for _, f := range needed {
		f.Start(n.ctx.Done())
	}
	return complete(ctx, reading)
}

// handle connects the watches that a node needs with the nodes, once.
func (n *Network) handle(light bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &n.watches
	if !w.objects.handled {
		if err := w.nodes.on(func(o metav1.Object) { n.news(func() { n.tellNode(o.GetName()) }) }); err != nil {
			return err
		}
		w.objects.handled = true
	}
	if light || w.workloads.handled {
		return nil
	}
	w.workloads.handled = true
	if err := w.pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	if err := w.slices.AddIndexers(cache.Indexers{byService: serviceOf}); err != nil {
		return fmt.Errorf("indexing slices: %w", err)
	}
	return n.handleWorkloads()
}

func (n *Network) handleWorkloads() error {
	pod := func(o metav1.Object) {
		if p, ok := o.(*corev1.Pod); ok {
			n.news(func() { n.tellPod(nameOf(p), p.Spec.NodeName) })
		}
	}
	service := func(o metav1.Object) { n.news(func() { n.tellService(nameOf(o)) }) }
	slice := func(o metav1.Object) {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[discoveryv1.LabelServiceName]}
		n.news(func() { n.tellService(name) })
	}
	if err := n.watches.pods.on(pod); err != nil {
		return err
	}
	if err := n.watches.services.on(service); err != nil {
		return err
	}
	return n.watches.slices.on(slice)
}

// news runs what passes news on, one after the other.
func (n *Network) news(tell func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	tell()
}

// tellNode, tellPod and tellService pass on what the caches hold now, not what the event held:
// news that come late then do no harm.
func (n *Network) tellNode(name string) {
	node := n.nodes[name]
	if node == nil {
		return
	}
	object, _, _ := n.watches.nodes.GetStore().GetByKey(name)
	o, _ := object.(*corev1.Node)
	node.observe(o)
}

func (n *Network) tellPod(name types.NamespacedName, nodeName string) {
	node := n.nodes[nodeName]
	if node == nil {
		return
	}
	object, _, _ := n.watches.pods.GetStore().GetByKey(name.String())
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != nodeName {
		pod = nil
	}
	node.syncPod(name, pod)
}

func (n *Network) tellService(name types.NamespacedName) {
	service := n.watches.service(name)
	for _, node := range n.nodes {
		node.setService(service)
	}
}

// service returns what proxies need to know of a Service; of one that does not exist, that there
// is nothing to forward.
func (w *watches) service(name types.NamespacedName) proxy.Service {
	object, _, _ := w.services.GetStore().GetByKey(name.String())
	service, ok := object.(*corev1.Service)
	if !ok {
		return proxy.Service{Namespace: name.Namespace, Name: name.Name}
	}
	found, _ := w.slices.GetIndexer().ByIndex(byService, name.String())
	var endpointSlices []*discoveryv1.EndpointSlice
	for _, object := range found {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			endpointSlices = append(endpointSlices, slice)
		}
	}
	return proxy.FromObjects(service, endpointSlices)
}

func (w *watches) allServices() []types.NamespacedName {
	return names(w.services.GetStore().List())
}

func (w *watches) podsOf(node string) []types.NamespacedName {
	pods, _ := w.pods.GetIndexer().ByIndex(byNode, node)
	return names(pods)
}

func names(objects []any) []types.NamespacedName {
	var out []types.NamespacedName
	for _, object := range objects {
		if o, ok := object.(metav1.Object); ok {
			out = append(out, nameOf(o))
		}
	}
	return out
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func nodeOf(object any) ([]string, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

func serviceOf(object any) ([]string, error) {
	if o, ok := object.(metav1.Object); ok {
		return []string{o.GetNamespace() + "/" + o.GetLabels()[discoveryv1.LabelServiceName]}, nil
	}
	return nil, nil
}
