package emulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Fabric is a DataPlane that also has machines, subnets, routes and security
// groups. The emulator calls Wire, Serve and Remove one at a time.
type Fabric interface {
	DataPlane
	// Wire makes the network as described. It is told the whole network after
	// every write and has to find out itself what is different. A load balancer
	// is in the network before Serve is told about it. After an error, what is
	// not yet as described is tried again with the next call.
	Wire(network traffic.Network) error
}

// NetworkState summarises the network of a data plane that has machines.
type NetworkState struct {
	// Problem says why the network is not as the API says; empty when it is.
	Problem string `json:"problem,omitempty"`
}

// wire tells the data plane about the network. What it cannot do is logged and
// kept for State.
func (e *Emulator) wire(now time.Time) error {
	fabric, wired := e.plane.(Fabric)
	if !wired {
		return nil
	}
	e.store.mu.Lock()
	network, next := e.store.network(now)
	e.store.mu.Unlock()
	e.stopTimer(nextBoot)
	if !next.IsZero() {
		e.timers[nextBoot] = alarm{next, time.AfterFunc(next.Sub(now), func() { e.wake(nextBoot) })}
	}
	problem := ""
	err := fabric.Wire(network)
	if err != nil {
		err = fmt.Errorf("making the network: %w", err)
		problem = err.Error()
		e.log.Error("the network is not as the API says", "error", err)
	}
	e.problem.Store(&problem)
	return err
}

// network describes everything that is there by now, and says when the next
// machine will be (zero: none is on its way).
func (s *store) network(now time.Time) (network traffic.Network, next time.Time) {
	for org := range s.spaces() {
		for m := range org.machines.all() {
			if m.at(now) == creating && (next.IsZero() || m.readyAt.Before(next)) {
				next = m.readyAt
			}
		}
		for v := range org.vpcs.all() {
			if v.wanted() {
				network.VPCs = append(network.VPCs, v.traffic(now))
			}
		}
	}
	return network, next
}

// traffic describes the VPC to a data plane.
func (v *vpc) traffic(now time.Time) traffic.VPC {
	out := traffic.VPC{Identity: v.Identity, Name: v.Name, Ranges: slices.Clone(v.cidrs), Routes: v.table.traffic()}
	for _, s := range v.subnets {
		if s.wanted() {
			out.Subnets = append(out.Subnets, s.traffic())
		}
	}
	for m := range v.org.machines.all() {
		if m.subnet.vpc == v && m.at(now) == ready {
			out.Machines = append(out.Machines, m.traffic())
		}
	}
	for lb := range v.org.loadbalancers.all() {
		if lb.subnet.vpc == v && lb.wanted() && !lb.creating(now) {
			out.LoadBalancers = append(out.LoadBalancers, lb.endpoint())
		}
	}
	for g := range v.org.securityGroups.all() {
		if g.vpc == v && g.wanted() {
			out.SecurityGroups = append(out.SecurityGroups, g.traffic())
		}
	}
	return out
}

func (s *subnet) traffic() traffic.Subnet {
	out := traffic.Subnet{Identity: s.Identity, Routes: s.table.traffic()}
	for _, pool := range s.pools {
		out.Ranges = append(out.Ranges, pool.Prefix())
	}
	return out
}

// traffic are the routes to addresses; the targets of others move no packets.
func (t *routeTable) traffic() []traffic.Route {
	var out []traffic.Route
	for r := range t.routes.all() {
		if r.address.IsValid() {
			out = append(out, traffic.Route{Destination: r.destination, Gateway: r.address})
		}
	}
	return out
}

func (m *machine) traffic() traffic.Machine {
	out := traffic.Machine{
		Identity: m.Identity, Name: m.Slug, Subnet: m.subnet.Identity, Addresses: slices.Clone(m.addresses),
		Running: !m.stopped, Boots: m.boots, SecurityGroups: identities(m.securityGroups),
	}
	if len(m.addresses) > 0 {
		out.MAC = macAddress(m.addresses[0])
	}
	return out
}

func (lb *loadbalancer) endpoint() traffic.Endpoint {
	return traffic.Endpoint{
		Identity: lb.Identity, Subnet: lb.subnet.Identity, Addresses: slices.Clone(lb.addresses()),
		SecurityGroups: identities(lb.securityGroups),
	}
}

func identities(groups []*securityGroup) []string {
	var out []string
	for _, g := range groups {
		out = append(out, g.Identity)
	}
	return out
}

func (g *securityGroup) traffic() traffic.SecurityGroup {
	return traffic.SecurityGroup{
		Identity: g.Identity, SameGroupTraffic: g.sameGroupTraffic,
		Ingress: filterRules(g.ingress), Egress: filterRules(g.egress),
	}
}

func filterRules(rules []wire.SecurityGroupRule) []traffic.Rule {
	var out []traffic.Rule
	for _, rule := range rules {
		filter := traffic.Rule{
			Drop: rule.Policy == "drop", Priority: int(rule.Priority), IPv6: rule.IPVersion == "ipv6", Protocol: rule.Protocol,
			FirstPort: uint16(rule.PortRangeMin), LastPort: uint16(rule.PortRangeMax),
		}
		if rule.RemoteType == remoteGroup {
			filter.RemoteGroup = kept(rule.RemoteSecurityGroupIdentity, "")
		} else if prefix, err := parseSource(kept(rule.RemoteAddress, "")); err == nil { // checked when the rule was written
			filter.Remote = prefix
		}
		out = append(out, filter)
	}
	return out
}
