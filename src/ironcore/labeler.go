package ironcore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
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
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// labeler keeps the label of the cluster on the machines of its Nodes and on their network interfaces. If IronCore
// chooses the destinations of load balancers by this label, it removes the label from the network interfaces of Nodes
// that are excluded or deleted.
type labeler struct {
	store    *store.Store
	selector bool // IronCore chooses the destinations

	nodes    listersv1.NodeLister
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[string] // names of Nodes

	mu sync.Mutex
	// deleted are Nodes that were deleted while this program ran, and not created again, and whose machine may exist.
	deleted map[string]bool
	// kept are Nodes whose network interfaces keep the label as long as no other one has it, or as most Nodes are
	// missing.
	kept map[string]bool
}

func newLabeler(s *store.Store, selector bool) *labeler {
	return &labeler{store: s, selector: selector, deleted: map[string]bool{}, kept: map[string]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRelabelDelay, maxRelabelDelay))}
}

// A label that could not be written is written again after a pause that doubles with each failure, or at the end of the
// outage of IronCore.
const (
	minRelabelDelay = 50 * time.Millisecond
	maxRelabelDelay = time.Minute
)

// setInformers registers the informer of Nodes.
func (l *labeler) setInformers(factory informers.SharedInformerFactory) {
	nodes := factory.Core().V1().Nodes()
	l.nodes, l.informer = nodes.Lister(), nodes.Informer()
}

// run labels until ctx ends.
func (l *labeler) run(ctx context.Context) {
	context.AfterFunc(ctx, l.queue.ShutDown)
	registration, err := l.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(node any) { l.nodeChanged(node.(*corev1.Node).Name, false) },
		UpdateFunc: func(_, node any) { l.nodeChanged(node.(*corev1.Node).Name, false) },
		DeleteFunc: func(node any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(node); err == nil {
				l.nodeChanged(name, true)
			}
		},
	})
	if err != nil {
		return // the informer has ended, because the process ends
	}
	defer func() { _ = l.informer.RemoveEventHandler(registration) }()
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-ctx.Done():
		return
	}
	go l.store.Changes(ctx, l.cloudChanged)
	defer l.store.Client.Outages().OnEnd(func() { l.cloudChanged(cloud.Change{All: true}) })()
	for l.next(ctx) {
	}
}

func (l *labeler) nodeChanged(name string, deleted bool) {
	l.mu.Lock()
	if deleted {
		l.deleted[name] = true
	} else {
		delete(l.deleted, name)
	}
	l.mu.Unlock()
	l.queue.Add(name)
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
	l.mu.Lock()
	for node := range l.deleted {
		l.queue.Add(node)
	}
	l.mu.Unlock()
	for _, one := range l.store.NetworkInterfaces.List() {
		if node := one.Annotations[label.Node]; node != "" { // while no process ran, Node and machine may change
			l.queue.Add(node)
			l.queue.Add(l.store.MachineWith(one.Name)) // "" has no machine
		}
	}
}

// next labels the machine of the next Node in the queue. It returns false when the queue has been shut down.
func (l *labeler) next(ctx context.Context) bool {
	name, ended := l.queue.Get()
	if ended {
		return false
	}
	defer l.queue.Done(name)
	err := l.label(ctx, name)
	switch {
	case err == nil || ctx.Err() != nil:
		l.queue.Forget(name)
		return true
	case apierrors.IsConflict(err): // something else has changed the object
		klog.FromContext(ctx).V(1).Info("The label of the cluster is written again", "node", name, "reason",
			err.Error())
	default:
		klog.FromContext(ctx).Error(err, "The label of the cluster could not be written, and is retried", "node", name)
	}
	l.queue.AddRateLimited(name)
	return true
}

// decision is what happens to the label of an object.
type decision int

const (
	leave decision = iota
	add
	remove
	removeOwn // if this program has added it, for whichever Node
)

// label writes the labels of the machine with the name of a Node, and of its network interfaces, if they differ. A
// network interface that the machine has left behind loses the label.
func (l *labeler) label(ctx context.Context, name string) error {
	if !l.store.Synced() || !l.informer.HasSynced() {
		return nil
	}
	ctx = tracing.WithCause(ctx, "Node "+name+": label of the cluster")
	var failed error
	if l.selector {
		for _, one := range l.store.InterfacesLeft(name) {
			failed = errors.Join(failed, l.labelInterface(ctx, one, name, remove))
		}
	}
	machine, exists := l.store.Machines.Get(name)
	if exists {
		return errors.Join(failed, l.labelMachine(ctx, machine, name))
	}
	if failed == nil {
		l.mu.Lock()
		delete(l.deleted, name)
		l.mu.Unlock()
	}
	return failed
}

