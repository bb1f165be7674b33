package state

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// recorded is the meta data of an object of a seed.
func recorded(prefix string, in seed.Object, slugTaken func(string) bool, now time.Time) object.Record {
	return iam.Recorded(prefix, in, slugTaken, now)
}

// revived is the life of an object of a seed.
func revived(in seed.Life) object.Life {
	life := object.Life{ReadyAt: in.ReadyAt}
	if in.Removed() {
		life.Remove(in.RemovedAt, in.DeletingTakes, in.Lingers)
	}
	return life
}

// required finds what a field of a seed names.
func required[T object.Keyed](among *object.Collection[T], field, kind, ref string) (T, error) {
	found, ok := among.Find(ref)
	if !ok {
		return found, fmt.Errorf("field %q: %s %q not found", field, kind, ref)
	}
	return found, nil
}

// oneOf refuses a value that a field of a seed cannot have.
func oneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return fmt.Errorf("field %q must be one of %v, not %q", field, known, value)
	}
	return nil
}

// each adds the objects of a list, and says in which one an error is.
func each[T any](kind string, items []T, object func(*T) *seed.Object, add func(*T) error) error {
	for i := range items {
		described := object(&items[i])
		err := add(&items[i])
		if described.Name == "" {
			err = errors.New("field \"name\" is required")
		}
		if err != nil {
			return fmt.Errorf("%s %q: %w", kind, cmp.Or(described.Name, described.Identity), err)
		}
	}
	return nil
}

// seedRest adds what uses networks and machines.
func (o *Organisation) seedRest(in *seed.Objects, now time.Time) error {
	return errors.Join(
		each("cloud-init template", in.CloudInits, func(c *seed.CloudInit) *seed.Object { return &c.Object },
			func(c *seed.CloudInit) error {
				return object.Insert(&o.CloudInits, &CloudInit{Content: c.Content,
					Record: recorded("ci", c.Object, o.CloudInits.HasSlug, now)})
			}),
		each("NAT gateway", in.NATGateways, func(n *seed.NATGateway) *seed.Object { return &n.Object },
			func(n *seed.NATGateway) error { return o.seedNATGateway(n, now) }),
		each("target group", in.TargetGroups, func(g *seed.TargetGroup) *seed.Object { return &g.Object },
			func(g *seed.TargetGroup) error { return o.seedTargetGroup(g, now) }),
		each("load balancer", in.LoadBalancers, func(lb *seed.LoadBalancer) *seed.Object { return &lb.Object },
			func(lb *seed.LoadBalancer) error { return o.seedLoadbalancer(lb, now) }),
		each("file system", in.Filesystems, func(f *seed.Filesystem) *seed.Object { return &f.Object },
			func(f *seed.Filesystem) error { return o.seedFilesystem(f, now) }),
		o.seedVolumes(in, now),
	)
}

// reach is what a load balancer or NAT gateway of a seed says about its addresses.
type reach struct {
	addresses []netip.Addr
	reserved  string
	removed   bool
}

// seedReach gives a holder its addresses.
func (o *Organisation) seedReach(by Holder, in reach) error {
	a := by.Reach()
	switch {
	case in.reserved != "":
		ip, err := required(&o.ReservedIPs, "reservedIp", "reserved IP", in.reserved)
		if err != nil {
			return err
		}
		if ip.Holder != nil {
			return fmt.Errorf("field \"reservedIp\": reserved IP %q is attached to two objects", in.reserved)
		}
		a.Reserved, ip.Holder = ip, by
		return nil
	case len(in.addresses) > 0:
		for _, addr := range in.addresses {
			if err := reserveIn(a.Pools, addr); err != nil {
				return fmt.Errorf("field \"addresses\": %w", err)
			}
		}
		a.own = in.addresses
		return nil
	case in.removed:
		return nil
	}
	var err error
	a.own, err = TakeAddresses(a.Pools)
	return err
}

