// Package ironcorelab makes IronCore of any API server: Install adds custom resource definitions that stand in for
// the aggregated API server of IronCore, and Start does what IronCore's own components do with the objects. It
// schedules and runs machines, makes their network interfaces available, gives addresses to load balancers and
// allocates prefixes, all with delays that the options choose.
//
//	err := ironcorelab.Install(ctx, config)
//	lab, err := ironcorelab.Start(ctx, config, ironcorelab.Options{Namespace: "shoot", Network: "nodes"})
//	defer lab.Stop()
//	err = lab.AddNetwork(ctx)
//	err = lab.AddMachine(ctx, role.Machine{Name: "a", Addresses: []netip.Addr{address}})
//
// It reacts to all objects of one namespace, also to those that others create, and to machine pools. What it decides is
// in src/ironcore/simulator/role, which the server in memory uses, too. Not played are volumes, virtual IPs as objects,
// NAT gateways and network policies. The garbage collector of the control plane deletes generated objects. It looks for
// new kinds every 30 seconds.
package ironcorelab

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

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
	// balancer are ready, Deletion the time until finalizers are removed from what is deleted, and Routing the time
	// until the destinations of a load balancer with a selector follow the network interfaces.
	Boot, Provision, Deletion, Routing time.Duration

	// Address chooses the addresses that the objects do not contain. One that is not valid, or no function, leaves the
	// choice to the lab.
	Address func(Claim) netip.Addr
	// DataPlane sends the traffic. It may be nil.
	DataPlane DataPlane
	// Report gets errors after which the lab tries again. It may be nil.
	Report func(error)
}

// Claim is the need of one address.
type Claim struct {
	// Kind is LoadBalancer or NetworkInterface; Namespace and Name are those of the object that gets the address.
	Kind, Namespace, Name string
	Family                corev1.IPFamily
	// Public means that the address is not one of the network.
	Public bool
}

// Lab plays the components of IronCore until it is stopped.
type Lab struct {
	options Options
	client  versioned.Interface
	caches  caches
	queue   workqueue.TypedRateLimitingInterface[item]
	cancel  context.CancelFunc
	running sync.WaitGroup

	// Only the worker uses these.
	pool     *role.Pool
	prefixes map[types.UID]netip.Prefix // of Prefixes that have a parent
	due      map[appointment]time.Time
	plane    planeState
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

// Start begins to play the components of IronCore with the API server of the configuration, which needs the rights of
// an administrator. It returns once all objects are known, and stops when the context ends or Stop is called.
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
		prefixes: map[types.UID]netip.Prefix{}, due: map[appointment]time.Time{},
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
	case "LoadBalancer":
		return l.reconcileBalancer(ctx, i)
	}
	return l.reconcilePrefix(ctx, i)
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
