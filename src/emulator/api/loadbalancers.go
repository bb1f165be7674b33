package api

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// hostnames is the domain of load balancers that have a name, which no resolver can
// resolve: it is never to exist (RFC 6761).
const hostnames = ".loadbalancers.emulator.invalid"

// updates makes the load balancer take its time with a change.
func (srv *Server) updates(lb *state.Loadbalancer, now time.Time) {
	lb.ChangingUntil = now.Add(srv.delays.LoadbalancerUpdate)
}

// addressing is where the addresses of a new load balancer come from.
func (srv *Server) addressing(home *state.Subnet, internal bool) state.Addressing {
	out := state.Addressing{Pools: home.VPC.Region.Public, V4Only: srv.switches.IPv4OnlyLoadbalancers}
	if internal {
		out.Pools = home.Pools
	}
	if out.V4Only {
		out.Pools = state.V4Pools(out.Pools)
	}
	return out
}

func (srv *Server) viewLoadbalancer(lb *state.Loadbalancer, now time.Time) wire.Loadbalancer {
	v := lb.Subnet.VPC
	view := wire.Loadbalancer{
		Meta: lb.Meta, Status: lb.Status(now), Organisation: v.Org.Short(),
		VPCIdentity: v.Identity, VPC: v.Short(), SubnetIdentity: lb.Subnet.Identity, Subnet: lb.Subnet.Short(),
		ExternalIPAddresses: []string{}, InternalIPAddresses: []string{},
		LoadbalancerListeners: []wire.Listener{}, DeleteProtection: lb.DeleteProtection,
		SecurityGroups: state.SecurityGroupViews(lb.SecurityGroups, now), InstanceSize: lb.InstanceSize,
	}
	if ip := lb.Reserved; ip != nil {
		view.ReservedIPIdentity, view.ReservedIP = ip.Identity, ip.Short(now)
	}
	for _, l := range lb.Listeners {
		view.LoadbalancerListeners = append(view.LoadbalancerListeners, l.View())
	}
	if lb.Creating(now) {
		return view
	}
	if srv.switches.LoadbalancerHostnames {
		view.Hostname = lb.Identity + hostnames
	}
	if lb.Internal {
		view.InternalIPAddresses = state.Texts(lb.Addresses())
	}
	if !lb.Internal || srv.switches.InternalAddressAlsoExternal {
		view.ExternalIPAddresses = state.Texts(lb.Addresses())
	}
	return view
}

func (c *call) loadbalancer() (*state.Loadbalancer, error) {
	lb, found := c.org.Loadbalancers.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("load balancer", c.PathValue("id"))
	}
	return lb, nil
}

// writableLoadbalancer is the load balancer of a write: not one on its way out.
func (c *call) writableLoadbalancer() (*state.Loadbalancer, error) {
	lb, err := c.loadbalancer()
	if err == nil && !lb.Active() {
		err = apierror.Conflict("load balancer %q is being deleted", lb.Identity)
	}
	return lb, err
}

func (srv *Server) listLoadbalancers(c *call) (reply, error) {
	views := []wire.Loadbalancer{}
	for lb := range c.org.Loadbalancers.All() {
		if c.filter.Matches(lb.Labels, func() object.Traits { return lb.Traits(c.now) }) {
			views = append(views, srv.viewLoadbalancer(lb, c.now))
		}
	}
	return many(views), nil
}

func (srv *Server) getLoadbalancer(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	return one(srv.viewLoadbalancer(lb, c.now)), nil
}

func (srv *Server) createLoadbalancer(c *call) (reply, error) {
	in, err := decode[wire.CreateLoadbalancer](c)
	if err != nil {
		return reply{}, err
	}
	described := object.Spec{Name: in.Name, Description: in.Description, Labels: in.Labels, Annotations: in.Annotations}
	if err := checkNew(srv, &c.org.Loadbalancers, "load balancer", described); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.Subnets, "subnet", "subnet", in.Subnet)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaLoadbalancers); err != nil {
		return reply{}, err
	}
	lb := &state.Loadbalancer{
		Subnet: home, Internal: in.InternalLoadbalancer, DeleteProtection: in.DeleteProtection,
		InstanceSize: in.InstanceSize, Life: object.Life{ReadyAt: c.now.Add(srv.delays.LoadbalancerCreate)},
		Addressing: srv.addressing(home, in.InternalLoadbalancer),
	}
	lb.Record = object.NewRecord("lb", described, c.org.Loadbalancers.HasSlug, c.now)
	if err := srv.addLoadbalancer(c, lb, in); err != nil {
		return reply{}, err
	}
	return created(lb.Identity, srv.viewLoadbalancer(lb, c.now)), nil
}

