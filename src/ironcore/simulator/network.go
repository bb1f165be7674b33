package simulator

import (
	"net/netip"
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// network has what IPAM has allocated, and what the network provider has made of it.
type network struct {
	options Options
	pool    *role.Pool
	// routing has the load balancers whose routings are about to be written.
	routing map[types.NamespacedName]bool
	// prefixes has the generated Prefixes of each load balancer that exists, by their names.
	prefixes map[types.UID]map[string]ipamv1alpha1.PrefixSpec
	// carried has what the network provider has carried out last of each load balancer that exists.
	carried map[types.UID]networkingv1alpha1.LoadBalancerSpec
}

func newNetwork(options Options) *network {
	return &network{options: options, pool: role.NewPool(), routing: map[types.NamespacedName]bool{},
		prefixes: map[types.UID]map[string]ipamv1alpha1.PrefixSpec{},
		carried:  map[types.UID]networkingv1alpha1.LoadBalancerSpec{}}
}

// provisionBalancer lets the network provider do what a load balancer needs.
func (n *network) provisionBalancer(objects apiserver.State, lb *networkingv1alpha1.LoadBalancer) {
	name := apiserver.NameOf(lb)
	switch {
	case lb.DeletionTimestamp != nil:
		if slices.Contains(lb.Finalizers, role.BalancerFinalizer) {
			objects.In(n.options.Deletion, func(o apiserver.State) { releaseBalancer(o, name, lb.UID) })
		}
	case !slices.Contains(lb.Finalizers, role.BalancerFinalizer):
		apiserver.Change(objects, name, func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Finalizers = append(lb.Finalizers, role.BalancerFinalizer)
		})
	default:
		n.generatePrefixes(lb)
		n.carryOut(objects, name, lb)
	}
}

// carryOut lets the network provider do what a load balancer asks for. It refuses another type than the first one for
// ever ("spec.type: Invalid value: "Internal": field is immutable"), and then does nothing else of the load balancer.
func (n *network) carryOut(objects apiserver.State, name types.NamespacedName, lb *networkingv1alpha1.LoadBalancer) {
	if before, known := n.carried[lb.UID]; known && before.Type != lb.Spec.Type {
		return
	}
	n.carried[lb.UID] = lb.Spec
	if slices.Equal(lb.Status.IPs, n.balancerAddresses(lb)) {
		return
	}
	objects.In(n.options.Provision, func(objects apiserver.State) {
		apiserver.Change(objects, name, func(now *networkingv1alpha1.LoadBalancer) {
			if now.UID == lb.UID && now.Spec.Type == lb.Spec.Type {
				now.Status.IPs = n.balancerAddresses(now)
			}
		})
	})
}

// generatePrefixes lets IPAM generate a Prefix for each ephemeral address of a load balancer, and remove those that it
// does not ask for any more, whether or not the network uses them. One that exists never changes with its template.
func (n *network) generatePrefixes(lb *networkingv1alpha1.LoadBalancer) {
	before, now := n.prefixes[lb.UID], map[string]ipamv1alpha1.PrefixSpec{}
	keep := map[string]bool{publicName(corev1.IPv4Protocol): true, publicName(corev1.IPv6Protocol): true}
	for name, template := range role.Templates(lb.Name, lb.Spec.IPs, nil) {
		spec, exists := before[name]
		if !exists {
			spec = template.Spec
		}
		now[name], keep[name] = spec, true
	}
	n.prefixes[lb.UID] = now
	n.pool.Release(lb.UID, keep)
}

// publicName is the name under which a load balancer has its public address.
func publicName(family corev1.IPFamily) string { return "public " + string(family) }

func releaseBalancer(objects apiserver.State, name types.NamespacedName, uid types.UID) {
	apiserver.Change(objects, name, func(lb *networkingv1alpha1.LoadBalancer) {
		if lb.UID == uid && lb.DeletionTimestamp != nil {
			lb.Finalizers = slices.DeleteFunc(lb.Finalizers, func(f string) bool { return f == role.BalancerFinalizer })
		}
	})
}

// balancerAddresses returns the addresses that a load balancer has when it is ready.
func (n *network) balancerAddresses(lb *networkingv1alpha1.LoadBalancer) []commonv1alpha1.IP {
	public := func(family corev1.IPFamily) netip.Addr {
		of := role.Range{Use: role.Public, Family: family}
		return n.pool.Allocate(lb.UID, publicName(family), of, int(bits(family))).Addr()
	}
	allocated := func(name string, _ ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		return n.allocate(lb.UID, name, n.prefixes[lb.UID][name])
	}
	return role.BalancerAddresses(lb, public, allocated)
}

// allocate returns the address of a generated Prefix; false if its parent has another IP family or no such address, or
// does not exist, or if something else has the address.
func (n *network) allocate(owner types.UID, name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
	of := role.Range{Use: role.Internal, Family: spec.IPFamily}
	switch {
	case spec.ParentRef == nil && spec.Prefix == nil:
		return netip.Prefix{}, false
	case spec.ParentRef == nil:
		return spec.Prefix.Prefix, true
	}
	parent := n.options.Prefixes[spec.ParentRef.Name]
	if parent.Addr().Is6() != (spec.IPFamily == corev1.IPv6Protocol) || !parent.IsValid() {
		return netip.Prefix{}, false
	}
	if spec.Prefix == nil {
		return n.pool.Allocate(owner, name, of, int(bits(spec.IPFamily))), true
	}
	return spec.Prefix.Prefix, parent.Contains(spec.Prefix.Addr()) &&
		n.pool.Take(owner, name, of, spec.Prefix.Prefix)
}

// provisionInterface lets the network provider route the prefixes of a network interface.
func (n *network) provisionInterface(objects apiserver.State, nic *networkingv1alpha1.NetworkInterface) {
	if nic.Status.State != networkingv1alpha1.NetworkInterfaceStateAvailable ||
		slices.Equal(nic.Status.Prefixes, n.interfacePrefixes(nic)) {
		return
	}
	objects.In(n.options.Provision, func(objects apiserver.State) {
		apiserver.Change(objects, apiserver.NameOf(nic), func(nic *networkingv1alpha1.NetworkInterface) {
			nic.Status.Prefixes = n.interfacePrefixes(nic)
		})
	})
}

// interfacePrefixes returns the prefixes of a network interface. An ephemeral one is released when there is no other at
// its index.
func (n *network) interfacePrefixes(nic *networkingv1alpha1.NetworkInterface) []commonv1alpha1.IPPrefix {
	used := map[string]bool{}
	prefixes := role.Prefixes(nic, func(name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		used[name] = true
		if spec.Prefix != nil {
			return spec.Prefix.Prefix, true
		}
		of := role.Range{Use: role.Network, Family: spec.IPFamily}
		return n.pool.Allocate(nic.UID, name, of, role.Length(spec, 24, 64)), true
	})
	n.pool.Release(nic.UID, used)
	return prefixes
}
