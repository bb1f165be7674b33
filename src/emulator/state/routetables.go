package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// RouteTable holds the routes of subnets.
type RouteTable struct {
	object.Record
	VPC *VPC
	// IsDefault marks the table of subnets that name none.
	IsDefault bool
	Routes    object.Collection[*RouteEntry]
	Subnets   object.Collection[*Subnet]
}

// Active makes tables referable: they come and go at once.
func (t *RouteTable) Active() bool { return true }

// Short is the route table inside another object: without routes and subnets.
func (t *RouteTable) Short() *wire.RouteTable {
	return &wire.RouteTable{Meta: t.Nested(), IsDefault: t.IsDefault, AssociatedSubnets: []wire.Subnet{}}
}

// View is the route table as the API describes it.
func (t *RouteTable) View(now time.Time) wire.RouteTable {
	view := *t.Short()
	view.Organisation, view.VPC = t.VPC.Org.Short(), t.VPC.Short()
	view.Routes = t.RouteViews(now)
	for s := range t.Subnets.All() {
		view.AssociatedSubnets = append(view.AssociatedSubnets, *s.Short())
	}
	return view
}

// Traits are the values of the route table that filters of lists can name.
func (t *RouteTable) Traits() object.Traits {
	return t.Record.Traits().Reference("vpc", &t.VPC.Record).Reference("region", &t.VPC.Region.Record)
}

// AddRouteTable adds a table. The default one goes with its VPC, and so does not
// keep it from being deleted.
func (o *Organisation) AddRouteTable(t *RouteTable) {
	o.RouteTables.Add(t)
	if t.IsDefault {
		t.VPC.Table = t
		return
	}
	t.VPC.Users.Add("route table", t.Identity)
}

// RemoveRouteTable removes a route table with its routes.
func (o *Organisation) RemoveRouteTable(t *RouteTable) {
	for route := range t.Routes.All() {
		t.RemoveRoute(route)
	}
	t.VPC.Users.Remove("route table", t.Identity)
	o.RouteTables.Remove(t)
}

// RouteEntry is a route of a route table. One of its targets is set. It
// is replaced and never modified while it is in a table.
type RouteEntry struct {
	Identity    string
	Table       *RouteTable
	Destination netip.Prefix
	Gateway     *NATGateway
	Peering     *Peering
	Address     netip.Addr
}

// Key makes a destination unique within its table.
func (r *RouteEntry) Key() (identity, slug string) { return r.Identity, r.Destination.String() }

// Target is the address that the route leads to, or the identity of its NAT gateway or peering connection.
func (r *RouteEntry) Target() string {
	switch {
	case r.Gateway != nil:
		return r.Gateway.Identity
	case r.Peering != nil:
		return r.Peering.Identity
	}
	return r.Address.String()
}

// View is the route as the API describes it.
func (r *RouteEntry) View(now time.Time) wire.RouteEntry {
	view := wire.RouteEntry{Identity: r.Identity, DestinationCIDRBlock: r.Destination.String()}
	switch {
	case r.Gateway != nil:
		view.TargetNATGatewayIdentity, view.TargetNATGateway = r.Gateway.Identity, r.Gateway.Short(now)
		view.Type = "natGateway"
	case r.Peering != nil:
		view.TargetVPCPeeringConnectionID, view.Type = r.Peering.Identity, "vpcPeering"
	default:
		view.GatewayAddress, view.Type = r.Address.String(), "gatewayAddress"
	}
	return view
}

// RouteViews are the routes as the API describes them.
func (t *RouteTable) RouteViews(now time.Time) []wire.RouteEntry {
	views := make([]wire.RouteEntry, 0, t.Routes.Len())
	for r := range t.Routes.All() {
		views = append(views, r.View(now))
	}
	return views
}

// AddRoute adds a route, and records at its target that it is in use.
func (t *RouteTable) AddRoute(r *RouteEntry) {
	r.Table = t
	t.Routes.Add(r)
	if users := r.users(); users != nil {
		users[r] = true
	}
}

