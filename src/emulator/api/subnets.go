package api

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

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
	cidrs, err := parseNetworks("cidr", strings.Split(in.CIDR, ","))
	if err != nil {
		return reply{}, err
	}
	s := &state.Subnet{VPC: home, Table: table, OwnTable: own,
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.NetworkCreate)}}
	if err := s.Occupy(cidrs); err != nil {
		return reply{}, err
	}
	if err := srv.checkPublic("cidr", cidrs); err != nil {
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
