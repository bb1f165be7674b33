package emulator

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// status is in lower case, the only spelling that clients compare with.
func (lb *loadbalancer) status(now time.Time) string { return lb.at(now).String() }

// pools are where the addresses of the load balancer come from.
func (lb *loadbalancer) pools() []*address.Pool {
	if lb.internal {
		return lb.subnet.pools
	}
	return lb.subnet.vpc.region.public
}

func (e *Emulator) viewLoadbalancer(lb *loadbalancer, now time.Time) wire.Loadbalancer {
	v := lb.subnet.vpc
	view := wire.Loadbalancer{
		Meta: lb.Meta, Status: lb.status(now), Organisation: v.org.short(),
		VPCIdentity: v.Identity, VPC: v.short(), SubnetIdentity: lb.subnet.Identity, Subnet: lb.subnet.short(),
		ExternalIPAddresses: []string{}, InternalIPAddresses: []string{},
		LoadbalancerListeners: []wire.Listener{}, DeleteProtection: lb.deleteProtection,
		SecurityGroups: []any{}, InstanceSize: lb.instanceSize,
	}
	for _, l := range lb.listeners {
		view.LoadbalancerListeners = append(view.LoadbalancerListeners, l.view())
	}
	if lb.at(now) == creating {
		return view
	}
	if lb.internal {
		view.InternalIPAddresses = texts(lb.addresses)
	}
	if !lb.internal || e.switches.InternalAddressAlsoExternal {
		view.ExternalIPAddresses = texts(lb.addresses)
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
		with("status", lb.status(now))
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
	if err := checkMeta(described); err != nil {
		return reply{}, err
	}
	home, found := c.org.subnets.find(in.Subnet)
	if !found {
		return reply{}, invalid("field \"subnet\": subnet %q not found", in.Subnet)
	}
	if err := checkUnsupported(in.SecurityGroupAttachments, in.ReservedIPID); err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaLoadbalancers); err != nil {
		return reply{}, err
	}
	lb := &loadbalancer{
		subnet: home, internal: in.InternalLoadbalancer, deleteProtection: in.DeleteProtection,
		instanceSize: in.InstanceSize, life: life{readyAt: c.now.Add(e.delays.LoadbalancerCreate)},
	}
	lb.meta = newMeta("lb", described, c.org.loadbalancers.hasSlug, c.now)
	listeners, err := e.inlineListeners(c, lb, in.Listeners)
	if err != nil {
		return reply{}, err
	}
	if lb.addresses, err = takeAddresses(lb.pools()); err != nil {
		return reply{}, conflict("creating load balancer %q: %v", in.Name, err)
	}
	c.org.loadbalancers.add(lb)
	for _, l := range listeners {
		c.org.addListener(l)
	}
	c.org.trafficChanged(lb)
	return created(lb.Identity, e.viewLoadbalancer(lb, c.now)), nil
}

// checkUnsupported refuses references to objects that cannot exist here.
func checkUnsupported(securityGroups []string, reservedIP *string) error {
	if len(securityGroups) > 0 {
		return invalid("field \"securityGroupAttachments\": security group %q not found", securityGroups[0])
	}
	if reservedIP != nil && *reservedIP != "" {
		return invalid("field \"reservedIpId\": reserved IP %q not found", *reservedIP)
	}
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
	if err := checkUnsupported(in.SecurityGroupAttachments, in.ReservedIPID); err != nil {
		return reply{}, err
	}
	home, err := c.newSubnet(lb, in.Subnet)
	if err != nil {
		return reply{}, err
	}
	if err := lb.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	lb.subnet = home
	lb.deleteProtection = value(e.rules(), in.DeleteProtection, lb.deleteProtection)
	lb.instanceSize = kept(in.InstanceSize, lb.instanceSize)
	c.org.trafficChanged(lb)
	return changed(lb.Identity, e.viewLoadbalancer(lb, c.now)), nil
}

// newSubnet is the subnet of a load balancer after an update. A public one may
// move within its VPC and keeps its address; an internal one may not move.
func (c *call) newSubnet(lb *loadbalancer, ref *string) (*subnet, error) {
	if ref == nil {
		return lb.subnet, nil
	}
	home, found := c.org.subnets.find(*ref)
	switch {
	case !found:
		return nil, invalid("field \"subnet\": subnet %q not found", *ref)
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
		c.org.removeListeners(lb)
	}
	c.org.trafficChanged(lb)
	c.org.leave(&lb.life, func() {
		c.org.removeListeners(lb)
		releaseAddresses(lb.pools(), lb.addresses)
		c.org.loadbalancers.remove(lb)
	})
	c.org.sweep(c.now)
	return done(lb.Identity), nil
}

// removeListeners deletes all listeners of a load balancer.
func (o *organisation) removeListeners(lb *loadbalancer) {
	for _, l := range slices.Clone(lb.listeners) {
		o.removeListener(l)
	}
}