// RemoveRoute undoes AddRoute.
func (t *RouteTable) RemoveRoute(r *RouteEntry) {
	t.Routes.Remove(r)
	delete(r.users(), r)
	if r.Gateway != nil && r.Gateway.DefaultRoute == r {
		r.Gateway.DefaultRoute = nil
	}
}

// users are the references from the target of a route to it, if the target is an object.
func (r *RouteEntry) users() map[*RouteEntry]bool {
	switch {
	case r.Gateway != nil:
		return r.Gateway.Routes
	case r.Peering != nil:
		return r.Peering.Routes
	}
	return nil
}

// GatewayAddress reads the address that a route sends its traffic to.
func (v *VPC) GatewayAddress(field, text string, destination netip.Prefix) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return addr, apierror.Invalid("field %q: %q is not an IP address", field, text)
	case !v.contains(addr) && !v.hasGateway(addr) && !v.Org.Store.restoring:
		return addr, apierror.Invalid("field %q: %s is outside VPC %q, and no NAT gateway of it has it", field,
			addr, v.Identity)
	case addr.Is4() != destination.Addr().Is4():
		return addr, apierror.Invalid("field %q: %s and destination %s are of different address families", field, addr,
			destination)
	}
	return addr, nil
}

// contains returns whether an address is in one of the networks of the VPC.
func (v *VPC) contains(addr netip.Addr) bool {
	return Within(netip.PrefixFrom(addr, addr.BitLen()), v.CIDRs)
}

// hasGateway returns whether a NAT gateway of the VPC has an address.
func (v *VPC) hasGateway(addr netip.Addr) bool {
	for n := range v.Org.NATGateways.All() {
		if n.Active() && n.Subnet.VPC == v && slices.Contains(n.Addresses(), addr) {
			return true
		}
	}
	return false
}

// DestinationTaken is the error about a second route to a destination.
func (t *RouteTable) DestinationTaken(r *RouteEntry) error {
	return apierror.Conflict("route table %q has a route to %s already", t.Identity, r.Destination)
}

func (t *RouteTable) describe() seed.RouteTable {
	of := seed.Described(t.Meta)
	out := seed.RouteTable{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Default: t.IsDefault, Subnets: identities(slices.Collect(t.Subnets.All()))}
	for r := range t.Routes.All() {
		route := seed.Route{Identity: r.Identity, Destination: r.Destination, GatewayAddress: r.Address}
		if r.Gateway != nil {
			route.NATGateway, route.WithGateway = r.Gateway.Identity, r.Gateway.DefaultRoute == r
		}
		if r.Peering != nil {
			route.Peering = r.Peering.Identity
		}
		out.Routes = append(out.Routes, route)
	}
	return out
}

func (v *VPC) seedRouteTable(in *seed.RouteTable, now time.Time) error {
	of := seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}
	if err := checkNew(v.Org.Store, &v.Org.RouteTables, checked{kind: "route table", object: of,
		byDefault: in.Default, now: now}); err != nil {
		return err
	}
	if in.Default && v.Table != nil {
		return fmt.Errorf("field \"default\": the VPC has a default route table already, %q", v.Table.Name)
	}
	if _, taken := v.Org.RouteTables.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	v.Org.AddRouteTable(&RouteTable{VPC: v, IsDefault: in.Default,
		Record: recorded("rtb", of, v.Org.RouteTables.HasSlug, now)})
	return nil
}

// NATGateway is the NAT gateway of the VPC that a route leads to.
func (t *RouteTable) NATGateway(field, ref string) (*NATGateway, error) {
	n, err := object.Referred(&t.VPC.Org.NATGateways, field, "NAT gateway", ref)
	if err == nil && n.Subnet.VPC != t.VPC {
		err = apierror.Invalid("field %q: NAT gateway %q is in another VPC than the route table", field, ref)
	}
	return n, err
}

