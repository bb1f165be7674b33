package state

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// StatusUpdating is the status of a load balancer that changes while it works.
const StatusUpdating = "updating"

// Status is in lower case, the only spelling that clients compare with.
func (lb *Loadbalancer) Status(now time.Time) string {
	if lb.Held != "" && lb.Active() {
		return lb.Held
	}
	if lb.At(now) == object.Ready && now.Before(lb.ChangingUntil) {
		return StatusUpdating
	}
	return lb.At(now).String()
}

// Creating reports whether the load balancer has no address and no traffic yet.
func (lb *Loadbalancer) Creating(now time.Time) bool {
	return lb.At(now) == object.Creating || lb.Active() && lb.Held == object.Creating.String()
}

// LoadBalancerStatuses are those that a load balancer can be held in.
func LoadBalancerStatuses() []string {
	return []string{"creating", object.StatusReady, StatusUpdating, "failed", "error"}
}

// Resource is the kind and the identity of the load balancer, as reserved IPs name them.
func (lb *Loadbalancer) Resource() (kind, identity string) { return resourceLoadbalancer, lb.Identity }

// Reach returns the addresses of the load balancer, to change them.
func (lb *Loadbalancer) Reach() *Addressing { return &lb.Addressing }

func (lb *Loadbalancer) home() *region { return lb.Subnet.VPC.Region }

// Readdressed records that the addresses of the load balancer changed.
func (lb *Loadbalancer) Readdressed(now time.Time) {
	lb.Touch(now)
	lb.Subnet.VPC.Org.TrafficChanged(lb)
}

func (lb *Loadbalancer) accepts() error {
	if lb.Internal {
		return apierror.Invalid("load balancer %q is internal and cannot have a reserved IP", lb.Identity)
	}
	return nil
}

// Traits are the values of the load balancer that filters of lists can name.
func (lb *Loadbalancer) Traits(now time.Time) object.Traits {
	return lb.Record.Traits().Reference("loadbalancer", &lb.Record).Reference("subnet", &lb.Subnet.Record).
		Reference("vpc", &lb.Subnet.VPC.Record).Reference("region", &lb.Subnet.VPC.Region.Record).
		With("status", lb.Status(now)).With("reservedIp", lb.references()...)
}

// Move puts the load balancer into another subnet; its addresses stay.
func (lb *Loadbalancer) Move(home *Subnet) {
	lb.Subnet.Users.Remove("load balancer", lb.Identity)
	home.Users.Add("load balancer", lb.Identity)
	lb.Subnet = home
}

// Release lets go of what outlives a load balancer, and deletes its listeners.
func (o *Organisation) Release(lb *Loadbalancer, now time.Time) {
	for _, l := range slices.Clone(lb.Listeners) {
		o.RemoveListener(l)
	}
	lb.SecurityGroups = Reattach("load balancer", lb.Identity, lb.SecurityGroups, nil)
	lb.leaveReserved(now)
}

// maxListeners is the documented limit per load balancer; it is a quota.
const maxListeners = 100

// Short is the listener inside its target group: without the group.
func (l *Listener) Short() wire.Listener {
	return wire.Listener{
		Meta: l.Nested(), Port: l.Port, Protocol: l.Protocol, AllowedSources: object.List(l.AllowedSources),
		MaxConnections: l.MaxConnections, ConnectionIdleTimeout: l.IdleTimeout,
	}
}

// View is the listener as the API describes it.
func (l *Listener) View() wire.Listener {
	view := l.Short()
	view.TargetGroup = l.Group.Short()
	return view
}

// AddListener adds a listener to its load balancer and its target group.
func (o *Organisation) AddListener(l *Listener) {
	l.LB.Listeners = append(l.LB.Listeners, l)
	l.Group.Listeners = append(l.Group.Listeners, l)
	o.TrafficChanged(l.LB)
}

// RemoveListener removes a listener from its load balancer and its target group.
func (o *Organisation) RemoveListener(l *Listener) {
	l.LB.Listeners = slices.DeleteFunc(l.LB.Listeners, func(other *Listener) bool { return other == l })
	l.Group.Forget(l)
	o.TrafficChanged(l.LB)
}

// Forget drops a listener from the group's references.
func (g *TargetGroup) Forget(l *Listener) {
	g.Listeners = slices.DeleteFunc(g.Listeners, func(other *Listener) bool { return other == l })
}

// Depart ends what the load balancer is part of.
func (lb *Loadbalancer) Depart() {
	org := lb.Subnet.VPC.Org
	org.Leave(&lb.Life, func() {
		org.Release(lb, lb.DeletedAt())
		lb.Leave()
		lb.Subnet.Users.Remove("load balancer", lb.Identity)
	}, func() { org.Loadbalancers.Remove(lb) })
}

