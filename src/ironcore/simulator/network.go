package simulator

import (
	"net/netip"
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// network has what IPAM has allocated, and what the network provider has made of it.
type network struct {
	pool *role.Pool
	// routing has the load balancers whose routings are about to be written.
	routing map[key]bool
	// prefixes has the generated Prefixes of each load balancer that exists, by their names.
	prefixes map[types.UID]map[string]ipamv1alpha1.PrefixSpec
	// carried has what the network provider has carried out last of each load balancer that exists.
	carried map[types.UID]networkingv1alpha1.LoadBalancerSpec
}

func newNetwork() network {
	return network{pool: role.NewPool(), routing: map[key]bool{},
		prefixes: map[types.UID]map[string]ipamv1alpha1.PrefixSpec{},
		carried:  map[types.UID]networkingv1alpha1.LoadBalancerSpec{}}
}

// provisionBalancer lets the network provider do what a load balancer needs.
func (s *Simulator) provisionBalancer(lb *networkingv1alpha1.LoadBalancer) {
	key := keyOf(lb)
	switch {
	case lb.DeletionTimestamp != nil:
		if slices.Contains(lb.Finalizers, role.BalancerFinalizer) {
			s.in(s.options.Deletion, func() { s.releaseBalancer(key, lb.UID) })
		}
	case !slices.Contains(lb.Finalizers, role.BalancerFinalizer):
		changeLocked(s, "LoadBalancer", key, func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Finalizers = append(lb.Finalizers, role.BalancerFinalizer)
		})
	default:
		s.generatePrefixes(lb)
		s.carryOut(key, lb)
	}
}

// carryOut lets the network provider do what a load balancer asks for. It refuses another type than the first one for
// ever ("spec.type: Invalid value: "Internal": field is immutable"), and then does nothing else of the load balancer.
func (s *Simulator) carryOut(key key, lb *networkingv1alpha1.LoadBalancer) {
	if before, known := s.network.carried[lb.UID]; known && before.Type != lb.Spec.Type {
		return
	}
	s.network.carried[lb.UID] = lb.Spec
	if slices.Equal(lb.Status.IPs, s.balancerAddresses(lb)) {
		return
	}
	s.in(s.options.Provision, func() {
		changeLocked(s, "LoadBalancer", key, func(now *networkingv1alpha1.LoadBalancer) {
			if now.UID == lb.UID && now.Spec.Type == lb.Spec.Type {
				now.Status.IPs = s.balancerAddresses(now)
			}
		})
	})
}

// generatePrefixes lets IPAM generate a Prefix for each ephemeral address of a load balancer, and remove those that it
// does not ask for any more, whether or not the network uses them. One that exists never changes with its template.
func (s *Simulator) generatePrefixes(lb *networkingv1alpha1.LoadBalancer) {
	before, now := s.network.prefixes[lb.UID], map[string]ipamv1alpha1.PrefixSpec{}
	keep := map[string]bool{publicName(corev1.IPv4Protocol): true, publicName(corev1.IPv6Protocol): true}
	for name, template := range role.Templates(lb.Name, lb.Spec.IPs, nil) {
		spec, exists := before[name]
		if !exists {
			spec = template.Spec
		}
		now[name], keep[name] = spec, true
	}
	s.network.prefixes[lb.UID] = now
	s.network.pool.Release(lb.UID, keep)
}

// publicName is the name under which a load balancer has its public address.
func publicName(family corev1.IPFamily) string { return "public " + string(family) }

func (s *Simulator) releaseBalancer(key key, uid types.UID) {
	changeLocked(s, "LoadBalancer", key, func(lb *networkingv1alpha1.LoadBalancer) {
		if lb.UID == uid && lb.DeletionTimestamp != nil {
			lb.Finalizers = slices.DeleteFunc(lb.Finalizers, func(f string) bool { return f == role.BalancerFinalizer })
		}
	})
}

// balancerAddresses returns the addresses that a load balancer has when it is ready.
func (s *Simulator) balancerAddresses(lb *networkingv1alpha1.LoadBalancer) []commonv1alpha1.IP {
	public := func(family corev1.IPFamily) netip.Addr {
		of := role.Range{Use: role.Public, Family: family}
		return s.network.pool.Allocate(lb.UID, publicName(family), of, int(bits(family))).Addr()
	}
	allocated := func(name string, _ ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		return s.allocate(lb.UID, name, s.network.prefixes[lb.UID][name])
	}
	return role.BalancerAddresses(lb, public, allocated)
}

// allocate returns the address of a generated Prefix; false if its parent has another IP family or no such address, or
// does not exist, or if something else has the address.
func (s *Simulator) allocate(owner types.UID, name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
	of := role.Range{Use: role.Internal, Family: spec.IPFamily}
	switch {
	case spec.ParentRef == nil && spec.Prefix == nil:
		return netip.Prefix{}, false
	case spec.ParentRef == nil:
		return spec.Prefix.Prefix, true
	}
	parent := s.options.Prefixes[spec.ParentRef.Name]
	if parent.Addr().Is6() != (spec.IPFamily == corev1.IPv6Protocol) || !parent.IsValid() {
		return netip.Prefix{}, false
	}
	if spec.Prefix == nil {
		return s.network.pool.Allocate(owner, name, of, int(bits(spec.IPFamily))), true
	}
	return spec.Prefix.Prefix, parent.Contains(spec.Prefix.Addr()) &&
		s.network.pool.Take(owner, name, of, spec.Prefix.Prefix)
}

// provisionInterface lets the network provider route the prefixes of a network interface.
func (s *Simulator) provisionInterface(nic *networkingv1alpha1.NetworkInterface) {
	if nic.Status.State != networkingv1alpha1.NetworkInterfaceStateAvailable ||
		slices.Equal(nic.Status.Prefixes, s.interfacePrefixes(nic)) {
		return
	}
	s.in(s.options.Provision, func() {
		changeLocked(s, "NetworkInterface", keyOf(nic), func(nic *networkingv1alpha1.NetworkInterface) {
			nic.Status.Prefixes = s.interfacePrefixes(nic)
		})
	})
}

// interfacePrefixes returns the prefixes of a network interface. An ephemeral one is released when there is no other at
// its index.
func (s *Simulator) interfacePrefixes(nic *networkingv1alpha1.NetworkInterface) []commonv1alpha1.IPPrefix {
	used := map[string]bool{}
	prefixes := role.Prefixes(nic, func(name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		used[name] = true
		if spec.Prefix != nil {
			return spec.Prefix.Prefix, true
		}
		of := role.Range{Use: role.Network, Family: spec.IPFamily}
		return s.network.pool.Allocate(nic.UID, name, of, role.Length(spec, 24, 64)), true
	})
	s.network.pool.Release(nic.UID, used)
	return prefixes
}
