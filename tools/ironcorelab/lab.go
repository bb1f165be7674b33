// Package ironcorelab is IronCore on this machine. Serve makes a control plane serve the API of IronCore: it starts the
// API server and the controller manager of IronCore, which tools/lab/ironcore pins. Start plays what these two do not
// do: the agent of a machine pool, which runs machines (the machinepoollet), and the network provider, which makes
// network interfaces available and gives addresses to load balancers (ironcore-net and its apinetlet). Both take the
// time that the options choose.
//
//	err := ironcorelab.Serve(ctx, plane, "")
//	lab, err := ironcorelab.Start(ctx, plane.Config(), ironcorelab.Options{Namespace: "shoot", Network: "nodes"})
//	defer lab.Stop()
//	err = lab.AddNetwork(ctx)
//	err = lab.AddMachine(ctx, role.Machine{Name: "a", Addresses: []netip.Addr{address}})
//
// The controller manager schedules machines, generates their network interfaces, generates and allocates Prefixes, and
// writes the routing of load balancers that have a selector. Start reacts to all objects of one namespace, also to
// those that others create. What it decides is in src/ironcore/simulator/role, which the server in memory uses, too.
// Not played are volumes, virtual IPs as objects, NAT gateways and network policies.
package ironcorelab

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/ironcore-dev/ironcore/client-go/ironcore/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// Options change what a lab does. The zero value does everything at once, and sends no traffic.
type Options struct {
	// Namespace contains the objects, Network is the name of the Network of those that the methods of the lab create.
	Namespace, Network string

	// Boot is the time until a machine runs, Provision the time until a network interface, its prefixes or a load
	// balancer are ready, and Deletion the time until finalizers are removed from what is deleted, which can be minutes
	// in a real installation.
	Boot, Provision, Deletion time.Duration

	// Address chooses addresses that clients from outside of the network reach. One that is not valid, or no function,
	// leaves the choice to the lab.
	Address func(Claim) netip.Addr
	// DataPlane sends the traffic. It may be nil.
	DataPlane DataPlane
	// Report gets errors after which the lab tries again. It may be nil.
	Report func(error)
}

// Claim is the need of one address from outside of the network.
type Claim struct {
	// Kind is LoadBalancer or NetworkInterface; Namespace and Name are those of the object that gets the address.
	Kind, Namespace, Name string
	Family                corev1.IPFamily
}

// Lab plays a machine pool's agent and the network provider of IronCore until it is stopped.
type Lab struct {
	options Options
	client  versioned.Interface
	caches  caches
	queue   workqueue.TypedRateLimitingInterface[item]
	cancel  context.CancelFunc
	running sync.WaitGroup

	// Only the worker uses these.
	pool  *role.Pool
	types map[types.UID]networkingv1alpha1.LoadBalancerType // those that load balancers began with
	due   map[appointment]time.Time
	plane planeState
}

// item is an object that is to be reconciled.
type item struct{ kind, namespace, name string }

// String returns kind, namespace and name.
func (i item) String() string { return i.kind + " " + i.namespace + "/" + i.name }

// appointment is something that happens to an object later.
type appointment struct {
	item
	what string
}

// Start begins to play the agent and the network provider with the API server of the configuration, which needs the
// rights of an administrator. It returns once all objects are known, and stops when the context ends or Stop is called.
func Start(ctx context.Context, config *rest.Config, options Options) (*Lab, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.QPS, config.UserAgent = -1, "ironcorelab"
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the components of IronCore: %w", err)
	}
	l := &Lab{
		options: options, client: client, pool: role.NewPool(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[item](5*time.Millisecond, 5*time.Second)),
		types: map[types.UID]networkingv1alpha1.LoadBalancerType{}, due: map[appointment]time.Time{},
		plane: planeState{balancers: map[item]balancerState{}, interfaces: map[item]interfaceState{}},
	}
	ctx, l.cancel = context.WithCancel(ctx)
	if err := l.watch(ctx); err != nil {
		l.Stop()
		return nil, err
	}
	l.running.Go(func() { <-ctx.Done(); l.queue.ShutDown() })
	l.running.Go(func() {
		for l.next(ctx) {
		}
	})
	return l, nil
}

// Stop ends everything that the lab does, and waits for it. The objects stay.
func (l *Lab) Stop() {
	l.cancel()
	l.queue.ShutDown()
	l.running.Wait()
	l.caches.factory.Shutdown()
}

// next reconciles one object. It returns false when the lab stops.
func (l *Lab) next(ctx context.Context) bool {
	i, stopped := l.queue.Get()
	if stopped {
		return false
	}
	defer l.queue.Done(i)
	if err := l.reconcile(ctx, i); err != nil {
		l.report(ctx, fmt.Errorf("playing IronCore for %s: %w", i, err))
		l.queue.AddRateLimited(i)
		return true
	}
	l.queue.Forget(i)
	return true
}

func (l *Lab) reconcile(ctx context.Context, i item) error {
	switch i.kind {
	case "Network":
		return l.reconcileNetwork(ctx, i)
	case "Machine":
		return l.reconcileMachine(ctx, i)
	case "NetworkInterface":
		return l.reconcileInterface(ctx, i)
	}
	return l.reconcileBalancer(ctx, i)
}

// passed reports whether a delay has passed since it was first asked for. If not, the object is reconciled again then.
func (l *Lab) passed(i item, what string, delay time.Duration) bool {
	a := appointment{i, what}
	if _, known := l.due[a]; !known {
		l.due[a] = time.Now().Add(delay)
	}
	if left := time.Until(l.due[a]); left > 0 {
		l.queue.AddAfter(i, left)
		return false
	}
	return true
}

// settled ends an appointment, so that the next delay begins anew.
func (l *Lab) settled(i item, what string) { delete(l.due, appointment{i, what}) }
