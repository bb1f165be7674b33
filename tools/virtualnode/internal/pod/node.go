// Package pod runs the pods of one node, the part of kubelet between the API server and the
// containers.
package pod

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
)

// Options is what the pods of a node need.
type Options struct {
	Machine   image.Machine
	Images    image.Set
	Addresses *Addresses
	// Dir holds the directories and logs of the pods.
	Dir      string
	Recorder record.EventRecorder
	Logger   *slog.Logger
}

// Node runs the pods of one node.
type Node struct {
	Options

	// on ends when the node goes down.
	on      context.Context
	turnOff context.CancelFunc

	mu       sync.Mutex
	workers  map[types.NamespacedName]*worker
	active   map[*worker]bool
	removals sync.WaitGroup
}

// NewNode returns a node without pods.
func NewNode(o Options) *Node {
	n := &Node{Options: o, workers: map[types.NamespacedName]*worker{}, active: map[*worker]bool{}}
	n.on, n.turnOff = context.WithCancel(context.Background())
	return n
}

// LogPath is the file that a container's output is appended to.
func (n *Node) LogPath(namespace, pod, container string) string {
	return filepath.Join(n.Dir, "logs", namespace+"_"+pod+"_"+container+".log")
}

// Sync passes the present state of a pod that is assigned to the node; nil means that it no longer
// exists.
func (n *Node) Sync(name types.NamespacedName, pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.on.Err() != nil {
		return
	}
	current := n.workers[name]
	if current != nil && (pod == nil || pod.UID != current.pod.Load().UID) {
		current.gone()
		delete(n.workers, name)
	}
	switch {
	case pod == nil:
	case n.workers[name] != nil:
		current.update(pod)
	case pod.DeletionTimestamp != nil:
		// Nothing of it runs here, be it that it never did or that the machine was off.
		n.removals.Go(func() { n.remove(n.on, pod) })
	case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		n.startWorker(name, pod, current)
	}
}

// startWorker starts the pod once the previous one of the same name has ended.
func (n *Node) startWorker(name types.NamespacedName, pod *corev1.Pod, previous *worker) {
	var after <-chan struct{}
	if previous != nil {
		after = previous.done
	}
	w := start(n, pod, after)
	n.workers[name] = w
	n.active[w] = true
	go func() {
		<-w.done
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.active, w)
	}()
}

// PowerOff stops all pods, each within its grace period, and kills those that are left when ctx
// ends. Their objects stay as they are.
func (n *Node) PowerOff(ctx context.Context) {
	n.mu.Lock()
	n.turnOff()
	var stopping sync.WaitGroup
	for w := range n.active {
		stopping.Go(func() { w.powerOff(ctx) })
	}
	n.mu.Unlock()
	stopping.Wait()
	n.removals.Wait()
}

// remove takes a pod's object away, now that nothing of the pod is left, and tries until that is
// done.
func (n *Node) remove(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		return
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	// It ends with ctx, or without an error.
	_ = wait.PollUntilContextCancel(ctx, writeRetry, true, func(ctx context.Context) (bool, error) {
		err := n.Machine.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
		removed := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
		if !removed && ctx.Err() == nil {
			n.Logger.Warn("removing a pod that has ended; trying again", "pod", pod.Namespace+"/"+pod.Name, "error",
				err)
		}
		return removed, nil
	})
}

// dial connects a probe to a pod. Probes come from the node.
func (n *Node) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return n.Machine.Fabric.Dial(ctx, to, n.Machine.Address)
}
