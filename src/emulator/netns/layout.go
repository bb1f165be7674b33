//go:build linux

package netns

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// uplink is the interface of a VPC's router toward the hub.
const uplink = "up"

// firstTable is the routing table of a VPC's first subnet.
const firstTable = 1000

// plan is what a VPC's router has to have in the kernel.
type plan struct {
	bridges   []string
	addresses []address
	routes    []route
	rules     []rule
}

// bridge is the name of the bridge of a subnet, by its number in the VPC.
func bridge(number int) string { return fmt.Sprintf("b%d", number) }

// planVPC plans the router of a VPC. Numbers are those of its subnets, clients
// are the networks outside of all VPCs, and hub finds the way there.
func planVPC(vpc traffic.VPC, numbers map[string]int, clients []netip.Prefix, hub func(v6 bool) netip.Addr) plan {
	var out plan
	var direct []route
	for _, subnet := range vpc.Subnets {
		link := bridge(numbers[subnet.Identity])
		out.bridges = append(out.bridges, link)
		for _, gateway := range subnet.Gateways() {
			out.addresses = append(out.addresses, address{link, host(gateway)})
		}
		for _, r := range subnet.Ranges {
			direct = append(direct, route{to: r, link: link})
		}
	}
	for _, client := range clients {
		direct = append(direct, route{to: client, via: hub(client.Addr().Is6()), link: uplink})
	}
	out.addTable(mainTable, vpc, direct, vpc.Routes, numbers)
	for _, subnet := range vpc.Subnets {
		number := numbers[subnet.Identity]
		table := firstTable + number
		out.addTable(table, vpc, direct, subnet.Routes, numbers)
		out.rules = append(out.rules, rule{link: bridge(number), table: table}, rule{link: bridge(number), table: table,
			v6: true})
	}
	for _, lb := range vpc.LoadBalancers {
		for _, addr := range lb.Addresses {
			// It is not on the bridge: machines send everything to the router.
			out.addresses = append(out.addresses, address{loopback, host(addr)})
			out.rules = append(out.rules, rule{from: addr, table: firstTable + numbers[lb.Subnet]})
		}
	}
	return out
}

// addTable adds a routing table: what is directly there, and the routes of a
// route table. Every table is complete, so that the longest prefix wins.
func (p *plan) addTable(table int, vpc traffic.VPC, direct []route, routes []traffic.Route, numbers map[string]int) {
	for _, r := range direct {
		r.table = table
		p.routes = append(p.routes, r)
	}
	for _, r := range routes {
		taken := slices.ContainsFunc(direct, func(d route) bool { return d.to == r.Destination })
		// A gateway outside of all subnets cannot be reached.
		if number, found := subnetOf(vpc, r.Gateway, numbers); found && !taken {
			p.routes = append(p.routes, route{table: table, to: r.Destination, via: r.Gateway, link: bridge(number)})
		}
	}
}

// subnetOf is the number of the subnet that an address is in.
func subnetOf(vpc traffic.VPC, addr netip.Addr, numbers map[string]int) (number int, found bool) {
	for _, subnet := range vpc.Subnets {
		for _, r := range subnet.Ranges {
			if r.Contains(addr) {
				return numbers[subnet.Identity], true
			}
		}
	}
	return 0, false
}

// planMachine plans what a machine has in its own namespace: its addresses as
// hosts, and the gateways of its subnet as the way to everybody else.
func planMachine(m traffic.Machine, subnet traffic.Subnet) (addresses []address, routes []route) {
	for _, addr := range m.Addresses {
		addresses = append(addresses, address{machineLink, host(addr)})
	}
	for _, gateway := range subnet.Gateways() {
		if slices.ContainsFunc(m.Addresses, func(addr netip.Addr) bool { return addr.Is4() == gateway.Is4() }) {
			all := netip.PrefixFrom(unspecified(gateway), 0)
			routes = append(routes, route{table: mainTable, to: all, via: gateway, link: machineLink})
		}
	}
	return addresses, routes
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// planHub plans the ways from outside into VPCs: to their ranges, and to load
// balancers elsewhere. Of VPCs with the same addresses, outside sees the first;
// hidden says which ranges of others it does not see.
func planHub(network traffic.Network, numbers map[string]int) (routes []route, hidden []string) {
	var seen []netip.Prefix
	for _, vpc := range network.VPCs {
		for _, r := range reachable(vpc) {
			if slices.ContainsFunc(seen, r.Overlaps) {
				hidden = append(hidden, fmt.Sprintf("%s of VPC %s", r, vpc.Identity))
				continue
			}
			number := numbers[vpc.Identity]
			routes = append(routes, route{table: mainTable, to: r, via: routerAddress(number, r.Addr().Is6()),
				link: downlink(number)})
			seen = append(seen, r)
		}
	}
	return routes, hidden
}

// reachable is what outside may reach of a VPC.
func reachable(vpc traffic.VPC) []netip.Prefix {
	out := slices.Clone(vpc.Ranges)
	for _, lb := range vpc.LoadBalancers {
		for _, addr := range lb.Addresses {
			if !slices.ContainsFunc(vpc.Ranges, func(r netip.Prefix) bool { return r.Contains(addr) }) {
				out = append(out, host(addr))
			}
		}
	}
	return out
}

// downlink is the hub's interface toward the router of a VPC, by its number.
func downlink(number int) string { return fmt.Sprintf("v%d", number) }

// hubAddress and routerAddress are the two ends of the link between the hub and
// the router of a VPC. Link-local addresses (RFC 3927, RFC 4291) are nobody
// else's.
func hubAddress(number int, v6 bool) netip.Addr    { return transit(number, v6, 1) }
func routerAddress(number int, v6 bool) netip.Addr { return transit(number, v6, 2) }

func transit(number int, v6 bool, end byte) netip.Addr {
	if v6 {
		return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 15: end})
	}
	return netip.AddrFrom4([4]byte{169, 254, byte(number >> 6), byte(number<<2) | end})
}
