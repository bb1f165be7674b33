package ironcorelab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// DataPlane sends traffic. One call is made at a time. After an error, the call is repeated with what is current then.
type DataPlane interface {
	// Balance sends the traffic for a load balancer: its object has the ports and addresses, and the routing the
	// destinations. It is called after each change of these; the routing is nil if there is none. Objects without
	// addresses are not reported.
	Balance(ctx context.Context, lb *networkingv1alpha1.LoadBalancer,
		routing *networkingv1alpha1.LoadBalancerRouting) error
	// Remove ends the traffic for a load balancer that Balance was called with last.
	Remove(ctx context.Context, lb *networkingv1alpha1.LoadBalancer) error
	// Route sends the traffic for the addresses and prefixes in the status of a network interface to the machine, which
	// is nil if the interface is deleted or belongs to none: then nothing is routed to it. It is called after each
	// change of these, and of the state of the machine.
	Route(ctx context.Context, nic *networkingv1alpha1.NetworkInterface, machine *computev1alpha1.Machine) error
}

// planeState is what was last passed to the data plane.
type planeState struct {
	balancers  map[item]balancerState
	interfaces map[item]interfaceState
}

type balancerState struct {
	lb       *networkingv1alpha1.LoadBalancer
	reported string
}

type interfaceState struct {
	nic      *networkingv1alpha1.NetworkInterface
	reported string
}

// balance passes a changed load balancer to the data plane.
func (l *Lab) balance(ctx context.Context, i item, lb *networkingv1alpha1.LoadBalancer) error {
	if l.options.DataPlane == nil || len(lb.Status.IPs) == 0 {
		return nil
	}
	routing, err := l.caches.routings.LoadBalancerRoutings(i.namespace).Get(i.name)
	if err != nil {
		routing = nil
	}
	now, err := json.Marshal([]any{lb.UID, lb.Spec.Ports, lb.Status.IPs, routing})
	if err != nil {
		return fmt.Errorf("encoding the load balancer: %w", err)
	}
	if l.plane.balancers[i].reported == string(now) {
		return nil
	}
	if err := l.options.DataPlane.Balance(ctx, lb, routing); err != nil {
		return fmt.Errorf("sending the traffic of the load balancer: %w", err)
	}
	l.plane.balancers[i] = balancerState{lb, string(now)}
	return nil
}

// forgetBalancer removes a load balancer from the data plane.
func (l *Lab) forgetBalancer(ctx context.Context, i item) error {
	last, known := l.plane.balancers[i]
	if !known {
		return nil
	}
	if err := l.options.DataPlane.Remove(ctx, last.lb); err != nil {
		return fmt.Errorf("ending the traffic of the load balancer: %w", err)
	}
	delete(l.plane.balancers, i)
	return nil
}

// routeInterface passes a changed network interface to the data plane.
func (l *Lab) routeInterface(ctx context.Context, i item, nic *networkingv1alpha1.NetworkInterface) error {
	if _, known := l.plane.interfaces[i]; l.options.DataPlane == nil || !known && len(nic.Status.IPs) == 0 {
		return nil
	}
	machine := l.machineOf(nic)
	var state any
	if machine != nil {
		state = []any{machine.UID, machine.Status.State}
	}
	now, err := json.Marshal([]any{nic.UID, nic.Status, state})
	if err != nil {
		return fmt.Errorf("encoding the network interface: %w", err)
	}
	if l.plane.interfaces[i].reported == string(now) {
		return nil
	}
	if err := l.options.DataPlane.Route(ctx, nic, machine); err != nil {
		return fmt.Errorf("sending the traffic of the network interface: %w", err)
	}
	l.plane.interfaces[i] = interfaceState{nic, string(now)}
	return nil
}

// forgetInterface removes a network interface from the data plane.
func (l *Lab) forgetInterface(ctx context.Context, i item) error {
	last, known := l.plane.interfaces[i]
	if !known {
		return nil
	}
	if err := l.options.DataPlane.Route(ctx, last.nic, nil); err != nil {
		return fmt.Errorf("ending the traffic of the network interface: %w", err)
	}
	delete(l.plane.interfaces, i)
	return nil
}

// gone ends what was due for an object that does not exist.
func (l *Lab) gone(i item, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	for a := range l.due {
		if a.item == i {
			delete(l.due, a)
		}
	}
	return nil
}

// written returns the error of a write. An object that is gone, or that was changed meanwhile, is no error: its change
// is reported.
func written(what string, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// created returns the error of a creation. That the object exists is none.
func created(what string, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return written(what, err)
}

// same compares values as the API server reads them.
func same(a, b any) bool {
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && string(one) == string(other)
}

// report reports an error, unless the lab stops.
func (l *Lab) report(ctx context.Context, err error) {
	if l.options.Report != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		l.options.Report(err)
	}
}
