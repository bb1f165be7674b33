package emulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// statusUpdating is the status of a load balancer that changes while it works.
const statusUpdating = "updating"

// hostnames is the domain of load balancers that have a name, which nobody can
// resolve: it is never to exist (RFC 6761).
const hostnames = ".loadbalancers.emulator.invalid"

// status is in lower case, the only spelling that clients compare with.
func (lb *loadbalancer) status(now time.Time) string {
	if lb.held != "" && lb.wanted() {
		return lb.held
	}
	if lb.at(now) == ready && now.Before(lb.changingUntil) {
		return statusUpdating
	}
	return lb.at(now).String()
}

// updates makes the load balancer take its time with a change.
func (e *Emulator) updates(lb *loadbalancer, now time.Time) {
	lb.changingUntil = now.Add(e.delays.LoadbalancerUpdate)
}

// creating says whether the load balancer has no address and no traffic yet.
func (lb *loadbalancer) creating(now time.Time) bool {
	return lb.at(now) == creating || lb.wanted() && lb.held == creating.String()
}

func (lb *loadbalancer) resource() (kind, identity string) { return resourceLoadbalancer, lb.Identity }
func (lb *loadbalancer) reach() *addressing                { return &lb.addressing }
func (lb *loadbalancer) home() *region                     { return lb.subnet.vpc.region }

func (lb *loadbalancer) readdressed(now time.Time) {
	lb.touch(now)
	lb.subnet.vpc.org.trafficChanged(lb)
}

func (lb *loadbalancer) accepts() error {
	if lb.internal {
		return invalid("load balancer %q is internal and cannot have a reserved IP", lb.Identity)
	}
	return nil
}

// addressing is where the addresses of a new load balancer come from.
func (e *Emulator) addressing(home *subnet, internal bool) addressing {
	out := addressing{pools: home.vpc.region.public, v4Only: e.switches.IPv4OnlyLoadbalancers}
	if internal {
		out.pools = home.pools
	}
	if out.v4Only {
		out.pools = v4Pools(out.pools)
	}
	return out
}

func (e *Emulator) viewLoadbalancer(lb *loadbalancer, now time.Time) wire.Loadbalancer {
	v := lb.subnet.vpc
	view := wire.Loadbalancer{
		Meta: lb.Meta, Status: lb.status(now), Organisation: v.org.short(),
		VPCIdentity: v.Identity, VPC: v.short(), SubnetIdentity: lb.subnet.Identity, Subnet: lb.subnet.short(),
		ExternalIPAddresses: []string{}, InternalIPAddresses: []string{},
		LoadbalancerListeners: []wire.Listener{}, DeleteProtection: lb.deleteProtection,
		SecurityGroups: securityGroupViews(lb.securityGroups, now), InstanceSize: lb.instanceSize,
	}
	if ip := lb.reserved; ip != nil {
		view.ReservedIPIdentity, view.ReservedIP = ip.Identity, ip.short(now)
	}
	for _, l := range lb.listeners {
		view.LoadbalancerListeners = append(view.LoadbalancerListeners, l.view())
	}
	if lb.creating(now) {
		return view
	}
	if e.switches.LoadbalancerHostnames {
		view.Hostname = lb.Identity + hostnames
	}
	if lb.internal {
		view.InternalIPAddresses = texts(lb.addresses())
	}
	if !lb.internal || e.switches.InternalAddressAlsoExternal {
		view.ExternalIPAddresses = texts(lb.addresses())
	}
	return view
}

func (c *call) loadbalancer() (*loadbalancer, error) {
	lb, found := c.org.loadbalancers.find(c.PathValue("id"))
	if !found {
		return nil, notFound("load balancer", c.PathValue("id"))
	}
	return lb, nil
}

// wantedLoadbalancer is the load balancer of a write: not one on its way out.
func (c *call) wantedLoadbalancer() (*loadbalancer, error) {
	lb, err := c.loadbalancer()
	if err == nil && !lb.wanted() {
		err = conflict("load balancer %q is being deleted", lb.Identity)
	}
	return lb, err
}

func (lb *loadbalancer) traits(now time.Time) traits {
	return lb.meta.traits().reference("loadbalancer", &lb.meta).reference("subnet", &lb.subnet.meta).
		reference("vpc", &lb.subnet.vpc.meta).reference("region", &lb.subnet.vpc.region.meta).
		with("status", lb.status(now)).with("reservedIp", lb.references()...)
}

func (e *Emulator) listLoadbalancers(c *call) (reply, error) {
	views := []wire.Loadbalancer{}
	for lb := range c.org.loadbalancers.all() {
		if c.filter.matches(lb.Labels, func() traits { return lb.traits(c.now) }) {
			views = append(views, e.viewLoadbalancer(lb, c.now))
		}
	}
	return many(views), nil
}

func (e *Emulator) getLoadbalancer(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	return one(e.viewLoadbalancer(lb, c.now)), nil
}

