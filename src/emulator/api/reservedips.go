package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) reservedIPOperations() map[string]handler {
	const ips = "/v1/reserved-ips"
	return map[string]handler{
		"GET " + ips:                         srv.listReservedIPs,
		"POST " + ips:                        srv.createReservedIP,
		"GET " + ips + "/{id}":               srv.getReservedIP,
		"PUT " + ips + "/{id}":               srv.updateReservedIP,
		"DELETE " + ips + "/{id}":            srv.deleteReservedIP,
		"POST " + ips + "/{id}/associate":    srv.associateReservedIP,
		"POST " + ips + "/{id}/disassociate": srv.disassociateReservedIP,
	}
}

func (srv *Server) listReservedIPs(c *call) (reply, error) {
	return listed(c, &c.org.ReservedIPs,
		func(ip *state.ReservedIP) object.Traits { return ip.Traits(c.now) },
		func(ip *state.ReservedIP) wire.ReservedIP { return ip.View(c.now) })
}

func (srv *Server) getReservedIP(c *call) (reply, error) {
	ip, err := addressed(c, &c.org.ReservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	return one(ip.View(c.now)), nil
}

func (srv *Server) createReservedIP(c *call) (reply, error) {
	in, err := decode[wire.ReservedIPInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(srv, &c.org.ReservedIPs, "reserved IP", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, found := srv.Store.Regions.Find(in.Region)
	if !found {
		return reply{}, apierror.Invalid("field \"region\": region %q not found", in.Region)
	}
	if len(home.Public) == 0 {
		return reply{}, apierror.Conflict("region %q has no public addresses", home.Slug)
	}
	if err := c.org.Admit(state.QuotaReservedIPs); err != nil {
		return reply{}, err
	}
	addrs, err := state.TakeAddresses(home.Public)
	if err != nil {
		return reply{}, apierror.Conflict("creating reserved IP %q: %v", object.Kept(in.Name, ""), err)
	}
	ip := &state.ReservedIP{Region: home, Addresses: addrs,
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.ReservedIPCreate)}}
	ip.Record = object.NewRecord("rip", specified(in.MetaInput), c.org.ReservedIPs.HasSlug, c.now)
	c.org.ReservedIPs.Add(ip)
	return created(ip.Identity, ip.View(c.now)), nil
}

func (srv *Server) updateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.ReservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ReservedIPInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.ReservedIPs, "reserved IP", ip, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	ip.Record = next
	return changed(ip.Identity, ip.View(c.now)), nil
}

// deleteReservedIP disassociates it first.
func (srv *Server) deleteReservedIP(c *call) (reply, error) {
	ip, err := addressed(c, &c.org.ReservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	if !ip.Active() {
		return done(ip.Identity), nil
	}
	if err := ip.Disassociate(c.now); err != nil {
		return reply{}, err
	}
	ip.Remove(c.now, srv.delays.NetworkDelete, srv.delays.NetworkLinger)
	ip.Touch(c.now)
	c.org.DepartReservedIP(ip)
	c.org.FinishDeletions(c.now)
	return done(ip.Identity), nil
}

func (srv *Server) associateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.ReservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	by, err := c.association()
	if err != nil {
		return reply{}, err
	}
	if err := ip.Free(by, c.now); err != nil {
		return reply{}, err
	}
	if err := state.Occupy(by, ip, c.now); err != nil {
		return reply{}, err
	}
	by.Readdressed(c.now)
	return changed(ip.Identity, ip.View(c.now)), nil
}

// association reads what a reserved IP is to be attached to.
func (c *call) association() (state.Holder, error) {
	in, err := decode[wire.AssociateReservedIP](c)
	switch {
	case err != nil:
		return nil, err
	case (in.LoadbalancerIdentity == "") == (in.NATGatewayIdentity == ""):
		return nil, apierror.Invalid("exactly one of \"loadbalancerIdentity\" and \"natGatewayIdentity\" is required")
	case in.LoadbalancerIdentity != "":
		return object.Referred(&c.org.Loadbalancers, "loadbalancerIdentity", "load balancer", in.LoadbalancerIdentity)
	}
	return object.Referred(&c.org.NATGateways, "natGatewayIdentity", "NAT gateway", in.NATGatewayIdentity)
}

func (srv *Server) disassociateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.ReservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	if ip.Holder == nil {
		return reply{}, apierror.Conflict("reserved IP %q is not attached to anything", ip.Identity)
	}
	if err := ip.Disassociate(c.now); err != nil {
		return reply{}, err
	}
	return changed(ip.Identity, ip.View(c.now)), nil
}

// reservedIP is what a holder uses after a request: absent means what it uses
// now, "" none, and anything else a reserved IP that must be free.
func (c *call) reservedIP(ref *string, by state.Holder) (*state.ReservedIP, error) {
	switch {
	case ref == nil:
		return by.Reach().Reserved, nil
	case *ref == "":
		return nil, nil
	}
	ip, err := object.Referred(&c.org.ReservedIPs, "reservedIpId", "reserved IP", *ref)
	if err != nil {
		return nil, err
	}
	return ip, ip.Free(by, c.now)
}
