package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/pod"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/proxy"
)

// deleteLimit bounds the deletion of a Node object after the node has stopped.
const deleteLimit = 30 * time.Second

// Options says what a node is.
type Options struct {
	// Network is the network of the node's cluster. Required.
	Network *Network
	// Name is the name of the Node object. Required.
	Name string
	// Address is the machine's own loopback address, in 127.0.0.0/8. Node ports are bound on it.
	// Required.
	Address netip.Addr
	// ControlPlane makes it a control plane node as kubeadm does: label, NoSchedule taint, and
	// the label that keeps load balancers away.
	ControlPlane bool
	// Labels are further labels of the Node object.
	Labels map[string]string
	// Taints are further taints of the Node object, as kubelet's --register-with-taints.
	Taints []corev1.Taint
	// Images says what runs for an image, by name without tag and digest.
	Images map[string]Image
	// Namespaces, when not empty, are the only namespaces whose pods the node runs and whose
	// Services have node ports on it. It does not touch any other pods that are assigned to it:
	// nothing of them runs, none of their Secrets is read, no status, event or deletion is written.
	// They stay Pending; one that is deleted goes only with the Node object. Default: all.
	Namespaces []string
	// Dir is where pods have their volumes and logs. Nodes may share it. Required.
	Dir string
}

// Node is a running node.
type Node struct {
	options Options
	network *Network
	logger  *slog.Logger
	pods    *pod.Node
	proxy   *proxy.Proxy
	events  record.EventBroadcaster

	seen        atomic.Pointer[corev1.Node] // the object as last seen, nil once it was deleted
	corrections chan struct{}
	leave       []func()   // end the delivery of events
	services    sync.Mutex // is held while the proxy is given what the caches hold
	stopLive    context.CancelFunc
	living      sync.WaitGroup
}

// Start registers a node and runs what is assigned to it until Stop. The context bounds the start
// only: when it ends before the API server has answered everything, Start fails at once. Without
// an end it waits for as long as the API server is silent, or forbids to list Nodes, Pods,
// Services or EndpointSlices. A Node object of the same name that exists is an error.
func Start(ctx context.Context, o Options) (*Node, error) {
	n, err := newNode(o)
	if err != nil {
		return nil, err
	}
	if err := n.begin(ctx); err != nil {
		n.events.Shutdown()
		return nil, err
	}
	live, stop := context.WithCancel(context.Background())
	n.stopLive = stop
	n.living.Go(func() { n.live(live) })
	n.living.Go(func() { n.renewals().Run(live) })
	return n, nil
}

// begin makes the node known to the API server and to the network.
func (n *Node) begin(ctx context.Context) error {
	info, err := discovery.ToServerVersionInterfaceWithContext(n.network.client.Discovery()).
		ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	if err := n.network.complete(ctx); err != nil {
		return err
	}
	if err := n.register(ctx, info.GitVersion); err != nil {
		return err
	}
	return n.network.join(n)
}

func (o Options) validate() error {
	switch {
	case o.Network == nil:
		return errors.New("a virtual node needs Options.Network")
	case o.Name == "":
		return errors.New("a virtual node needs Options.Name")
	case slices.Contains(o.Namespaces, ""):
		return fmt.Errorf("node %q: a name in Options.Namespaces is empty; leave the list empty for all namespaces",
			o.Name)
	case !o.Address.Is4() || !o.Address.IsLoopback():
		return fmt.Errorf("node %q: Options.Address is %s; it must be in 127.0.0.0/8", o.Name, o.Address)
	case o.Dir == "":
		return fmt.Errorf("node %q needs Options.Dir", o.Name)
	}
	return nil
}

func newNode(o Options) (*Node, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	images, err := imageSet(o.Images)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", o.Name, err)
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", o.Name, err)
	}
	o.Namespaces = slices.Clone(o.Namespaces) // a later change of the caller's slice has no effect
	network := o.Network
	events := record.NewBroadcaster()
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: network.client.CoreV1().Events("")})
	return &Node{
		options: o, network: network, logger: network.logger, events: events, corrections: make(chan struct{}, 1),
		pods: pod.NewNode(pod.Options{
			Machine: image.Machine{
				Name: o.Name, Address: o.Address, APIServerHost: network.apiHost, APIServerPort: network.apiPort,
				Client: network.client, Fabric: network.fabric,
			},
			Images: images, Addresses: pod.NewAddresses(), Dir: dir, Logger: network.logger,
			Recorder: events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: o.Name}),
		}),
		proxy: proxy.New(proxy.Options{Node: o.Name, Address: o.Address, Fabric: network.fabric,
			Logger: network.logger}),
	}, nil
}

// makeDir makes a directory that will hold tokens and Secrets. Its path is absolute because
// containers start on other nodes.
func makeDir(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding its directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making its directory: %w", err)
	}
	return dir, nil
}

// observe gives the node the present state of its object, nil when it has been deleted. It must
// not block.
func (n *Node) observe(object *corev1.Node) {
	n.seen.Store(object)
	if object == nil {
		return
	}
	if prefix, err := netip.ParsePrefix(object.Spec.PodCIDR); err == nil {
		n.pods.Addresses.SetRange(prefix)
	}
	if isReady(object) {
		return
	}
	select {
	case n.corrections <- struct{}{}:
	default:
	}
}

// serves reports whether the node has anything to do with a namespace.
func (n *Node) serves(namespace string) bool {
	return len(n.options.Namespaces) == 0 || slices.Contains(n.options.Namespaces, namespace)
}

// Name is the name of the Node object.
func (n *Node) Name() string { return n.options.Name }

// Address is the machine's own address.
func (n *Node) Address() netip.Addr { return n.options.Address }

// Logs is the file with the output of a Program container. It holds all runs of all pods of that
// name on this node and stays when they have gone; it exists once the container has started.
func (n *Node) Logs(namespace, pod, container string) string {
	return n.pods.LogPath(namespace, pod, container)
}

// Stop powers the machine off: pods are asked to end and have their grace period, then node ports
// close. Pods that are left when ctx ends are killed, and the error says so. The objects stay as
// they are, the Node included: the control plane finds out by itself.
func (n *Node) Stop(ctx context.Context) error {
	for _, leave := range n.leave {
		leave()
	}
	n.stopLive()
	n.living.Wait()
	n.pods.PowerOff(ctx)
	n.proxy.Close()
	n.events.Shutdown()
	if ctx.Err() != nil {
		return fmt.Errorf("stopping node %q: killed pods that had not ended: %w", n.options.Name, context.Cause(ctx))
	}
	return nil
}

// Remove stops the node and deletes its object, with the rights of the Network: a node may not
// delete itself. Its pods are then the control plane's to clean up.
func (n *Node) Remove(ctx context.Context) error {
	err := n.Stop(ctx)
	// A power cut is also a way to stop; the object can be deleted all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	if deleteErr := n.network.client.CoreV1().Nodes().Delete(ctx, n.options.Name,
		metav1.DeleteOptions{}); deleteErr != nil && !apierrors.IsNotFound(deleteErr) {
		return errors.Join(err, fmt.Errorf("deleting node %q: %w", n.options.Name, deleteErr))
	}
	return err
}