// addLoadbalancer adds a load balancer along with all that it refers to, or
// nothing.
func (srv *Server) addLoadbalancer(c *call, lb *state.Loadbalancer, in wire.CreateLoadbalancer) error {
	listeners, err := srv.inlineListeners(c, lb, in.Listeners)
	if err != nil {
		return err
	}
	groups, err := c.org.SecurityGroupsIn(lb.Subnet.VPC, in.SecurityGroupAttachments)
	if err != nil {
		return err
	}
	ip, err := c.reservedIP(in.ReservedIPID, lb)
	if err != nil {
		return err
	}
	if err := state.Occupy(lb, ip, c.now); err != nil {
		return fmt.Errorf("creating load balancer %q: %w", in.Name, err)
	}
	c.org.Loadbalancers.Add(lb)
	lb.Subnet.Users.Add("load balancer", lb.Identity)
	lb.SecurityGroups = state.Reattach("load balancer", lb.Identity, nil, groups)
	for _, l := range listeners {
		c.org.AddListener(l)
	}
	c.org.TrafficChanged(lb)
	return nil
}

func (srv *Server) updateLoadbalancer(c *call) (reply, error) {
	lb, err := c.writableLoadbalancer()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.UpdateLoadbalancer](c)
	if err != nil {
		return reply{}, err
	}
	home, err := c.newSubnet(lb, in.Subnet)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(srv.rules(), in.SecurityGroupAttachments, lb.SecurityGroups, home.VPC)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.Loadbalancers, "load balancer", lb,
		wire.MetaInput{Name: in.Name, Description: in.Description, Labels: in.Labels, Annotations: in.Annotations})
	if err != nil {
		return reply{}, err
	}
	ip, err := c.reservedIP(in.ReservedIPID, lb)
	if err != nil {
		return reply{}, err
	}
	if err := state.Occupy(lb, ip, c.now); err != nil {
		return reply{}, err
	}
	lb.Record = next
	lb.Move(home)
	lb.SecurityGroups = state.Reattach("load balancer", lb.Identity, lb.SecurityGroups, groups)
	lb.DeleteProtection = object.Value(srv.rules(), in.DeleteProtection, lb.DeleteProtection)
	lb.InstanceSize = object.Kept(in.InstanceSize, lb.InstanceSize)
	c.org.TrafficChanged(lb)
	srv.updates(lb, c.now)
	return changed(lb.Identity, srv.viewLoadbalancer(lb, c.now)), nil
}

// newSubnet is the subnet of a load balancer after an update. A public one may
// move within its VPC and keeps its address; an internal one may not move.
func (c *call) newSubnet(lb *state.Loadbalancer, ref *string) (*state.Subnet, error) {
	if ref == nil {
		return lb.Subnet, nil
	}
	home, err := object.Referred(&c.org.Subnets, "subnet", "subnet", *ref)
	switch {
	case err != nil:
		return nil, err
	case home != lb.Subnet && lb.Internal:
		return nil, apierror.Invalid("field \"subnet\": an internal load balancer cannot move to another subnet")
	case home.VPC != lb.Subnet.VPC:
		return nil, apierror.Invalid("field \"subnet\": subnet %q is in another VPC than the load balancer", *ref)
	}
	return home, nil
}

func (srv *Server) deleteLoadbalancer(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	if lb.DeleteProtection {
		return reply{},
			apierror.Conflict("load balancer %q is protected from deletion; switch deleteProtection off first",
				lb.Identity)
	}
	if !lb.Active() {
		return done(lb.Identity), nil
	}
	lb.Remove(c.now, srv.delays.LoadbalancerDelete, srv.delays.LoadbalancerLinger)
	lb.Touch(c.now)
	if !srv.switches.LateRelease {
		c.org.Release(lb, c.now)
	}
	c.org.TrafficChanged(lb)
	lb.Depart()
	c.org.FinishDeletions(c.now)
	return done(lb.Identity), nil
}