func (e *Emulator) createLoadbalancer(c *call) (reply, error) {
	in, err := decode[wire.CreateLoadbalancer](c)
	if err != nil {
		return reply{}, err
	}
	described := spec{name: in.Name, description: in.Description, labels: in.Labels, annotations: in.Annotations}
	if err := checkNew(e, &c.org.loadbalancers, "load balancer", described); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.subnets, "subnet", "subnet", in.Subnet)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaLoadbalancers); err != nil {
		return reply{}, err
	}
	lb := &loadbalancer{
		subnet: home, internal: in.InternalLoadbalancer, deleteProtection: in.DeleteProtection,
		instanceSize: in.InstanceSize, life: life{readyAt: c.now.Add(e.delays.LoadbalancerCreate)},
		addressing: e.addressing(home, in.InternalLoadbalancer),
	}
	lb.meta = newMeta("lb", described, c.org.loadbalancers.hasSlug, c.now)
	if err := e.addLoadbalancer(c, lb, in); err != nil {
		return reply{}, err
	}
	return created(lb.Identity, e.viewLoadbalancer(lb, c.now)), nil
}

// addLoadbalancer adds a load balancer along with all that it refers to, or
// nothing.
func (e *Emulator) addLoadbalancer(c *call, lb *loadbalancer, in wire.CreateLoadbalancer) error {
	listeners, err := e.inlineListeners(c, lb, in.Listeners)
	if err != nil {
		return err
	}
	groups, err := c.org.securityGroupsIn(lb.subnet.vpc, in.SecurityGroupAttachments)
	if err != nil {
		return err
	}
	ip, err := c.reservedIP(in.ReservedIPID, lb)
	if err != nil {
		return err
	}
	if err := occupy(lb, ip, c.now); err != nil {
		return fmt.Errorf("creating load balancer %q: %w", in.Name, err)
	}
	c.org.loadbalancers.add(lb)
	lb.subnet.users.add("load balancer", lb.Identity)
	lb.securityGroups = reattach("load balancer", lb.Identity, nil, groups)
	for _, l := range listeners {
		c.org.addListener(l)
	}
	c.org.trafficChanged(lb)
	return nil
}

func (e *Emulator) updateLoadbalancer(c *call) (reply, error) {
	lb, err := c.wantedLoadbalancer()
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
	groups, err := c.attachments(e.rules(), in.SecurityGroupAttachments, lb.securityGroups, home.vpc)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.loadbalancers, "load balancer", lb,
		wire.MetaInput{Name: in.Name, Description: in.Description, Labels: in.Labels, Annotations: in.Annotations})
	if err != nil {
		return reply{}, err
	}
	ip, err := c.reservedIP(in.ReservedIPID, lb)
	if err != nil {
		return reply{}, err
	}
	if err := occupy(lb, ip, c.now); err != nil {
		return reply{}, err
	}
	lb.meta = next
	lb.move(home)
	lb.securityGroups = reattach("load balancer", lb.Identity, lb.securityGroups, groups)
	lb.deleteProtection = value(e.rules(), in.DeleteProtection, lb.deleteProtection)
	lb.instanceSize = kept(in.InstanceSize, lb.instanceSize)
	c.org.trafficChanged(lb)
	e.updates(lb, c.now)
	return changed(lb.Identity, e.viewLoadbalancer(lb, c.now)), nil
}

// move puts the load balancer into another subnet; its addresses stay.
func (lb *loadbalancer) move(home *subnet) {
	lb.subnet.users.remove("load balancer", lb.Identity)
	home.users.add("load balancer", lb.Identity)
	lb.subnet = home
}

// newSubnet is the subnet of a load balancer after an update. A public one may
// move within its VPC and keeps its address; an internal one may not move.
func (c *call) newSubnet(lb *loadbalancer, ref *string) (*subnet, error) {
	if ref == nil {
		return lb.subnet, nil
	}
	home, err := referred(&c.org.subnets, "subnet", "subnet", *ref)
	switch {
	case err != nil:
		return nil, err
	case home != lb.subnet && lb.internal:
		return nil, invalid("field \"subnet\": an internal load balancer cannot move to another subnet")
	case home.vpc != lb.subnet.vpc:
		return nil, invalid("field \"subnet\": subnet %q is in another VPC than the load balancer", *ref)
	}
	return home, nil
}

func (e *Emulator) deleteLoadbalancer(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	if lb.deleteProtection {
		return reply{}, conflict("load balancer %q is protected from deletion; switch deleteProtection off first", lb.Identity)
	}
	if !lb.wanted() {
		return done(lb.Identity), nil
	}
	lb.remove(c.now, e.delays.LoadbalancerDelete, e.delays.LoadbalancerLinger)
	lb.touch(c.now)
	if !e.switches.LateRelease {
		c.org.release(lb, c.now)
	}
	c.org.trafficChanged(lb)
	org := c.org
	org.leave(&lb.life, func() {
		org.release(lb, lb.goneAt())
		lb.leave()
		lb.subnet.users.remove("load balancer", lb.Identity)
		org.loadbalancers.remove(lb)
	})
	org.sweep(c.now)
	return done(lb.Identity), nil
}

// release lets go of what outlives a load balancer, and deletes its listeners.
func (o *organisation) release(lb *loadbalancer, now time.Time) {
	for _, l := range slices.Clone(lb.listeners) {
		o.removeListener(l)
	}
	lb.securityGroups = reattach("load balancer", lb.Identity, lb.securityGroups, nil)
	lb.leaveReserved(now)
}
