//go:build linux

// Package ironcorenet is the network of IronCore in network namespaces, as the data plane of a lab: a machine is a
// namespace that has the addresses of its network interface, and a router sends what is for the prefixes of network
// interfaces to their machines. It passes packets for a load balancer on to the machines of the destinations,
// unchanged: those have to take packets for the address and the port of the load balancer, and their answers do not
// come through it.
//
//	wires, err := netns.New(netns.Options{OnMachine: func(e netns.Event) { ... }})
//	plane := ironcorenet.New(wires, ironcorenet.Options{Machines: ..., Reachable: ...})
//	lab, err := ironcorelab.Start(ctx, config, ironcorelab.Options{DataPlane: plane, ...})
//
// A network interface that belongs to no machine is not connected, and the ports that a load balancer does not have are
// closed. All Networks of the lab are one.
package ironcorenet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// network and subnet are the identities of the only ones.
const network, subnet = "network", "machines"

// Options say where the addresses are.
type Options struct {
	// Machines are the networks with the addresses of machines: one prefix, or one of each family. The first address of
	// each is that of the router.
	Machines []netip.Prefix
	// Reachable are the networks that clients reach: those of machines, and of load balancers.
	Reachable []netip.Prefix
}

// Plane is a data plane for a lab.
type Plane struct {
	wires    *netns.Plane
	options  Options
	attached map[types.UID]attached // by network interface
	balanced map[types.UID]*balanced
	routed   map[netip.Addr]bool // the addresses of load balancers that the router has a route for
	chains   string              // what the router filters
}

// attached is what a network interface connects.
type attached struct {
	machine traffic.Machine
	routes  []traffic.Route
}

// New makes a data plane of a network of namespaces, which nothing else may describe. Closing that ends this one.
func New(wires *netns.Plane, options Options) *Plane {
	return &Plane{wires: wires, options: options, attached: map[types.UID]attached{},
		balanced: map[types.UID]*balanced{}, routed: map[netip.Addr]bool{}}
}

// Wire makes the network of what is known. A lab calls it by Route; before, there is a router without machines.
func (p *Plane) Wire() error {
	vpc := traffic.VPC{Identity: network, Name: network, Ranges: p.options.Reachable,
		Subnets: []traffic.Subnet{{Identity: subnet, Ranges: p.options.Machines}}}
	for _, uid := range slices.Sorted(maps.Keys(p.attached)) {
		one := p.attached[uid]
		vpc.Machines = append(vpc.Machines, one.machine)
		vpc.Routes = append(vpc.Routes, one.routes...)
	}
	vpc.Subnets[0].Routes = vpc.Routes
	if err := p.wires.Wire(traffic.Network{VPCs: []traffic.VPC{vpc}}); err != nil {
		return fmt.Errorf("connecting the machines: %w", err)
	}
	return nil
}

// Route connects a machine with the addresses of its network interface, and routes the prefixes to it.
func (p *Plane) Route(_ context.Context, nic *networkingv1alpha1.NetworkInterface,
	machine *computev1alpha1.Machine) error {
	if machine == nil {
		delete(p.attached, nic.UID)
		return p.Wire()
	}
	one := attached{machine: traffic.Machine{Identity: string(machine.UID), Name: machine.Name, Subnet: subnet,
		Addresses: addresses(nic.Status.IPs), Running: machine.Status.State == computev1alpha1.MachineStateRunning}}
	for _, prefix := range nic.Status.Prefixes {
		if gateway, ok := sameFamily(one.machine.Addresses, prefix.Addr()); ok {
			one.routes = append(one.routes, traffic.Route{Destination: prefix.Prefix, Gateway: gateway})
		}
	}
	p.attached[nic.UID] = one
	return p.Wire()
}

func addresses(ips []commonv1alpha1.IP) (all []netip.Addr) {
	for _, ip := range ips {
		all = append(all, ip.Addr)
	}
	return all
}

func sameFamily(all []netip.Addr, as netip.Addr) (netip.Addr, bool) {
	at := slices.IndexFunc(all, func(one netip.Addr) bool { return one.Is4() == as.Is4() })
	if at < 0 {
		return netip.Addr{}, false
	}
	return all[at], true
}

// balanced is a load balancer.
type balanced struct {
	addresses, destinations []netip.Addr
	ports                   []networkingv1alpha1.LoadBalancerPort
}

// Balance passes packets for a load balancer on to its destinations. Connections may change their destination when the
// destinations change.
func (p *Plane) Balance(_ context.Context, lb *networkingv1alpha1.LoadBalancer,
	routing *networkingv1alpha1.LoadBalancerRouting) error {
	one := &balanced{addresses: addresses(lb.Status.IPs), ports: lb.Spec.Ports}
	if routing != nil {
		for _, destination := range routing.Destinations {
			one.destinations = append(one.destinations, destination.IP.Addr)
		}
	}
	p.balanced[lb.UID] = one
	return p.forward()
}

// Remove closes the addresses of a load balancer.
func (p *Plane) Remove(_ context.Context, lb *networkingv1alpha1.LoadBalancer) error {
	delete(p.balanced, lb.UID)
	return p.forward()
}

// forward makes the router pass on what is for load balancers: first the filter, so that no port is open too early.
func (p *Plane) forward() error {
	inside, found := p.wires.Router(network)
	if !found {
		return errors.New("passing packets for load balancers on: there is no router; call Wire first")
	}
	r, err := enter(inside)
	if err != nil {
		return err
	}
	defer r.close()
	if chains := p.filter(); chains != p.chains {
		if err := r.filter(chains); err != nil {
			return err
		}
		p.chains = chains
	}
	now := map[netip.Addr]bool{}
	for _, one := range p.balanced {
		for _, address := range one.addresses {
			now[address], p.routed[address] = true, true
			if err := r.spread(address, one.destinations); err != nil {
				return err
			}
		}
	}
	for address := range p.routed {
		if now[address] {
			continue
		}
		if err := r.forget(address); err != nil {
			return err
		}
		delete(p.routed, address)
	}
	return nil
}

// filter returns the chain that drops what is for the closed ports of load balancers.
func (p *Plane) filter() string {
	var rules strings.Builder
	for _, uid := range slices.Sorted(maps.Keys(p.balanced)) {
		for _, address := range p.balanced[uid].addresses {
			to := map[bool]string{true: "ip", false: "ip6"}[address.Is4()] + " daddr " + address.String()
			for _, port := range p.balanced[uid].ports {
				fmt.Fprintf(&rules, "\t\t%s %s accept\n", to, ports(port))
			}
			fmt.Fprintf(&rules, "\t\t%s drop\n", to)
		}
	}
	return "\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n" + rules.String() +
		"\t}\n"
}

// ports returns the expression for the ports of a load balancer, which are a range if the last one is given.
func ports(port networkingv1alpha1.LoadBalancerPort) string {
	protocol := "tcp"
	if port.Protocol != nil {
		protocol = strings.ToLower(string(*port.Protocol))
	}
	last := port.Port
	if port.EndPort != nil {
		last = *port.EndPort
	}
	return fmt.Sprintf("%s dport %d-%d", protocol, port.Port, last)
}
