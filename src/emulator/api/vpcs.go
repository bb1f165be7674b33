package api

import (
	"net/netip"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) vpcOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/vpcs":         srv.listVPCs,
		"POST /v1/vpcs":        srv.createVPC,
		"GET /v1/vpcs/{id}":    srv.getVPC,
		"PUT /v1/vpcs/{id}":    srv.updateVPC,
		"DELETE /v1/vpcs/{id}": srv.deleteVPC,
	}
}

func (srv *Server) listVPCs(c *call) (reply, error) {
	return listed(c, &c.org.VPCs, (*state.VPC).Traits, (*state.VPC).View)
}

func (srv *Server) getVPC(c *call) (reply, error) {
	v, err := addressed(c, &c.org.VPCs, "VPC")
	if err != nil {
		return reply{}, err
	}
	return one(v.View()), nil
}

func (srv *Server) createVPC(c *call) (reply, error) {
	in, err := decode[wire.VPCInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(srv, &c.org.VPCs, "VPC", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, found := srv.Store.Regions.Find(in.CloudRegionIdentity)
	if !found {
		return reply{}, apierror.Invalid("field \"cloudRegionIdentity\": region %q not found", in.CloudRegionIdentity)
	}
	cidrs, err := state.ParseNetworks("vpcCidrs", in.VPCCIDRs)
	if err != nil {
		return reply{}, err
	}
	v := &state.VPC{Org: c.org, Region: home, CIDRs: cidrs,
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.NetworkCreate)}}
	v.Record = object.NewRecord("vpc", specified(in.MetaInput), c.org.VPCs.HasSlug, c.now)
	if err := v.CheckServable("vpcCidrs", cidrs); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaVPCs); err != nil {
		return reply{}, err
	}
	c.org.VPCs.Add(v)
	v.AddDefaultTable(c.now)
	return created(v.Identity, v.View()), nil
}

func (srv *Server) updateVPC(c *call) (reply, error) {
	v, err := writable(c, &c.org.VPCs, "VPC")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.VPCInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.VPCs, "VPC", v, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	cidrs, err := srv.newCIDRs(v, in.VPCCIDRs)
	if err != nil {
		return reply{}, err
	}
	v.Record, v.CIDRs = next, cidrs
	return changed(v.Identity, v.View()), nil
}

// newCIDRs are the ranges of a VPC after an update, which still hold its subnets.
func (srv *Server) newCIDRs(v *state.VPC, sent []string) ([]netip.Prefix, error) {
	if sent == nil && srv.rules().Merge {
		return v.CIDRs, nil
	}
	cidrs, err := state.ParseNetworks("vpcCidrs", sent)
	if err != nil {
		return nil, err
	}
	for _, s := range v.Subnets {
		for _, pool := range s.Pools {
			if !state.Within(pool.Prefix(), cidrs) {
				return nil, apierror.Conflict("field \"vpcCidrs\": subnet %q needs a range that holds %s", s.Identity,
					pool.Prefix())
			}
		}
	}
	if err := v.CheckRanges("vpcCidrs", cidrs); err != nil {
		return nil, err
	}
	return cidrs, v.CheckServable("vpcCidrs", cidrs)
}

func (srv *Server) deleteVPC(c *call) (reply, error) {
	v, err := addressed(c, &c.org.VPCs, "VPC")
	if err != nil {
		return reply{}, err
	}
	if !v.Active() {
		return done(v.Identity), nil
	}
	if err := v.Users.Check("VPC", v.Identity); err != nil {
		return reply{}, err
	}
	v.Remove(c.now, srv.delays.NetworkDelete, srv.delays.NetworkLinger)
	v.Touch(c.now)
	v.Depart()
	c.org.FinishDeletions(c.now)
	return done(v.Identity), nil
}

func (srv *Server) subnetOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/subnets":         srv.listSubnets,
		"POST /v1/subnets":        srv.createSubnet,
		"GET /v1/subnets/{id}":    srv.getSubnet,
		"PUT /v1/subnets/{id}":    srv.updateSubnet,
		"DELETE /v1/subnets/{id}": srv.deleteSubnet,
	}
}

func (srv *Server) listSubnets(c *call) (reply, error) {
	return listed(c, &c.org.Subnets, (*state.Subnet).Traits, (*state.Subnet).View)
}

func (srv *Server) getSubnet(c *call) (reply, error) {
	s, err := addressed(c, &c.org.Subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	return one(s.View()), nil
}

func (srv *Server) createSubnet(c *call) (reply, error) {
	in, err := decode[wire.SubnetInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(srv, &c.org.Subnets, "subnet", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.VPCs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	table, own, err := c.table(in.AssociatedRouteTableIdentity, home, home.Table, false)
	if err != nil {
		return reply{}, err
	}
	cidrs, err := state.ParseNetworks("cidr", strings.Split(in.CIDR, ","))
	if err != nil {
		return reply{}, err
	}
	s := &state.Subnet{VPC: home, Table: table, OwnTable: own,
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.NetworkCreate)}}
	if err := s.Occupy(cidrs); err != nil {
		return reply{}, err
	}
	if err := srv.Store.CheckPublic("cidr", cidrs); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaSubnets); err != nil {
		return reply{}, err
	}
	s.Record = object.NewRecord("subnet", specified(in.MetaInput), c.org.Subnets.HasSlug, c.now)
	s.Join()
	return created(s.Identity, s.View()), nil
}

func (srv *Server) updateSubnet(c *call) (reply, error) {
	s, err := writable(c, &c.org.Subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SubnetInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.Subnets, "subnet", s, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	table, own, err := c.table(in.AssociatedRouteTableIdentity, s.VPC, s.Table, s.OwnTable)
	if err != nil {
		return reply{}, err
	}
	s.Record, s.OwnTable = next, own
	if table != s.Table {
		s.Table.Subnets.Remove(s)
		table.Subnets.Add(s)
		s.Table = table
	}
	return changed(s.Identity, s.View()), nil
}

func (srv *Server) deleteSubnet(c *call) (reply, error) {
	s, err := addressed(c, &c.org.Subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	if !s.Active() {
		return done(s.Identity), nil
	}
	if err := s.Users.Check("subnet", s.Identity); err != nil {
		return reply{}, err
	}
	for r := range s.VPC.Firewall.All() {
		if r.Inner == s || r.Source == s || r.DestinationTo == s {
			return reply{},
				apierror.Conflict("subnet %q is in use by VPC firewall rule %q; delete or change that first",
					s.Identity, r.Identity)
		}
	}
	s.Remove(c.now, srv.delays.NetworkDelete, srv.delays.NetworkLinger)
	s.Touch(c.now)
	s.Depart()
	c.org.FinishDeletions(c.now)
	return done(s.Identity), nil
}
