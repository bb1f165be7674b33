package state

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// TrafficChanged records that the data plane has to look at a load balancer.
func (o *Organisation) TrafficChanged(lb *Loadbalancer) { o.Store.changed[lb.Identity] = o }

// Changed returns whether the data plane has to look at a load balancer.
func (s *Store) Changed() bool {
	s.Lock()
	defer s.Unlock()
	return len(s.changed) > 0
}

// Change is what the data plane should do about a load balancer: wait until it
// is ready, serve it, or (neither) remove it.
type Change struct {
	Wait  time.Duration
	Serve *traffic.LoadBalancer
}

// ForgetChanges drops the changes of traffic that TakeChanges would return.
func (s *Store) ForgetChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.changed)
}

// TakeChanges returns what changed for the data plane since the last call, by the identity of the load balancer.
func (s *Store) TakeChanges(now time.Time) map[string]Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := map[string]Change{}
	for identity, org := range s.changed {
		var next Change
		lb, found := org.Loadbalancers.Exact(identity)
		switch {
		case !found || !lb.Active():
		case lb.At(now) == object.Creating:
			next.Wait = lb.ReadyAt.Sub(now)
		case lb.Creating(now):
			// Held there; whoever ends that says so.
		default:
			next.Serve = lb.Traffic()
		}
		changes[identity] = next
	}
	clear(s.changed)
	return changes
}

// Traffic describes the load balancer to a data plane.
func (lb *Loadbalancer) Traffic() *traffic.LoadBalancer {
	out := &traffic.LoadBalancer{Identity: lb.Identity, Name: lb.Name, Addresses: lb.Addresses()}
	for _, l := range lb.Listeners {
		out.Listeners = append(out.Listeners, l.Traffic())
	}
	return out
}

// Traffic describes the listener to a data plane.
func (l *Listener) Traffic() traffic.Listener {
	out := traffic.Listener{
		Identity: l.Identity, Protocol: Transport(l.Protocol), Port: uint16(l.Port),
		MaxConnections: object.Kept(l.MaxConnections, 0),
		IdleTimeout:    time.Duration(object.Kept(l.IdleTimeout, 0)) * time.Second,
		Group:          l.Group.Traffic(),
	}
	for _, source := range l.AllowedSources {
		// Checked when the listener was written.
		if prefix, err := ParseSource(source); err == nil {
			out.AllowedSources = append(out.AllowedSources, prefix)
		}
	}
	return out
}

// Traffic describes the target group to a data plane.
func (g *TargetGroup) Traffic() traffic.Group {
	out := traffic.Group{
		Identity: g.Identity, Policy: traffic.Policy(cmp.Or(g.Policy, string(traffic.RoundRobin))),
		ProxyProtocol: object.Kept(g.ProxyProtocol, false),
	}
	if h := g.Health; h != nil {
		out.Health = &traffic.HealthCheck{
			Protocol: h.Protocol, Port: uint16(h.Port), Path: h.Path,
			Period:             time.Duration(h.PeriodSeconds) * time.Second,
			Timeout:            time.Duration(h.TimeoutSeconds) * time.Second,
			UnhealthyThreshold: int(h.UnhealthyThreshold), HealthyThreshold: int(h.HealthyThreshold),
		}
	}
	for a := range g.Attachments.All() {
		if !a.Machine.stopped && a.Machine.Active() && len(a.Machine.Addresses) > 0 {
			out.Targets = append(out.Targets, a.Machine.target(uint16(g.Port)))
		}
	}
	return out
}

// target is a port of the machine, in each family that it has an address of.
func (m *Machine) target(port uint16) traffic.Target {
	out := traffic.Target{Machine: m.Identity, Address: netip.AddrPortFrom(m.Addresses[0], port)}
	for _, other := range m.Addresses[1:] {
		if other.Is4() != m.Addresses[0].Is4() {
			out.Other = netip.AddrPortFrom(other, port)
		}
	}
	return out
}

// ProtocolQUIC is the only application protocol that is not carried by TCP.
const ProtocolQUIC = "quic"

// Transport is what carries a listener's protocol.
func Transport(protocol string) traffic.Protocol {
	if protocol == ProtocolQUIC || protocol == string(traffic.UDP) {
		return traffic.UDP
	}
	return traffic.TCP
}

// ParseSource reads an allowed source: a CIDR, or an address.
func ParseSource(source string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(source); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(source)
	if err != nil {
		return netip.Prefix{}, apierror.Invalid("field \"allowedSources\": %q is neither a CIDR nor an IP address",
			source)
	}
	return prefix.Masked(), nil
}

// gibibyte is the unit of sizes of volumes, in bytes.
const gibibyte = 1 << 30