// labelMachine writes the labels of a machine, and of its network interfaces.
func (l *labeler) labelMachine(ctx context.Context, machine *computev1alpha1.Machine, name string) error {
	ofMachine, ofInterfaces := l.decide(name)
	if err := set(ctx, l, l.store.Machines, l.store.Client.Machines.Patch, machine, ofMachine, ""); err != nil {
		return err
	}
	interfaces, _ := l.store.InterfacesOf(machine) // those that are not known are reported when they appear
	var failed error
	for _, one := range interfaces {
		failed = errors.Join(failed, l.labelInterface(ctx, one, name, ofInterfaces))
	}
	return failed
}

// labelInterface writes the label of a network interface of the machine of a Node.
func (l *labeler) labelInterface(ctx context.Context, one *networkingv1alpha1.NetworkInterface, node string,
	todo decision) error {
	if todo == removeOwn {
		if todo = leave; one.Annotations[label.Node] != "" {
			todo = remove
		}
	}
	if todo == remove && one.Labels[label.Cluster] == l.store.Cluster && l.isLast(one.Name) {
		klog.FromContext(ctx).Info("The network interface keeps the label of the cluster, because no other one has "+
			"it: the load balancers would have no destinations", "networkInterface", one.Name, "node", node)
		l.keep(node)
		return nil
	}
	err := set(ctx, l, l.store.NetworkInterfaces, l.store.Client.NetworkInterfaces.Patch, one, todo, node)
	if err == nil && todo == add {
		l.reconsider()
	}
	return err
}

// keep records a Node whose network interfaces keep the label for now.
func (l *labeler) keep(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[node] = true
}

// reconsider queues the Nodes that were recorded: a network interface of another Node has the label.
func (l *labeler) reconsider() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for node := range l.kept {
		l.queue.Add(node)
	}
	clear(l.kept)
}

// decide returns what happens to the labels of the machine of a Node, and of its network interfaces. A Node that is not
// in the cache may be created later: only one that existed loses the label.
func (l *labeler) decide(name string) (ofMachine, ofInterfaces decision) {
	node, err := l.nodes.Get(name)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case l.selector && l.deleted[name]:
			return leave, remove
		case l.selector && !l.mostAreMissing():
			return leave, removeOwn
		case l.selector:
			l.kept[name] = true
		}
		return leave, leave
	}
	if _, _, err := l.store.MachineOf(node); err != nil { // it has no provider ID yet, or another machine
		return leave, leave
	}
	if l.selector && !cloud.Eligible(node) {
		return add, remove
	}
	return add, add
}

// mostAreMissing reports whether most of the Nodes do not exist whose network interfaces this program has labelled.
// Then the cluster has more probably been replaced or restored than lost so many Nodes while no process ran.
func (l *labeler) mostAreMissing() bool {
	labelled, missing := 0, 0
	for _, one := range l.store.NetworkInterfaces.List() {
		node := one.Annotations[label.Node]
		if node == "" || one.Labels[label.Cluster] != l.store.Cluster {
			continue
		}
		labelled++
		if _, err := l.nodes.Get(node); err != nil {
			missing++
		}
	}
	return 2*missing > labelled
}

// isLast reports whether a network interface is the only one in the network that has the label of the cluster and can
// be a destination.
func (l *labeler) isLast(name string) bool {
	for _, one := range l.store.NetworkInterfaces.List() {
		if one.Name != name && one.Spec.NetworkRef.Name == l.store.Network &&
			one.Labels[label.Cluster] == l.store.Cluster && balancer.IsUsable(one) {
			return false
		}
	}
	return true
}

// set adds the label to an object, with the Node as its annotation unless that is "", or removes both. The label of
// another cluster is not changed.
func set[T store.Object](ctx context.Context, l *labeler, objects *store.Objects[T], send patch[T], object T,
	todo decision, node string) error {
	value, exists := object.GetLabels()[label.Cluster]
	recorded := object.GetAnnotations()[label.Node] // "" also if another program has added the label
	metadata := map[string]any{"resourceVersion": object.GetResourceVersion(),
		"labels": map[string]any{label.Cluster: l.store.Cluster}}
	if node != "" {
		metadata["annotations"] = map[string]any{label.Node: node}
	}
	switch {
	case exists && value != l.store.Cluster, todo == leave, todo == remove && !exists,
		todo == add && exists && (recorded == "" || recorded == node):
		return nil
	case todo == remove:
		metadata["labels"] = map[string]any{label.Cluster: nil}
		metadata["annotations"] = map[string]any{label.Node: nil}
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding the label of %s: %w", object.GetName(), err)
	}
	written, err := send(context.WithoutCancel(ctx), object.GetName(), types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: label.FieldManager})
	if err != nil {
		return fmt.Errorf("writing the label %s of %s: %w", label.Cluster, object.GetName(), err)
	}
	objects.Written(written)
	return nil
}
