package ironcorelab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

func (l *Lab) reconcileBalancer(ctx context.Context, i item) error {
	cached, err := l.caches.balancers.LoadBalancers(i.namespace).Get(i.name)
	if err != nil {
		if err := l.forgetBalancer(ctx, i); err != nil {
			return err
		}
		return l.gone(i, err)
	}
	lb := cached.DeepCopy()
	held := slices.Contains(lb.Finalizers, role.BalancerFinalizer)
	balancers := l.client.NetworkingV1alpha1().LoadBalancers(i.namespace)
	switch {
	case lb.DeletionTimestamp != nil:
		if !held || !l.passed(i, "end", l.options.Deletion) {
			return nil
		}
		lb.Finalizers = without(lb.Finalizers, role.BalancerFinalizer)
		_, err := balancers.Update(ctx, lb, metav1.UpdateOptions{})
		return written("removing the finalizer of the load balancer", err)
	case !held:
		lb.Finalizers = append(lb.Finalizers, role.BalancerFinalizer)
		_, err := balancers.Update(ctx, lb, metav1.UpdateOptions{})
		return written("adding the finalizer of the load balancer", err)
	}
	return l.serveBalancer(ctx, i, lb)
}

// serveBalancer does what a load balancer needs that stays.
func (l *Lab) serveBalancer(ctx context.Context, i item, lb *networkingv1alpha1.LoadBalancer) error {
	if err := l.generatePrefixes(ctx, lb, "LoadBalancer", lb.Spec.IPs, nil); err != nil {
		return err
	}
	if err := l.route(ctx, i, lb); err != nil {
		return err
	}
	if err := l.provisionBalancer(ctx, i, lb); err != nil {
		return err
	}
	return l.balance(ctx, i, lb)
}

// provisionBalancer is the network provider: it writes the addresses.
func (l *Lab) provisionBalancer(ctx context.Context, i item, lb *networkingv1alpha1.LoadBalancer) error {
	public := func(family corev1.IPFamily) netip.Addr {
		return l.address(lb.UID, "public "+string(family), Claim{Kind: "LoadBalancer", Namespace: lb.Namespace,
			Name: lb.Name, Family: family, Public: true})
	}
	addresses := role.BalancerAddresses(lb, public, l.allocatedFor(lb))
	if slices.Equal(addresses, lb.Status.IPs) {
		l.settled(i, "provision")
		return nil
	}
	if !l.passed(i, "provision", l.options.Provision) {
		return nil
	}
	lb.Status.IPs = addresses
	_, err := l.client.NetworkingV1alpha1().LoadBalancers(i.namespace).UpdateStatus(ctx, lb, metav1.UpdateOptions{})
	if err == nil {
		l.settled(i, "provision")
	}
	return written("writing the addresses of the load balancer", err)
}

// route is the controller of load balancers: it writes the routing of one with a selector.
func (l *Lab) route(ctx context.Context, i item, lb *networkingv1alpha1.LoadBalancer) error {
	network, err := l.caches.networks.Networks(i.namespace).Get(lb.Spec.NetworkRef.Name)
	if err != nil || lb.Spec.NetworkInterfaceSelector == nil {
		return nil //nolint:nilerr // it waits for the Network
	}
	nics, _ := l.caches.interfaces.NetworkInterfaces(i.namespace).List(labels.Everything())
	routing := role.Routing(lb, network, nics)
	now, err := l.caches.routings.LoadBalancerRoutings(i.namespace).Get(i.name)
	if err == nil && now.NetworkRef == routing.NetworkRef && metav1.IsControlledBy(now, lb) &&
		same(now.Destinations, routing.Destinations) {
		l.settled(i, "routing")
		return nil
	}
	if !l.passed(i, "routing", l.options.Routing) {
		return nil
	}
	body, err := json.Marshal(routing)
	if err != nil {
		return fmt.Errorf("encoding the routing of the load balancer: %w", err)
	}
	force := true
	_, err = l.client.NetworkingV1alpha1().LoadBalancerRoutings(i.namespace).Patch(ctx, i.name, types.ApplyPatchType,
		body, metav1.PatchOptions{FieldManager: role.RoutingManager, Force: &force})
	if err == nil {
		l.settled(i, "routing")
	}
	return written("applying the routing of the load balancer", err)
}
