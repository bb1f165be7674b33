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

// byService finds the slices of a Service.
const byService = "service"

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

// prepare gets the watches ready to start.
func (n *Network) prepare() error {
	n.watches = newWatches(n.client)
	w := &n.watches
	for _, informer := range []cache.SharedIndexInformer{w.nodes, w.pods, w.services, w.slices} {
		if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			n.trouble.Store(&err)
			cache.DefaultWatchErrorHandler(ctx, r, err)
		}); err != nil {
			return err
		}
	}
	return w.slices.AddIndexers(cache.Indexers{byService: func(object any) ([]string, error) {
		return []string{owner(object.(metav1.Object)).String()}, nil
	}})
}

// join delivers every object that is there, added, changed or deleted to a node, until it leaves.
func (n *Network) join(node *Node) error {
	w := &n.watches
	for informer, deliver := range map[cache.SharedIndexInformer]func(metav1.Object){
		w.nodes:    func(o metav1.Object) { node.syncNode(o.GetName()) },
		w.pods:     func(o metav1.Object) { node.syncPod(nameOf(o)) },
		w.services: func(o metav1.Object) { node.syncService(nameOf(o)) },
		w.slices:   func(o metav1.Object) { node.syncService(owner(o)) },
	} {
		each := func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			deliver(object.(metav1.Object))
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: each, UpdateFunc: func(_, object any) { each(object) }, DeleteFunc: each,
		})
		if err != nil {
			return fmt.Errorf("watching the cluster for node %q: %w", node.options.Name, err)
		}
		node.leave = append(node.leave, func() { _ = informer.RemoveEventHandler(registration) })
	}
	n.running.Store(node.options.Address, node)
	node.leave = append(node.leave, func() { n.running.CompareAndDelete(node.options.Address, node) })
	return nil
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

// syncNode, syncPod and syncService take what the caches hold now, not what the event held: events
// that come late then do no harm.
func (n *Node) syncNode(name string) {
	if name != n.options.Name {
		return
	}
	object, _, _ := n.network.watches.nodes.GetStore().GetByKey(name)
	node, _ := object.(*corev1.Node)
	n.observe(node)
}

// syncPod gives the node the present state of a pod. One of another node counts as one that does not exist.
func (n *Node) syncPod(name types.NamespacedName) {
	if !n.serves(name.Namespace) {
		return
	}
	object, _, _ := n.network.watches.pods.GetStore().GetByKey(name.String())
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != n.options.Name {
		pod = nil
	}
	n.pods.Sync(name, pod)
}

func (n *Node) syncService(name types.NamespacedName) {
	if !n.serves(name.Namespace) {
		return
	}
	n.services.Lock()
	defer n.services.Unlock()
	n.proxy.Set(n.network.watches.service(name))
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

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// owner is the Service of an EndpointSlice.
func owner(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[discoveryv1.LabelServiceName]}
}
