package ironcore

import (
	"context"
	"errors"
	"fmt"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// loadBalancers implements cloud.LoadBalancers.
type loadBalancers struct {
	config balancer.Config
	store  *store.Store
}

// Identify returns the name of the machine of a Node, unless the machine has the label of another cluster. A Node is
// ours until it has the provider ID of another cloud.
func (l *loadBalancers) Identify(node *corev1.Node) (identity string, ours bool) {
	machine, _, err := l.store.MachineOf(node)
	if err != nil {
		return "", node.Spec.ProviderID == "" || providerid.Owned(node.Spec.ProviderID)
	}
	return machine, true
}

// NodeSelector implements cloud.LoadBalancers. A Service cannot choose its Nodes.
func (l *loadBalancers) NodeSelector(*corev1.Service) (labels.Selector, error) { return nil, nil }

// Diff implements cloud.LoadBalancers.
func (l *loadBalancers) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets, _ bool) (cloud.Comparison, error) {
	if err := l.store.WaitForSync(ctx, l.store.LoadBalancers, l.store.LoadBalancerRoutings, l.store.Networks,
		l.store.Machines, l.store.NetworkInterfaces); err != nil {
		return cloud.Comparison{}, err
	}
	return balancer.Compare(l.config, balancer.Request{Service: service, Targets: targets,
		Observed: l.observe(service, targets)})
}

// observe returns what the store has of a Service and its targets.
func (l *loadBalancers) observe(service *corev1.Service, targets cloud.Targets) balancer.Observed {
	observed := balancer.Observed{
		Routings:   map[string]*networkingv1alpha1.LoadBalancerRouting{},
		Interfaces: map[string][]*networkingv1alpha1.NetworkInterface{}, MachineOf: map[string]string{},
	}
	observed.Network, _ = l.store.Networks.Get(l.config.Network)
	observed.Selecting = !l.config.Selector && l.store.Selecting()
	for _, name := range balancer.Names(l.config, service) {
		if one, exists := l.store.LoadBalancers.Get(name); exists {
			observed.LoadBalancers = append(observed.LoadBalancers, one)
		}
		if routing, exists := l.store.LoadBalancerRoutings.Get(name); exists {
			observed.Routings[name] = routing
			l.addMachines(observed.MachineOf, routing)
		}
	}
	for _, name := range cloud.MachinesOf(targets.Serving, targets.Joining) {
		machine, exists := l.store.Machines.Get(name)
		if !exists || l.store.CheckCluster(machine) != nil {
			continue
		}
		// Interfaces that are not known may appear: the watch reports them then.
		observed.Interfaces[name], _ = l.store.InterfacesOf(machine)
	}
	return observed
}

// addMachines adds the machines of the destinations.
func (l *loadBalancers) addMachines(machineOf map[string]string, routing *networkingv1alpha1.LoadBalancerRouting) {
	for _, destination := range routing.Destinations {
		if destination.TargetRef == nil {
			continue
		}
		if machine := l.store.MachineWith(destination.TargetRef.Name); machine != "" {
			machineOf[destination.TargetRef.Name] = machine
		}
	}
}

// PlanDelete implements cloud.LoadBalancers. The store has the answers to the writes of this process. If it has nothing
// and does not know that the load balancer was deleted, the API server is asked: the finalizer of the Service is
// removed if there is none.
func (l *loadBalancers) PlanDelete(ctx context.Context, service *corev1.Service, _ bool) (cloud.Comparison, error) {
	if err := l.store.WaitForSync(ctx, l.store.LoadBalancers, l.store.LoadBalancerRoutings); err != nil {
		return cloud.Comparison{}, err
	}
	found := balancer.PlanDelete(l.config, service, l.observe(service, cloud.Targets{}))
	name := label.LoadBalancerName(service)
	if found.Exists || l.store.LoadBalancers.Gone(name) && l.store.LoadBalancerRoutings.Gone(name) {
		return found, nil
	}
	observed, err := l.read(ctx, service)
	if err != nil {
		return cloud.Comparison{}, err
	}
	return balancer.PlanDelete(l.config, service, observed), nil
}

// read reads the load balancers of a Service and their routings from the API server.
func (l *loadBalancers) read(ctx context.Context, service *corev1.Service) (balancer.Observed, error) {
	observed := balancer.Observed{Routings: map[string]*networkingv1alpha1.LoadBalancerRouting{}}
	for _, name := range balancer.Names(l.config, service) {
		one, err := l.store.Client.LoadBalancers.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			observed.LoadBalancers = append(observed.LoadBalancers, one)
		case !apierrors.IsNotFound(err):
			return observed, fmt.Errorf("reading LoadBalancer %s/%s: %w", l.config.Namespace, name, err)
		}
		routing, err := l.store.Client.LoadBalancerRoutings.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			observed.Routings[name] = routing
		case !apierrors.IsNotFound(err):
			return observed, fmt.Errorf("reading LoadBalancerRouting %s/%s: %w", l.config.Namespace, name, err)
		}
	}
	return observed, nil
}

// Refresh implements cloud.LoadBalancers. The watches report everything.
func (l *loadBalancers) Refresh(context.Context) error { return nil }

// ClassifyError implements cloud.LoadBalancers.
func (l *loadBalancers) ClassifyError(err error) (transient bool, after time.Duration) {
	if seconds, delayed := apierrors.SuggestsClientDelay(err); delayed {
		after = time.Duration(seconds) * time.Second
	}
	transient = errors.Is(err, store.ErrNotSynced) || errors.Is(err, cloud.ErrStale) || after > 0 ||
		apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
	return transient, after
}
