package simulator

import (
	"fmt"
	"net/netip"
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// balancerFinalizer is that of the network provider.
const balancerFinalizer = "apinet.ironcore.dev/loadbalancer"

// network has what the network provider has allocated.
type network struct {
	// addresses has the addresses and prefixes of each object, by their purpose.
	addresses map[types.UID]map[string]netip.Prefix
	// next is the address from which the next one of a purpose is allocated.
	next map[string]netip.Addr
	// routing has the load balancers whose routings are about to be written.
	routing map[key]bool
}

func newNetwork() network {
	next := map[string]netip.Addr{}
	for purpose, first := range map[string]string{
		"Public IPv4": "192.0.2.1", "Public IPv6": "2001:db8::1",
		"Internal IPv4": "10.250.0.1", "Internal IPv6": "fd00:250::1",
		"Prefix IPv4": "10.128.0.0", "Prefix IPv6": "fd00:128::",
	} {
		next[purpose], _ = netip.ParseAddr(first)
	}
	return network{addresses: map[types.UID]map[string]netip.Prefix{}, next: next, routing: map[key]bool{}}
}

// allocate returns the prefix that an object has under a name, which is one of the pool's next addresses at first.
func (n *network) allocate(owner types.UID, name, pool string, length int) netip.Prefix {
	if n.addresses[owner] == nil {
		n.addresses[owner] = map[string]netip.Prefix{}
	}
	if p, ok := n.addresses[owner][name]; ok {
		return p
	}
	p := netip.PrefixFrom(n.next[pool], length)
	if p.Masked() != p { // the address is within an allocated prefix of this length
		p = netip.PrefixFrom(last(p.Masked()).Next(), length)
	}
	n.next[pool] = last(p).Next()
	if n.next[pool] == netip.AddrFrom4([4]byte{192, 0, 2, 255}) {
		n.next[pool] = netip.AddrFrom4([4]byte{198, 18, 0, 1}) // more addresses that are for tests
	}
	n.addresses[owner][name] = p
	return p
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}

// provisionBalancer lets the network provider do what a load balancer needs.
func (s *Simulator) provisionBalancer(lb *networkingv1alpha1.LoadBalancer) {
	key := keyOf(lb)
	switch {
	case lb.DeletionTimestamp != nil:
		if slices.Contains(lb.Finalizers, balancerFinalizer) {
			s.in(s.options.Deletion, func() { s.releaseBalancer(key, lb.UID) })
		}
	case !slices.Contains(lb.Finalizers, balancerFinalizer):
		changeLocked(s, "LoadBalancer", key, func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Finalizers = append(lb.Finalizers, balancerFinalizer)
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
			lb.Finalizers = slices.DeleteFunc(lb.Finalizers, func(f string) bool { return f == balancerFinalizer })
		}
	})
}

// balancerAddresses returns the addresses that a load balancer has when it is ready: one per IP family if it is public,
// and otherwise one per entry.
func (s *Simulator) balancerAddresses(lb *networkingv1alpha1.LoadBalancer) []commonv1alpha1.IP {
	var ips []commonv1alpha1.IP
	if lb.Spec.Type == networkingv1alpha1.LoadBalancerTypePublic {
		for _, family := range lb.Spec.IPFamilies {
			pool := "Public " + string(family)
			p := s.network.allocate(lb.UID, pool, pool, int(bits(family)))
			ips = append(ips, commonv1alpha1.NewIP(p.Addr()))
		}
		return ips
	}
	for i, source := range lb.Spec.IPs {
		ips = append(ips, s.sourceAddress(lb, i, source))
	}
	return ips
}

func (s *Simulator) sourceAddress(
	lb *networkingv1alpha1.LoadBalancer, index int, source networkingv1alpha1.IPSource,
) commonv1alpha1.IP {
	if source.Value != nil {
		return *source.Value
	}
	family := familyOf(source)
	if p := source.Ephemeral.PrefixTemplate.Spec.Prefix; p != nil {
		return commonv1alpha1.NewIP(p.Addr())
	}
	name, pool := fmt.Sprintf("%s-%d %s", lb.Name, index, family), "Internal "+string(family)
	return commonv1alpha1.NewIP(s.network.allocate(lb.UID, name, pool, int(bits(family))).Addr())
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

// interfacePrefixes returns the prefixes of a network interface. An ephemeral one belongs to its index, and is released
// when there is no ephemeral entry at this index.
func (s *Simulator) interfacePrefixes(nic *networkingv1alpha1.NetworkInterface) []commonv1alpha1.IPPrefix {
	var prefixes []commonv1alpha1.IPPrefix
	used := map[string]bool{}
	for i, source := range nic.Spec.Prefixes {
		if source.Value != nil {
			prefixes = append(prefixes, *source.Value)
			continue
		}
		name := fmt.Sprintf("%s-pf-%d", nic.Name, i)
		used[name] = true
		spec := source.Ephemeral.PrefixTemplate.Spec
		if spec.Prefix != nil {
			prefixes = append(prefixes, *spec.Prefix)
			continue
		}
		length := prefixLength(spec.IPFamily, spec.PrefixLength)
		p := s.network.allocate(nic.UID, name, "Prefix "+string(spec.IPFamily), length)
		prefixes = append(prefixes, commonv1alpha1.IPPrefix{Prefix: p})
	}
	for name := range s.network.addresses[nic.UID] {
		if !used[name] {
			delete(s.network.addresses[nic.UID], name)
		}
	}
	return prefixes
}

func prefixLength(family corev1.IPFamily, length int32) int {
	switch {
	case length != 0:
		return int(length)
	case family == corev1.IPv6Protocol:
		return 64
	}
	return 24
}