func (o *Organisation) seedNATGateway(in *seed.NATGateway, now time.Time) error {
	home, err := required(&o.Subnets, "subnet", "subnet", in.Subnet)
	if err != nil {
		return err
	}
	groups, err := o.SecurityGroupsIn(home.VPC, in.SecurityGroups)
	if err != nil {
		return err
	}
	n := &NATGateway{Subnet: home, InstanceSize: in.InstanceSize, Routes: map[*RouteEntry]bool{},
		Addressing: Addressing{Pools: home.VPC.Region.Public}, Life: revived(in.Life),
		Record: recorded("ngw", in.Object, o.NATGateways.HasSlug, now)}
	if err := object.Insert(&o.NATGateways, n); err != nil {
		return err
	}
	if err := o.seedReach(n, reach{in.Addresses, in.ReservedIP, in.Removed()}); err != nil {
		return err
	}
	home.Users.Add("NAT gateway", n.Identity)
	n.SecurityGroups = Reattach("NAT gateway", n.Identity, nil, groups)
	if in.Removed() {
		n.Depart()
	}
	return nil
}

func (o *Organisation) seedTargetGroup(in *seed.TargetGroup, now time.Time) error {
	home, err := required(&o.VPCs, "vpc", "VPC", in.VPC)
	if err != nil {
		return err
	}
	if err := checkPort("targetPort", in.Port); err != nil {
		return err
	}
	if err := checkProtocol(in.Protocol); err != nil {
		return err
	}
	g := &TargetGroup{VPC: home, Port: in.Port, Protocol: in.Protocol, Selector: object.Copied(in.Selector),
		ProxyProtocol: in.ProxyProtocol, Policy: in.Policy, Health: in.HealthCheck.Value,
		Record: recorded("tg", in.Object, o.TargetGroups.HasSlug, now)}
	if err := object.Insert(&o.TargetGroups, g); err != nil {
		return err
	}
	home.Users.Add("target group", g.Identity)
	for i, a := range in.Attachments {
		m, err := required(&o.Machines, fmt.Sprintf("attachments[%d].machine", i), "machine", a.Machine)
		if err != nil {
			return err
		}
		made := g.AttachMachine(m, now)
		made.Identity, made.Selected = cmp.Or(a.Identity, made.Identity), a.Selected
		if !a.CreatedAt.IsZero() {
			made.CreatedAt = a.CreatedAt
		}
		o.Selective[g] = o.Selective[g] || a.Selected
	}
	g.Attachments = rekeyed(g.Attachments)
	o.Fill(g, now)
	return nil
}

// rekeyed is a collection whose items got other identities.
func rekeyed[T object.Keyed](items object.Collection[T]) (next object.Collection[T]) {
	for item := range items.All() {
		next.Add(item)
	}
	return next
}

func checkPort(field string, port int) error {
	if port < 1 || port > object.MaxPort {
		return fmt.Errorf("field %q must be 1 to %d, not %d", field, object.MaxPort, port)
	}
	return nil
}

func checkProtocol(protocol string) error {
	return oneOf("protocol", protocol, "tcp", "udp", "http", "https", "grpc", "quic")
}

func (o *Organisation) seedLoadbalancer(in *seed.LoadBalancer, now time.Time) error {
	home, err := required(&o.Subnets, "subnet", "subnet", in.Subnet)
	if err != nil {
		return err
	}
	groups, err := o.SecurityGroupsIn(home.VPC, in.SecurityGroups)
	if err != nil {
		return err
	}
	lb := &Loadbalancer{Subnet: home, Internal: in.Internal, InstanceSize: in.InstanceSize,
		DeleteProtection: in.DeleteProtection, Held: in.Held, ChangingUntil: in.ChangingUntil, Life: revived(in.Life),
		Record: recorded("lb", in.Object, o.Loadbalancers.HasSlug, now)}
	lb.Addressing = Addressing{Pools: lb.pools(in.Addresses), V4Only: o.Store.Switches.IPv4OnlyLoadbalancers}
	if lb.V4Only && len(in.Addresses) == 0 {
		lb.Pools = V4Pools(lb.Pools)
	}
	if err := object.Insert(&o.Loadbalancers, lb); err != nil {
		return err
	}
	if err := o.seedReach(lb, reach{in.Addresses, in.ReservedIP, in.Removed()}); err != nil {
		return err
	}
	home.Users.Add("load balancer", lb.Identity)
	lb.SecurityGroups = Reattach("load balancer", lb.Identity, nil, groups)
	o.TrafficChanged(lb)
	err = each("listener", in.Listeners, func(l *seed.Listener) *seed.Object { return &l.Object },
		func(l *seed.Listener) error { return o.seedListener(lb, l, now) })
	if err == nil && in.Removed() {
		lb.Depart()
	}
	return err
}