func (lb *Loadbalancer) describe() seed.LoadBalancer {
	out := seed.LoadBalancer{Object: seed.Described(lb.Meta), Life: lived(lb.Life, lb.Held), Subnet: lb.Subnet.Identity,
		Internal: lb.Internal, InstanceSize: lb.InstanceSize, DeleteProtection: lb.DeleteProtection,
		SecurityGroups: identities(lb.SecurityGroups), ChangingUntil: lb.ChangingUntil}
	out.Addresses, out.ReservedIP = lb.Addressing.describe()
	for _, l := range lb.Listeners {
		out.Listeners = append(out.Listeners, seed.Listener{Object: seed.Described(l.Meta), Port: l.Port,
			Protocol: l.Protocol, TargetGroup: l.Group.Identity, MaxConnections: l.MaxConnections,
			IdleTimeout: l.IdleTimeout, AllowedSources: l.AllowedSources})
	}
	return out
}

func (o *Organisation) seedLoadbalancer(in *seed.LoadBalancer, now time.Time) error {
	home, groups, err := o.placed(in.Subnet, in.SecurityGroups)
	if err != nil {
		return err
	}
	if err := checkNew(o.Store, &o.Loadbalancers, checked{kind: "load balancer", object: in.Object, life: in.Life,
		held: LoadBalancerStatuses(), now: now}); err != nil {
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
	if err := o.seedReach(lb, reach{in.Addresses, in.ReservedIP, in.Removed(), now}); err != nil {
		return err
	}
	home.Users.Add("load balancer", lb.Identity)
	lb.SecurityGroups = Reattach("load balancer", lb.Identity, nil, groups)
	o.TrafficChanged(lb)
	err = seed.Each("listeners", "listener", in.Listeners,
		func(l *seed.Listener) (string, error) { return l.Name, o.seedListener(lb, l, now) })
	if err == nil && in.Removed() {
		lb.Depart()
	}
	return err
}

// pools are where the addresses of the load balancer come from. Those of an internal one can be of another subnet,
// because it keeps them when it moves.
func (lb *Loadbalancer) pools(addresses []netip.Addr) []*address.Pool {
	if !lb.Internal {
		return lb.home().Public
	}
	for _, s := range lb.Subnet.VPC.Subnets {
		if len(addresses) > 0 && s.spans(addresses) {
			return s.Pools
		}
	}
	return lb.Subnet.Pools
}

func (o *Organisation) seedListener(lb *Loadbalancer, in *seed.Listener, now time.Time) error {
	g, err := required(&o.TargetGroups, "targetGroup", "target group", in.TargetGroup)
	if err != nil {
		return err
	}
	// The names of listeners need not be unique.
	if err := checkNew(o.Store, &object.Collection[*Listener]{}, checked{kind: "listener", object: in.Object,
		now: now}); err != nil {
		return err
	}
	taken := func(slug string) bool {
		return slices.ContainsFunc(lb.Listeners, func(l *Listener) bool { return l.Slug == slug })
	}
	l := &Listener{LB: lb, Group: g, Port: in.Port, Protocol: in.Protocol, MaxConnections: in.MaxConnections,
		IdleTimeout: in.IdleTimeout, AllowedSources: in.AllowedSources, Record: recorded("lbl", in.Object, taken, now)}
	if err := l.Check(lb.Listeners); err != nil {
		return err
	}
	o.AddListener(l)
	return nil
}

// Check checks the settings of a listener, and that it can live beside the other ones of its load balancer.
func (l *Listener) Check(others []*Listener) error {
	store := l.LB.Subnet.VPC.Org.Store
	if err := cmp.Or(object.CheckPort("port", l.Port), store.CheckProtocol(l.Protocol),
		CheckSources(l.AllowedSources)); err != nil || store.restoring {
		return err
	}
	return l.checkBeside(others)
}

// checkBeside checks a listener against its target group and the other listeners of its load balancer.
func (l *Listener) checkBeside(others []*Listener) error {
	switches := l.LB.Subnet.VPC.Org.Store.Switches
	if l.Group.VPC != l.LB.Subnet.VPC {
		return apierror.Invalid("field \"targetGroup\": target group %q is in another VPC than the load balancer",
			l.Group.Identity)
	}
	if l.Group.Protocol != l.Protocol {
		return apierror.Invalid("field \"targetGroup\": target group %q serves %s, the listener %s", l.Group.Identity,
			l.Group.Protocol, l.Protocol)
	}
	for _, other := range others {
		if other.Identity == l.Identity && l.Identity != "" || other.Port != l.Port {
			continue
		}
		if Transport(other.Protocol) == Transport(l.Protocol) || switches.OneProtocolPerPort {
			return apierror.Conflict("port %d/%s is taken by listener %q", l.Port, other.Protocol, other.Name)
		}
	}
	users := slices.Concat(l.Group.Listeners, others)
	if switches.ExclusiveTargetGroups && slices.ContainsFunc(users, func(other *Listener) bool {
		return other.Group == l.Group && (other.Identity != l.Identity || l.Identity == "")
	}) {
		return apierror.Invalid("field \"targetGroup\": target group %q is used by another listener", l.Group.Identity)
	}
	return nil
}

// CheckSources checks the addresses that a listener accepts.
func CheckSources(sources []string) error {
	for _, source := range sources {
		if _, err := ParseSource(source); err != nil {
			return err
		}
	}
	return nil
}
