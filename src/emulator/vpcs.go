package emulator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// statusReady is the status of a machine that can be used.
const statusReady = "ready"

type vpc struct {
	meta
	life
	org     *organisation
	region  *region
	cidrs   []netip.Prefix
	subnets []*subnet
	// firewall are the rules of the VPC.
	firewall collection[*firewallRule]
	// table is the route table of subnets that name none.
	table *routeTable
	// users are what lives in the VPC, except its default route table.
	users users
}

func (v *vpc) status() string { return v.at(v.org.store.now).String() }

// short is the VPC inside another object: without its subnets and organisation.
func (v *vpc) short() *wire.VPC {
	if known, found := mentioned[wire.VPC](v.org.store, v); found {
		return known
	}
	return mention(v.org.store, v, &wire.VPC{
		Meta: v.nested(), Status: v.status(), CIDRs: texts(v.cidrs), CloudRegion: v.region.short(),
		Subnets: []wire.Subnet{}, FirewallRules: []any{},
	})
}

func (v *vpc) view() wire.VPC {
	view := *v.short()
	view.Organisation, view.RouteTable, view.Subnets = v.org.short(), v.table.short(), []wire.Subnet{}
	view.FirewallRules = []any{}
	for r := range v.firewall.all() {
		view.FirewallRules = append(view.FirewallRules, r.short())
	}
	for _, s := range v.subnets {
		view.Subnets = append(view.Subnets, *s.short())
	}
	return view
}

func (v *vpc) traits() traits {
	return v.meta.traits().reference("vpc", &v.meta).reference("region", &v.region.meta).with("status", v.status())
}

func (e *Emulator) vpcOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/vpcs":         e.listVPCs,
		"POST /v1/vpcs":        e.createVPC,
		"GET /v1/vpcs/{id}":    e.getVPC,
		"PUT /v1/vpcs/{id}":    e.updateVPC,
		"DELETE /v1/vpcs/{id}": e.deleteVPC,
	}
}

func (e *Emulator) listVPCs(c *call) (reply, error) {
	return listed(c, &c.org.vpcs, (*vpc).traits, (*vpc).view)
}

func (e *Emulator) getVPC(c *call) (reply, error) {
	v, err := addressed(c, &c.org.vpcs, "VPC")
	if err != nil {
		return reply{}, err
	}
	return one(v.view()), nil
}

func (e *Emulator) createVPC(c *call) (reply, error) {
	in, err := decode[wire.VPCInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(e, &c.org.vpcs, "VPC", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, found := e.store.regions.find(in.CloudRegionIdentity)
	if !found {
		return reply{}, invalid("field \"cloudRegionIdentity\": region %q not found", in.CloudRegionIdentity)
	}
	cidrs, err := parseNetworks("vpcCidrs", in.VPCCIDRs)
	if err != nil {
		return reply{}, err
	}
	v := &vpc{org: c.org, region: home, cidrs: cidrs, life: life{readyAt: c.now.Add(e.delays.NetworkCreate)}}
	v.meta = newMeta("vpc", specified(in.MetaInput), c.org.vpcs.hasSlug, c.now)
	if err := e.checkServable("vpcCidrs", v, cidrs); err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaVPCs); err != nil {
		return reply{}, err
	}
	c.org.vpcs.add(v)
	v.addDefaultTable(c.now)
	return created(v.Identity, v.view()), nil
}

// addDefaultTable gives a VPC its default route table, unless it has one.
func (v *vpc) addDefaultTable(now time.Time) {
	if v.table == nil {
		v.org.addRouteTable(&routeTable{vpc: v, isDefault: true,
			meta: newMeta("rtb", spec{name: "default"}, v.org.routeTables.hasSlug, now)})
	}
}

func (e *Emulator) updateVPC(c *call) (reply, error) {
	v, err := writable(c, &c.org.vpcs, "VPC")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.VPCInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.vpcs, "VPC", v, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	cidrs, err := e.newCIDRs(v, in.VPCCIDRs)
	if err != nil {
		return reply{}, err
	}
	v.meta, v.cidrs = next, cidrs
	return changed(v.Identity, v.view()), nil
}

// newCIDRs are the ranges of a VPC after an update, which still hold its subnets.
func (e *Emulator) newCIDRs(v *vpc, sent []string) ([]netip.Prefix, error) {
	if sent == nil && e.rules().merge {
		return v.cidrs, nil
	}
	cidrs, err := parseNetworks("vpcCidrs", sent)
	if err != nil {
		return nil, err
	}
	for _, s := range v.subnets {
		for _, pool := range s.pools {
			if !within(pool.Prefix(), cidrs) {
				return nil, conflict("field \"vpcCidrs\": subnet %q needs a range that holds %s", s.Identity, pool.Prefix())
			}
		}
	}
	return cidrs, e.checkServable("vpcCidrs", v, cidrs)
}

func (e *Emulator) deleteVPC(c *call) (reply, error) {
	v, err := addressed(c, &c.org.vpcs, "VPC")
	if err != nil {
		return reply{}, err
	}
	if !v.wanted() {
		return done(v.Identity), nil
	}
	if err := v.users.check("VPC", v.Identity); err != nil {
		return reply{}, err
	}
	v.remove(c.now, e.delays.NetworkDelete, e.delays.NetworkLinger)
	v.touch(c.now)
	org := c.org
	org.removeRouteTable(v.table)
	org.leave(&v.life, func() { org.vpcs.remove(v) })
	org.sweep(c.now)
	return done(v.Identity), nil
}

// parseNetwork reads a CIDR without host bits.
func parseNetwork(field, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, invalid("field %q: %q is not a CIDR such as 10.0.0.0/16", field, text)
	}
	if prefix != prefix.Masked() {
		return prefix, invalid("field %q: %s has host bits; it should be %s", field, prefix, prefix.Masked())
	}
	return prefix, nil
}

// parseNetworks reads at least one CIDR. They must not overlap.
func parseNetworks(field string, texts []string) ([]netip.Prefix, error) {
	if len(texts) == 0 {
		return nil, invalid("field %q must have at least one CIDR", field)
	}
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := parseNetwork(field, text)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(prefixes, prefix.Overlaps); i >= 0 {
			return nil, invalid("field %q: %s overlaps %s", field, prefix, prefixes[i])
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
