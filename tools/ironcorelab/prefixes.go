package ironcorelab

import (
	"context"
	"net/netip"
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// prefixFinalizer is that of IronCore's address management.
const prefixFinalizer = "ipam.ironcore.dev/prefix"

// generatePrefixes creates the Prefixes of a load balancer or network interface that are ephemeral, once.
func (l *Lab) generatePrefixes(ctx context.Context, owner metav1.Object, kind string,
	addresses []networkingv1alpha1.IPSource, prefixes []networkingv1alpha1.PrefixSource) error {
	for name, template := range role.Templates(owner.GetName(), addresses, prefixes) {
		if _, err := l.caches.prefixes.Prefixes(owner.GetNamespace()).Get(name); err == nil {
			continue
		}
		prefix := &ipamv1alpha1.Prefix{ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(owner, networkingv1alpha1.SchemeGroupVersion.WithKind(kind)),
			},
		}, Spec: *template.Spec.DeepCopy()}
		metav1.SetMetaDataAnnotation(&prefix.ObjectMeta, commonv1alpha1.EphemeralManagedByAnnotation,
			commonv1alpha1.DefaultEphemeralManager)
		_, err := l.client.IpamV1alpha1().Prefixes(prefix.Namespace).Create(ctx, prefix, metav1.CreateOptions{})
		if err := created("generating the Prefix "+name, err); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) reconcilePrefix(ctx context.Context, i item) error {
	cached, err := l.caches.prefixes.Prefixes(i.namespace).Get(i.name)
	if err != nil {
		return l.gone(i, err)
	}
	prefix := cached.DeepCopy()
	held := slices.Contains(prefix.Finalizers, prefixFinalizer)
	prefixes := l.client.IpamV1alpha1().Prefixes(i.namespace)
	switch {
	case prefix.DeletionTimestamp != nil && !held:
		delete(l.prefixes, prefix.UID)
		return nil
	case prefix.DeletionTimestamp != nil:
		prefix.Finalizers = without(prefix.Finalizers, prefixFinalizer)
	case prefix.Status.Phase == ipamv1alpha1.PrefixPhaseAllocated:
		return nil
	case held && prefix.Spec.Prefix != nil:
		prefix.Status.Phase = ipamv1alpha1.PrefixPhaseAllocated
		_, err := prefixes.UpdateStatus(ctx, prefix, metav1.UpdateOptions{})
		return written("writing the status of the Prefix", err)
	default:
		if !l.allocate(prefix) {
			return nil // until the parent is allocated
		}
		if !held {
			prefix.Finalizers = append(prefix.Finalizers, prefixFinalizer)
		}
	}
	_, err = prefixes.Update(ctx, prefix, metav1.UpdateOptions{})
	return written("allocating the Prefix", err)
}

// allocate chooses the value of a Prefix. It returns false if the parent has none yet, or is full.
func (l *Lab) allocate(prefix *ipamv1alpha1.Prefix) bool {
	if prefix.Spec.Prefix != nil {
		return true
	}
	within, ok := netip.Prefix{}, true
	if prefix.Spec.ParentRef != nil {
		within, ok = l.parent(prefix.Namespace, prefix.Spec.ParentRef.Name)
	}
	if !ok {
		return false
	}
	value, ok := l.choose(prefix, within)
	if ok {
		prefix.Spec.Prefix = &commonv1alpha1.IPPrefix{Prefix: value}
	}
	return ok
}

// choose returns a value within the parent, if there is one.
func (l *Lab) choose(prefix *ipamv1alpha1.Prefix, within netip.Prefix) (netip.Prefix, bool) {
	single := 32
	if prefix.Spec.IPFamily == corev1.IPv6Protocol {
		single = 128
	}
	length := role.Length(prefix.Spec, 32, 128)
	if length != single && !within.IsValid() {
		of := role.Range{Use: role.Network, Family: prefix.Spec.IPFamily}
		return l.pool.Allocate(prefix.UID, prefix.Name, of, length), true
	}
	if length == single {
		if a := l.chosen(claimOf(prefix)); a.IsValid() {
			return netip.PrefixFrom(a, single), true
		}
	}
	if within.IsValid() {
		return l.within(prefix.UID, within, length)
	}
	of := role.Range{Use: role.Internal, Family: prefix.Spec.IPFamily}
	return l.pool.Allocate(prefix.UID, prefix.Name, of, single), true
}

// claimOf returns what the owner of a generated Prefix needs.
func claimOf(prefix *ipamv1alpha1.Prefix) Claim {
	claim := Claim{Kind: "Prefix", Namespace: prefix.Namespace, Name: prefix.Name, Family: prefix.Spec.IPFamily}
	if owner := metav1.GetControllerOfNoCopy(prefix); owner != nil {
		claim.Kind, claim.Name = owner.Kind, owner.Name
	}
	return claim
}

// parent returns the value of the Prefix with a name.
func (l *Lab) parent(namespace, name string) (netip.Prefix, bool) {
	parent, err := l.caches.prefixes.Prefixes(namespace).Get(name)
	if err != nil || parent.Spec.Prefix == nil || parent.Status.Phase != ipamv1alpha1.PrefixPhaseAllocated {
		return netip.Prefix{}, false
	}
	return parent.Spec.Prefix.Prefix, true
}

// within returns the first free prefix with a length, after the first address of the parent.
func (l *Lab) within(owner types.UID, parent netip.Prefix, length int) (netip.Prefix, bool) {
	if p, ok := l.prefixes[owner]; ok {
		return p, true
	}
	taken := func(p netip.Prefix) bool {
		for _, other := range l.prefixes {
			if other.Overlaps(p) {
				return true
			}
		}
		return false
	}
	for a := parent.Masked().Addr().Next(); parent.Contains(a); a = a.Next() {
		p := netip.PrefixFrom(a, length)
		if p.Masked() == p && !taken(p) {
			l.prefixes[owner] = p
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// address returns the address that an object has under a name.
func (l *Lab) address(owner types.UID, name string, claim Claim) netip.Addr {
	use, length := role.Internal, 32
	if claim.Public {
		use = role.Public
	}
	if claim.Family == corev1.IPv6Protocol {
		length = 128
	}
	if a := l.chosen(claim); a.IsValid() {
		return a
	}
	return l.pool.Allocate(owner, name, role.Range{Use: use, Family: claim.Family}, length).Addr()
}

// chosen returns the address that the options choose.
func (l *Lab) chosen(claim Claim) netip.Addr {
	if l.options.Address == nil {
		return netip.Addr{}
	}
	return l.options.Address(claim)
}
