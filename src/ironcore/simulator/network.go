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

// network has what the network provider has allocated.
type network struct {
	pool *role.Pool
	// routing has the load balancers whose routings are about to be written.
	routing map[key]bool
}

func newNetwork() network { return network{pool: role.NewPool(), routing: map[key]bool{}} }

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
	case !slices.Equal(lb.Status.IPs, s.balancerAddresses(lb)):
		s.in(s.options.Provision, func() {
			changeLocked(s, "LoadBalancer", key, func(now *networkingv1alpha1.LoadBalancer) {
				if now.UID == lb.UID {
					now.Status.IPs = s.balancerAddresses(now)
				}
			})
		})
	}
}

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
		return s.network.pool.Allocate(lb.UID, "public "+string(family), of, int(bits(family))).Addr()
	}
	allocated := func(name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		if spec.Prefix != nil {
			return spec.Prefix.Prefix, true
		}
		of, length := role.Range{Use: role.Internal, Family: spec.IPFamily}, int(bits(spec.IPFamily))
		return s.network.pool.Allocate(lb.UID, name+" "+string(spec.IPFamily), of, length), true
	}
	return role.BalancerAddresses(lb, public, allocated)
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
