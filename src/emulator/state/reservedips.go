package state

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The kinds of objects that a reserved IP can be attached to, in the API's words.
const (
	resourceLoadbalancer = "cloud_vpc_loadbalancer"
	resourceNATGateway   = "cloud_vpc_nat_gateway"
)

// Holder is what a reserved IP can be attached to.
type Holder interface {
	Resource() (kind, identity string)
	Reach() *Addressing
	// Readdressed records that the addresses changed.
	Readdressed(now time.Time)
	// accepts says why a reserved IP cannot be attached, whichever it is.
	accepts() error
	home() *region
}

// ReservedIP is a public address, or one of each address family, that load balancers and NAT gateways can use.
type ReservedIP struct {
	object.Record
	object.Life
	Region    *region
	Addresses []netip.Addr
	Holder    Holder
}

// Status is the status of the reserved IP in the words of the API.
func (ip *ReservedIP) Status(now time.Time) string {
	switch phase := ip.At(now); {
	case phase != object.Ready:
		return phase.String()
	case ip.Holder != nil:
		return "attached"
	}
	return "available"
}

// Short is the reserved IP inside what it is attached to: without its region.
func (ip *ReservedIP) Short(now time.Time) *wire.ReservedIP {
	updated := ip.UpdatedAt
	view := &wire.ReservedIP{
		Identity: ip.Identity, Name: ip.Name, Slug: ip.Slug, Description: ip.Description,
		Labels: ip.Labels, Annotations: ip.Annotations, CreatedAt: ip.CreatedAt, UpdatedAt: &updated,
		Status: ip.Status(now),
	}
	if ip.At(now) != object.Creating {
		view.IPv4Address, view.IPv6Address = families(ip.Addresses)
	}
	if ip.Holder != nil {
		view.AttachedToResourceType, view.AttachedToResourceIdentity = ip.Holder.Resource()
	}
	return view
}

// View is the reserved IP as the API describes it.
func (ip *ReservedIP) View(now time.Time) wire.ReservedIP {
	view := *ip.Short(now)
	view.Region = ip.Region.Short()
	return view
}

// Traits are the values of the reserved IP that filters of lists can name.
func (ip *ReservedIP) Traits(now time.Time) object.Traits {
	return ip.Record.Traits().Reference("reservedIp", &ip.Record).Reference("region", &ip.Region.Record).
		With("status", ip.Status(now))
}

// Disassociate sends the holder back to addresses of its own.
func (ip *ReservedIP) Disassociate(now time.Time) error {
	by := ip.Holder
	if by == nil {
		return nil
	}
	if err := Occupy(by, nil, now); err != nil {
		return err
	}
	by.Readdressed(now)
	return nil
}

// Occupy moves a holder to a reserved IP, or with none to addresses of its own.
func Occupy(by Holder, ip *ReservedIP, now time.Time) error {
	before := by.Reach().Reserved
	if err := by.Reach().use(ip, by); err != nil || before == ip {
		return err
	}
	for _, moved := range []*ReservedIP{before, ip} {
		if moved != nil {
			moved.Touch(now)
		}
	}
	return nil
}

// Free refuses a reserved IP that cannot be attached to a holder.
func (ip *ReservedIP) Free(by Holder, now time.Time) error {
	if err := by.accepts(); err != nil {
		return err
	}
	kind, identity := by.Resource()
	switch {
	case ip.Region != by.home():
		return apierror.Invalid("reserved IP %q is in region %s, %s %q in region %s", ip.Identity, ip.Region.Slug, kind,
			identity, by.home().Slug)
	case ip.Holder == by:
		return nil
	case ip.Status(now) != "available":
		return apierror.Conflict("reserved IP %q is %s; it must be available", ip.Identity, ip.Status(now))
	}
	return nil
}

// DepartReservedIP ends what a reserved IP is part of.
func (o *Organisation) DepartReservedIP(ip *ReservedIP) {
	o.Leave(&ip.Life, nil, func() {
		ReleaseAddresses(ip.Region.Public, ip.Addresses)
		o.ReservedIPs.Remove(ip)
	})
}

func (o *Organisation) describeReservedIPs() (out []seed.ReservedIP) {
	for ip := range o.ReservedIPs.All() {
		of := seed.Described(ip.Meta)
		out = append(out, seed.ReservedIP{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
			Life: lived(ip.Life, ""), Region: ip.Region.Identity, Addresses: ip.Addresses})
	}
	return out
}

func (o *Organisation) seedReservedIP(in *seed.ReservedIP, now time.Time) error {
	of := checked{kind: "reserved IP", life: in.Life, now: now,
		object: seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}}
	if err := checkNew(o.Store, &o.ReservedIPs, of); err != nil {
		return err
	}
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	if _, taken := o.ReservedIPs.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	addrs, err := home.publicAddresses(in.Addresses)
	if err != nil {
		return err
	}
	ip := &ReservedIP{Region: home, Addresses: addrs, Life: revived(in.Life)}
	ip.Record = recorded("rip", of.object, o.ReservedIPs.HasSlug, now)
	o.ReservedIPs.Add(ip)
	if in.Removed() {
		o.DepartReservedIP(ip)
	}
	return nil
}

// publicAddresses reserves the given addresses, or takes free ones when there
// are none.
func (r *region) publicAddresses(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 && len(r.Public) > 0 {
		return TakeAddresses(r.Public)
	}
	for _, addr := range wanted {
		if err := reserveIn(r.Public, addr); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("region %s has no public addresses", r.Slug)
	}
	return wanted, nil
}

// reserveIn reserves an address in the pool that holds it.
func reserveIn(pools []*address.Pool, addr netip.Addr) error {
	for _, pool := range pools {
		if pool.Prefix().Contains(addr) {
			return pool.Reserve(addr)
		}
	}
	return fmt.Errorf("address %s is outside the region's public addresses", addr)
}
