package ironcorelab

import (
	"context"
	"net/netip"
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
		delete(l.types, lb.UID)
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
	if err := l.fixType(lb); err != nil {
		return err
	}
	if err := l.provisionBalancer(ctx, i, lb); err != nil {
		return err
	}
	return l.balance(ctx, i, lb)
}

// fixType refuses a load balancer whose type has changed, for as long as that is so, with the error of apinetlet: a
// load balancer of ironcore-net keeps the type, the addresses, the ports and the destinations that it had.
func (l *Lab) fixType(lb *networkingv1alpha1.LoadBalancer) error {
	made, known := l.types[lb.UID]
	if !known {
		l.types[lb.UID] = lb.Spec.Type
		return nil
	}
	if made == lb.Spec.Type {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: "core.apinet.ironcore.dev", Kind: "LoadBalancer"},
		string(lb.UID), field.ErrorList{field.Invalid(field.NewPath("spec", "type"), lb.Spec.Type,
			validation.FieldImmutableErrorMsg)})
}

// provisionBalancer is the network provider: it writes the addresses.
func (l *Lab) provisionBalancer(ctx context.Context, i item, lb *networkingv1alpha1.LoadBalancer) error {
	public := func(family corev1.IPFamily) netip.Addr {
		return l.address(lb.UID, Claim{Kind: "LoadBalancer", Namespace: lb.Namespace, Name: lb.Name, Family: family})
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

// address returns the address from outside of the network that an object has.
func (l *Lab) address(owner types.UID, claim Claim) netip.Addr {
	if l.options.Address != nil {
		if a := l.options.Address(claim); a.IsValid() {
			return a
		}
	}
	length := 32
	if claim.Family == corev1.IPv6Protocol {
		length = 128
	}
	of := role.Range{Use: role.Public, Family: claim.Family}
	return l.pool.Allocate(owner, string(claim.Family), of, length).Addr()
}