// Network describes everything that is there by now, and says when it changes
// next by itself (zero: it does not).
func (s *Store) Network(now time.Time) (network traffic.Network, next time.Time) {
	consider := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for org := range s.Spaces() {
		for m := range org.Machines.All() {
			if m.At(now) == object.Creating {
				consider(m.ReadyAt)
			}
		}
		for v := range org.VPCs.All() {
			if v.Active() {
				network.VPCs = append(network.VPCs, v.Traffic(now))
			}
		}
		for v := range org.Volumes.All() {
			network.Volumes = append(network.Volumes, v.Traffic(now))
			v.changes(consider)
		}
		for s := range org.Snapshots.All() {
			network.Snapshots = append(network.Snapshots, traffic.Snapshot{Identity: s.Identity,
				Volume: s.Source.Identity, Size: int64(s.Size) * gibibyte})
		}
		for p := range org.SnapshotPolicies.All() {
			if due, scheduled := p.Due(); scheduled {
				consider(due)
			}
		}
	}
	return network, next
}

// Traffic describes the volume to a data plane. A root volume is no disk there,
// because nothing boots from it.
func (v *Volume) Traffic(now time.Time) traffic.Volume {
	out := traffic.Volume{Identity: v.Identity, Size: int64(v.SizeAt(now)) * gibibyte}
	if v.RestoredFrom != nil {
		out.Snapshot = v.RestoredFrom.Identity
	}
	a := v.Attachment(now)
	if a != nil && !a.Root && !now.Before(a.attachedAt) && a.Machine.At(now) == object.Ready {
		out.Machine = a.Machine.Identity
	}
	return out
}

// changes are the times at which the volume changes by itself.
func (v *Volume) changes(consider func(time.Time)) {
	consider(v.grownAt)
	if v.latest != nil {
		consider(v.latest.attachedAt)
		consider(v.latest.detachedAt)
	}
}

// Traffic describes the VPC to a data plane.
func (v *VPC) Traffic(now time.Time) traffic.VPC {
	out := traffic.VPC{Identity: v.Identity, Name: v.Name, Ranges: slices.Clone(v.CIDRs), Routes: v.Table.Traffic()}
	for _, s := range v.Subnets {
		if s.Active() {
			out.Subnets = append(out.Subnets, s.Traffic())
		}
	}
	for m := range v.Org.Machines.All() {
		if m.Subnet.VPC == v && m.At(now) == object.Ready {
			out.Machines = append(out.Machines, m.Traffic())
		}
	}
	for lb := range v.Org.Loadbalancers.All() {
		if lb.Subnet.VPC == v && lb.Active() && !lb.Creating(now) {
			out.LoadBalancers = append(out.LoadBalancers, lb.endpoint())
		}
	}
	for g := range v.Org.SecurityGroups.All() {
		if g.VPC == v && g.Active() {
			out.SecurityGroups = append(out.SecurityGroups, g.Traffic())
		}
	}
	return out
}

// Traffic describes the subnet to a data plane.
func (s *Subnet) Traffic() traffic.Subnet {
	out := traffic.Subnet{Identity: s.Identity, Routes: s.Table.Traffic()}
	for _, pool := range s.Pools {
		out.Ranges = append(out.Ranges, pool.Prefix())
	}
	return out
}

// Traffic are the routes to addresses in the VPC; the targets of others move no packets.
func (t *RouteTable) Traffic() []traffic.Route {
	var out []traffic.Route
	for r := range t.Routes.All() {
		if r.Address.IsValid() && t.VPC.contains(r.Address) {
			out = append(out, traffic.Route{Destination: r.Destination, Gateway: r.Address})
		}
	}
	return out
}

// Traffic describes the machine to a data plane.
func (m *Machine) Traffic() traffic.Machine {
	out := traffic.Machine{
		Identity: m.Identity, Name: m.Slug, Subnet: m.Subnet.Identity, Addresses: slices.Clone(m.Addresses),
		Running: !m.stopped, Boots: m.boots, SecurityGroups: identities(m.SecurityGroups),
	}
	if len(m.Addresses) > 0 {
		out.MAC = macAddress(m.Addresses[0])
	}
	return out
}

func (lb *Loadbalancer) endpoint() traffic.Endpoint {
	return traffic.Endpoint{
		Identity: lb.Identity, Subnet: lb.Subnet.Identity, Addresses: slices.Clone(lb.Addresses()),
		SecurityGroups: identities(lb.SecurityGroups),
	}
}

// Traffic describes the security group to a data plane.
func (g *SecurityGroup) Traffic() traffic.SecurityGroup {
	return traffic.SecurityGroup{
		Identity: g.Identity, SameGroupTraffic: g.SameGroupTraffic,
		Ingress: filterRules(g.Ingress), Egress: filterRules(g.Egress),
	}
}

func filterRules(rules []wire.SecurityGroupRule) []traffic.Rule {
	var out []traffic.Rule
	for _, rule := range rules {
		filter := traffic.Rule{
			Drop: rule.Policy == "drop", Priority: int(rule.Priority), IPv6: rule.IPVersion == "ipv6",
			Protocol:  rule.Protocol,
			FirstPort: uint16(rule.PortRangeMin), LastPort: uint16(rule.PortRangeMax),
		}
		if rule.RemoteType == remoteGroup {
			filter.RemoteGroup = object.Kept(rule.RemoteSecurityGroupIdentity, "")
			// checked when the rule was written
		} else if prefix, err := ParseSource(object.Kept(rule.RemoteAddress, "")); err == nil {
			filter.Remote = prefix
		}
		out = append(out, filter)
	}
	return out
}
