package ironcore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// labeler keeps the label of the cluster on the machines of its Nodes and on their network interfaces. If IronCore
// chooses the destinations of load balancers by this label, a Node that is excluded has no label on its network
// interfaces.
type labeler struct {
	store            *store.Store
	cluster, network string
	selector         bool // IronCore chooses the destinations

	nodes    listersv1.NodeLister
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[string] // names of Nodes
}

func newLabeler(s *store.Store, cluster, network string, selector bool) *labeler {
	return &labeler{store: s, cluster: cluster, network: network, selector: selector,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
}

// setInformers registers the informer of Nodes.
func (l *labeler) setInformers(factory informers.SharedInformerFactory) {
	nodes := factory.Core().V1().Nodes()
	l.nodes, l.informer = nodes.Lister(), nodes.Informer()
}

// run labels until ctx ends.
func (l *labeler) run(ctx context.Context) {
	context.AfterFunc(ctx, l.queue.ShutDown)
	// AddEventHandler fails only for an informer that has ended: then the process ends, too.
	registration, err := l.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(node any) { l.queue.Add(node.(*corev1.Node).Name) },
		UpdateFunc: func(_, node any) { l.queue.Add(node.(*corev1.Node).Name) },
		DeleteFunc: func(node any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(node); err == nil {
				l.queue.Add(name)
			}
		},
	})
	if err != nil {
		return
	}
	defer func() { _ = l.informer.RemoveEventHandler(registration) }()
	go l.store.Changes(ctx, l.cloudChanged)
	for l.next(ctx) {
	}
}

func (l *labeler) cloudChanged(change cloud.Change) {
	if change.Node != "" {
		l.queue.Add(change.Node)
	}
	if !change.All {
		return
	}
	nodes, _ := l.nodes.List(labels.Everything()) // a lister of a cache has no errors
	for _, node := range nodes {
		l.queue.Add(node.Name)
	}
}

// next labels the machine of the next Node in the queue. It returns false when the queue has been shut down.
func (l *labeler) next(ctx context.Context) bool {
	name, ended := l.queue.Get()
	if ended {
		return false
	}
	defer l.queue.Done(name)
	if err := l.label(ctx, name); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "The label of the cluster could not be written, and is retried", "node", name)
		l.queue.AddRateLimited(name)
		return true
	}
	l.queue.Forget(name)
	return true
}

// label writes the labels of the machine with the name of a Node, and of its network interfaces, if they differ.
func (l *labeler) label(ctx context.Context, name string) error {
	if !l.store.Synced() {
		return nil // the first report of the store queues all Nodes
	}
	machine, exists := l.store.Machines.Get(name)
	if !exists {
		return nil
	}
	node, err := l.nodes.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Node %s: %w", name, err)
	}
	exists = err == nil
	if err := set(ctx, l, l.store.Machines, l.store.Client.Machines.Patch, machine, exists, false); err != nil {
		return err
	}
	interfaces, _ := l.store.InterfacesOf(machine, l.network) // those that are missing are reported when they appear
	var failed error
	for _, one := range interfaces {
		wanted := exists && (!l.selector || cloud.Eligible(node))
		failed = errors.Join(failed, set(ctx, l, l.store.NetworkInterfaces, l.store.Client.NetworkInterfaces.Patch, one,
			wanted, l.selector))
	}
	return failed
}

// set adds the label to an object, or removes it. The label of another cluster is not changed.
func set[T store.Object](ctx context.Context, l *labeler, objects *store.Objects[T], send patch[T], object T, add,
	remove bool) error {
	value, exists := object.GetLabels()[label.Cluster]
	change := any(l.cluster)
	switch {
	case exists && value != l.cluster:
		klog.V(1).InfoS("The machine of a Node has the label of another cluster", "object", object.GetName(),
			"label", label.Cluster, "cluster", value)
		return nil
	case add == exists || exists && !remove:
		return nil
	case !add:
		change = nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(), "labels": map[string]any{label.Cluster: change}}})
	if err != nil {
		return fmt.Errorf("encoding the label of %s: %w", object.GetName(), err)
	}
	written, err := send(ctx, object.GetName(), types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: label.FieldManager})
	if err != nil {
		return fmt.Errorf("writing the label %s of %s: %w", label.Cluster, object.GetName(), err)
	}
	objects.Written(written)
	return nil
}
