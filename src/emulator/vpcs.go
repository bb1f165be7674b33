package emulator

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// statusReady is the status of a VPC, subnet or load balancer that can be used.
const statusReady = "ready"

// short is the VPC inside another object: without its subnets and organisation.
func (v *vpc) short() *wire.VPC {
	if known, found := mentioned[wire.VPC](v.org.store, v); found {
		return known
	}
	return mention(v.org.store, v, &wire.VPC{
		Meta: v.nested(), Status: statusReady, CIDRs: texts(v.cidrs), CloudRegion: v.region.short(),
		Subnets: []wire.Subnet{}, FirewallRules: []any{},
	})
}

func (v *vpc) view() wire.VPC {
	view := *v.short()
	view.Organisation, view.Subnets = v.org.short(), []wire.Subnet{}
	view.FirewallRules = []any{}
	for r := range v.firewall.all() {
		view.FirewallRules = append(view.FirewallRules, r.short())
	}
	for _, s := range v.subnets {
		view.Subnets = append(view.Subnets, *s.short())
	}
	return view
}

// short is the subnet inside another object: without its VPC.
func (s *subnet) short() *wire.Subnet {
	if known, found := mentioned[wire.Subnet](s.vpc.org.store, s); found {
		return known
	}
	view := &wire.Subnet{Meta: s.nested(), VPCIdentity: s.vpc.Identity, Status: statusReady}
	var cidrs []string
	for _, pool := range s.pools {
		cidrs = append(cidrs, pool.Prefix().String())
		if pool.Prefix().Addr().Is4() {
			view.V4UsingIPs, view.V4AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv4"
		} else {
			view.V6UsingIPs, view.V6AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv6"
		}
	}
	if len(s.pools) > 1 {
		view.Type = "Dual"
	}
	view.CIDR = strings.Join(cidrs, ",")
	return mention(s.vpc.org.store, s, view)
}

func (s *subnet) view() wire.Subnet {
	view := *s.short()
	view.VPC = s.vpc.short()
	return view
}

func (v *vpc) traits() traits {
	return v.meta.traits().reference("vpc", &v.meta).reference("region", &v.region.meta).with("status", statusReady)
}

func (e *Emulator) listVPCs(c *call) (reply, error) {
	views := []wire.VPC{}
	for v := range c.org.vpcs.all() {
		if c.filter.matches(v.Labels, v.traits) {
			views = append(views, v.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getVPC(c *call) (reply, error) {
	v, found := c.org.vpcs.find(c.PathValue("id"))
	if !found {
		return reply{}, notFound("VPC", c.PathValue("id"))
	}
	return one(v.view()), nil
}

func (s *subnet) traits() traits {
	return s.meta.traits().reference("subnet", &s.meta).reference("vpc", &s.vpc.meta).
		reference("region", &s.vpc.region.meta).with("status", statusReady)
}

func (e *Emulator) listSubnets(c *call) (reply, error) {
	views := []wire.Subnet{}
	for s := range c.org.subnets.all() {
		if c.filter.matches(s.Labels, s.traits) {
			views = append(views, s.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getSubnet(c *call) (reply, error) {
	s, found := c.org.subnets.find(c.PathValue("id"))
	if !found {
		return reply{}, notFound("subnet", c.PathValue("id"))
	}
	return one(s.view()), nil
}
