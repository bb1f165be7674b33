package virtualnode

import (
	"context"
	"fmt"

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

// watches are the watches of one cluster.
type watches struct {
	// scheduled has only the pods that have a node.
	objects, scheduled            informers.SharedInformerFactory
	nodes, pods, services, slices cache.SharedIndexInformer
}

func newWatches(client kubernetes.Interface) watches {
	small := informers.WithTransform(strip)
	scheduled := informers.NewSharedInformerFactoryWithOptions(client, 0, small,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" }))
	objects := informers.NewSharedInformerFactoryWithOptions(client, 0, small)
	return watches{
		objects: objects, scheduled: scheduled,
		nodes: objects.Core().V1().Nodes().Informer(), pods: scheduled.Core().V1().Pods().Informer(),
		services: objects.Core().V1().Services().Informer(),
		slices:   objects.Discovery().V1().EndpointSlices().Informer(),
	}
}

// strip leaves out what is not read here and what is half of most objects.
func strip(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// prepare connects the watches with the nodes.
func (n *Network) prepare() error {
	n.watches = newWatches(n.client)
	w := &n.watches
	if err := w.pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	if err := w.slices.AddIndexers(cache.Indexers{byService: func(object any) ([]string, error) {
		return []string{owner(object.(metav1.Object)).String()}, nil
	}}); err != nil {
		return err
	}
	for informer, deliver := range map[cache.SharedIndexInformer]func(metav1.Object){
		w.nodes:    func(o metav1.Object) { n.syncNode(o.GetName()) },
		w.pods:     func(o metav1.Object) { n.syncPod(nameOf(o), o.(*corev1.Pod).Spec.NodeName) },
		w.services: func(o metav1.Object) { n.syncService(nameOf(o)) },
		w.slices:   func(o metav1.Object) { n.syncService(owner(o)) },
	} {
		if err := n.handle(informer, deliver); err != nil {
			return err
		}
	}
	return nil
}

// handle delivers every object that is added, changed or deleted, one after the other.
func (n *Network) handle(informer cache.SharedIndexInformer, deliver func(metav1.Object)) error {
	each := func(object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		deliver(object.(metav1.Object))
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		n.trouble.Store(&err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}); err != nil {
		return err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: each, UpdateFunc: func(_, object any) { each(object) }, DeleteFunc: each,
	})
	return err
}

// complete starts the watches, once, and waits until all objects that existed have been read. When ctx ends before, the
// error has the reason.
func (n *Network) complete(ctx context.Context) error {
	w := &n.watches
	w.objects.Start(n.ctx.Done())
	w.scheduled.Start(n.ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), w.nodes.HasSynced, w.pods.HasSynced, w.services.HasSynced,
		w.slices.HasSynced) {
		return nil
	}
	err := context.Cause(ctx)
	if trouble := n.trouble.Load(); trouble != nil {
		err = fmt.Errorf("%w; %w", err, *trouble)
	}
	return fmt.Errorf("reading Nodes, Pods, Services and EndpointSlices for the first time: %w", err)
}

// syncNode, syncPod and syncService deliver what the caches hold now, not what the event held:
// events that come late then do no harm. The caller holds the network's mutex.
func (n *Network) syncNode(name string) {
	node := n.nodes[name]
	if node == nil {
		return
	}
	object, _, _ := n.watches.nodes.GetStore().GetByKey(name)
	o, _ := object.(*corev1.Node)
	node.observe(o)
}

func (n *Network) syncPod(name types.NamespacedName, nodeName string) {
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

func (n *Network) syncService(name types.NamespacedName) {
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
		return proxy.Service{NamespacedName: name}
	}
	found, _ := w.slices.GetIndexer().ByIndex(byService, name.String())
	var endpointSlices []*discoveryv1.EndpointSlice
	for _, object := range found {
		endpointSlices = append(endpointSlices, object.(*discoveryv1.EndpointSlice))
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
		out = append(out, nameOf(object.(metav1.Object)))
	}
	return out
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func nodeOf(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil }

// owner is the Service of an EndpointSlice.
func owner(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[discoveryv1.LabelServiceName]}
}