// Crossing is the peering connection of the VPC that a route leads to.
func (t *RouteTable) Crossing(field, ref string, now time.Time) (*Peering, error) {
	p, found := t.VPC.Org.Peerings.Find(ref)
	switch {
	case !found || p.Requester != t.VPC && p.Accepter != t.VPC:
		return nil, apierror.Invalid("field %q: VPC peering connection %q not found in VPC %q", field, ref,
			t.VPC.Identity)
	case p.State(now) != PeeringActive:
		return nil, apierror.Conflict("field %q: VPC peering connection %q is %s, not active", field, ref, p.State(now))
	}
	return p, nil
}

func (t *RouteTable) seedRoute(in *seed.Route, now time.Time) error {
	destination, err := ParseNetwork("destination", in.Destination.String())
	if err != nil {
		return err
	}
	r := &RouteEntry{Identity: cmp.Or(in.Identity, object.NewIdentity("rte")), Destination: destination}
	if store := t.VPC.Org.Store; t.Routes.HasSlug(destination.String()) && !store.Switches.DuplicateRoutes &&
		!store.restoring {
		return t.DestinationTaken(r)
	}
	if err := t.seedTarget(r, in, now); err != nil {
		return err
	}
	t.AddRoute(r)
	if in.WithGateway && r.Gateway != nil {
		r.Gateway.DefaultRoute = r
	}
	return nil
}

// seedTarget finds what a route of a seed leads to. In a state that an emulator wrote, that is only there.
func (t *RouteTable) seedTarget(r *RouteEntry, in *seed.Route, now time.Time) (err error) {
	org := t.VPC.Org
	switch {
	case in.NATGateway != "" && org.Store.restoring:
		r.Gateway, err = required(&org.NATGateways, "natGateway", "NAT gateway", in.NATGateway)
	case in.Peering != "" && org.Store.restoring:
		r.Peering, err = required(&org.Peerings, "peering", "peering connection", in.Peering)
	case in.NATGateway != "" && (in.Peering != "" || in.GatewayAddress.IsValid()),
		in.Peering != "" && in.GatewayAddress.IsValid():
		err = fmt.Errorf("only one of \"gatewayAddress\", \"natGateway\" and \"peering\" may be there")
	case in.NATGateway != "":
		r.Gateway, err = t.NATGateway("natGateway", in.NATGateway)
	case in.Peering != "":
		r.Peering, err = t.Crossing("peering", in.Peering, now)
	default:
		r.Address, err = t.VPC.GatewayAddress("gatewayAddress", in.GatewayAddress.String(), r.Destination)
	}
	return err
}

// seedRoutes adds routes, after all that they lead to.
func (o *Organisation) seedRoutes(in *seed.Organisation, now time.Time) error {
	if err := o.routesOf(in.VPCs, now); err != nil {
		return err
	}
	return seed.EachIndexed("projects", "project", in.Projects, func(i int, p *seed.Project) (string, error) {
		return p.Name, o.Projects.Order[i].Space.routesOf(p.VPCs, now)
	})
}

// routesOf adds the routes of VPCs.
func (o *Organisation) routesOf(vpcs []seed.VPC, now time.Time) error {
	return seed.EachIndexed("vpcs", "VPC", vpcs, func(i int, v *seed.VPC) (string, error) {
		if v.Removed() {
			return "", nil
		}
		home := o.VPCs.Order[i]
		tables := slices.DeleteFunc(slices.Collect(o.RouteTables.All()),
			func(t *RouteTable) bool { return t.VPC != home })
		return v.Name, seed.EachIndexed("routeTables", "route table", v.RouteTables,
			func(j int, t *seed.RouteTable) (string, error) {
				return t.Name, seed.Each("routes", "route", t.Routes,
					func(r *seed.Route) (string, error) { return "", tables[j].seedRoute(r, now) })
			})
	})
}
