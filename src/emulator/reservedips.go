package emulator

import (
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The kinds of objects that a reserved IP can be attached to, in the API's words.
const (
	resourceLoadbalancer = "cloud_vpc_loadbalancer"
	resourceNATGateway   = "cloud_vpc_nat_gateway"
)

// holder is what a reserved IP can be attached to.
type holder interface {
	resource() (kind, identity string)
	reach() *addressing
	// readdressed records that the addresses changed.
	readdressed(now time.Time)
	// accepts says why a reserved IP cannot be attached, whichever it is.
	accepts() error
	home() *region
}

// ReservedIPState summarises one reserved IP.
type ReservedIPState struct {
	Identity     string   `json:"identity"`
	Name         string   `json:"name"`
	Organisation string   `json:"organisation"`
	Status       string   `json:"status"`
	Addresses    []string `json:"addresses"`
	// AttachedTo is the identity of a load balancer or NAT gateway, or empty.
	AttachedTo string `json:"attachedTo"`
}

type reservedIP struct {
	meta
	life
	region    *region
	addresses []netip.Addr
	holder    holder
}

func (ip *reservedIP) status(now time.Time) string {
	switch phase := ip.at(now); {
	case phase != ready:
		return phase.String()
	case ip.holder != nil:
		return "attached"
	}
	return "available"
}

// short is the reserved IP inside what it is attached to: without its region.
func (ip *reservedIP) short(now time.Time) *wire.ReservedIP {
	updated := ip.UpdatedAt
	view := &wire.ReservedIP{
		Identity: ip.Identity, Name: ip.Name, Slug: ip.Slug, Description: ip.Description,
		Labels: ip.Labels, Annotations: ip.Annotations, CreatedAt: ip.CreatedAt, UpdatedAt: &updated,
		Status: ip.status(now),
	}
	if ip.at(now) != creating {
		view.IPv4Address, view.IPv6Address = families(ip.addresses)
	}
	if ip.holder != nil {
		view.AttachedToResourceType, view.AttachedToResourceIdentity = ip.holder.resource()
	}
	return view
}

func (ip *reservedIP) view(now time.Time) wire.ReservedIP {
	view := *ip.short(now)
	view.Region = ip.region.short()
	return view
}

func (ip *reservedIP) summarise(org *organisation, now time.Time) ReservedIPState {
	out := ReservedIPState{
		Identity: ip.Identity, Name: ip.Name, Organisation: org.Identity,
		Status: ip.status(now), Addresses: texts(ip.addresses),
	}
	if ip.holder != nil {
		_, out.AttachedTo = ip.holder.resource()
	}
	return out
}

func (ip *reservedIP) traits(now time.Time) traits {
	return ip.meta.traits().reference("reservedIp", &ip.meta).reference("region", &ip.region.meta).
		with("status", ip.status(now))
}

func (e *Emulator) reservedIPOperations() map[string]handler {
	const ips = "/v1/reserved-ips"
	return map[string]handler{
		"GET " + ips:                         e.listReservedIPs,
		"POST " + ips:                        e.createReservedIP,
		"GET " + ips + "/{id}":               e.getReservedIP,
		"PUT " + ips + "/{id}":               e.updateReservedIP,
		"DELETE " + ips + "/{id}":            e.deleteReservedIP,
		"POST " + ips + "/{id}/associate":    e.associateReservedIP,
		"POST " + ips + "/{id}/disassociate": e.disassociateReservedIP,
	}
}

func (e *Emulator) listReservedIPs(c *call) (reply, error) {
	return listed(c, &c.org.reservedIPs,
		func(ip *reservedIP) traits { return ip.traits(c.now) },
		func(ip *reservedIP) wire.ReservedIP { return ip.view(c.now) })
}

func (e *Emulator) getReservedIP(c *call) (reply, error) {
	ip, err := addressed(c, &c.org.reservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	return one(ip.view(c.now)), nil
}

func (e *Emulator) createReservedIP(c *call) (reply, error) {
	in, err := decode[wire.ReservedIPInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(e, &c.org.reservedIPs, "reserved IP", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, found := e.store.regions.find(in.Region)
	if !found {
		return reply{}, invalid("field \"region\": region %q not found", in.Region)
	}
	if len(home.public) == 0 {
		return reply{}, conflict("region %q has no public addresses", home.Slug)
	}
	if err := c.org.admit(quotaReservedIPs); err != nil {
		return reply{}, err
	}
	addrs, err := takeAddresses(home.public)
	if err != nil {
		return reply{}, conflict("creating reserved IP %q: %v", kept(in.Name, ""), err)
	}
	ip := &reservedIP{region: home, addresses: addrs, life: life{readyAt: c.now.Add(e.delays.ReservedIPCreate)}}
	ip.meta = newMeta("rip", specified(in.MetaInput), c.org.reservedIPs.hasSlug, c.now)
	c.org.reservedIPs.add(ip)
	return created(ip.Identity, ip.view(c.now)), nil
}

func (e *Emulator) updateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.reservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ReservedIPInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.reservedIPs, "reserved IP", ip, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	ip.meta = next
	return changed(ip.Identity, ip.view(c.now)), nil
}

// deleteReservedIP disassociates it first.
func (e *Emulator) deleteReservedIP(c *call) (reply, error) {
	ip, err := addressed(c, &c.org.reservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	if !ip.wanted() {
		return done(ip.Identity), nil
	}
	if err := ip.disassociate(c.now); err != nil {
		return reply{}, err
	}
	ip.remove(c.now, e.delays.NetworkDelete, e.delays.NetworkLinger)
	ip.touch(c.now)
	org := c.org
	org.leave(&ip.life, func() {
		releaseAddresses(ip.region.public, ip.addresses)
		org.reservedIPs.remove(ip)
	})
	org.sweep(c.now)
	return done(ip.Identity), nil
}

// disassociate sends the holder back to addresses of its own.
func (ip *reservedIP) disassociate(now time.Time) error {
	by := ip.holder
	if by == nil {
		return nil
	}
	if err := occupy(by, nil, now); err != nil {
		return err
	}
	by.readdressed(now)
	return nil
}

// occupy moves a holder to a reserved IP, or with none to addresses of its own.
func occupy(by holder, ip *reservedIP, now time.Time) error {
	before := by.reach().reserved
	if err := by.reach().use(ip, by); err != nil || before == ip {
		return err
	}
	for _, moved := range []*reservedIP{before, ip} {
		if moved != nil {
			moved.touch(now)
		}
	}
	return nil
}

func (e *Emulator) associateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.reservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	by, err := c.association()
	if err != nil {
		return reply{}, err
	}
	if err := ip.free(by, c.now); err != nil {
		return reply{}, err
	}
	if err := occupy(by, ip, c.now); err != nil {
		return reply{}, err
	}
	by.readdressed(c.now)
	return changed(ip.Identity, ip.view(c.now)), nil
}

// association reads what a reserved IP is to be attached to.
func (c *call) association() (holder, error) {
	in, err := decode[wire.AssociateReservedIP](c)
	switch {
	case err != nil:
		return nil, err
	case (in.LoadbalancerIdentity == "") == (in.NATGatewayIdentity == ""):
		return nil, invalid("exactly one of \"loadbalancerIdentity\" and \"natGatewayIdentity\" is required")
	case in.LoadbalancerIdentity != "":
		return referred(&c.org.loadbalancers, "loadbalancerIdentity", "load balancer", in.LoadbalancerIdentity)
	}
	return referred(&c.org.natGateways, "natGatewayIdentity", "NAT gateway", in.NATGatewayIdentity)
}

// free refuses a reserved IP that cannot be attached to a holder.
func (ip *reservedIP) free(by holder, now time.Time) error {
	if err := by.accepts(); err != nil {
		return err
	}
	kind, identity := by.resource()
	switch {
	case ip.region != by.home():
		return invalid("reserved IP %q is in region %s, %s %q in region %s", ip.Identity, ip.region.Slug, kind, identity, by.home().Slug)
	case ip.holder == by:
		return nil
	case ip.status(now) != "available":
		return conflict("reserved IP %q is %s; it must be available", ip.Identity, ip.status(now))
	}
	return nil
}

func (e *Emulator) disassociateReservedIP(c *call) (reply, error) {
	ip, err := writable(c, &c.org.reservedIPs, "reserved IP")
	if err != nil {
		return reply{}, err
	}
	if ip.holder == nil {
		return reply{}, conflict("reserved IP %q is not attached to anything", ip.Identity)
	}
	if err := ip.disassociate(c.now); err != nil {
		return reply{}, err
	}
	return changed(ip.Identity, ip.view(c.now)), nil
}

// reservedIP is what a holder uses after a request: absent means what it uses
// now, "" none, and anything else a reserved IP that must be free.
func (c *call) reservedIP(ref *string, by holder) (*reservedIP, error) {
	switch {
	case ref == nil:
		return by.reach().reserved, nil
	case *ref == "":
		return nil, nil
	}
	ip, err := referred(&c.org.reservedIPs, "reservedIpId", "reserved IP", *ref)
	if err != nil {
		return nil, err
	}
	return ip, ip.free(by, c.now)
}
