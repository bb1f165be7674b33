package inventory

import (
	"context"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

func reservedIPKeys(r resource.ReservedIP) []string {
	keys := []string{slugKey(r.Slug)}
	for _, address := range r.Addresses {
		keys = append(keys, addressKey(address))
	}
	return keys
}

func addressKey(address netip.Addr) string { return "address/" + address.String() }

// newReservedIPs returns the store of all reserved IPs, which is filled when one is needed.
func (i *Inventory) newReservedIPs() *store.Store[resource.ReservedIP] {
	return store.New("reserved IPs", i.listReservedIPs, func(r resource.ReservedIP) string { return r.ID },
		reservedIPKeys)
}

// ReservedIP returns the reserved IP of the VPC's region with the identity, slug or address, from a list at most maxAge
// old. "Not found" comes from a list that began after the first lookup, and is cached for a minute.
func (i *Inventory) ReservedIP(ctx context.Context, ref string,
	maxAge time.Duration) (ip resource.ReservedIP, found bool, err error) {
	keys := []string{ref, slugKey(ref)}
	if address, err := netip.ParseAddr(ref); err == nil {
		keys = append(keys, addressKey(address.Unmap()))
	}
	return i.reservedIPs.LookUpOne(ctx, "reserved IP", ref, keys, maxAge)
}

func (i *Inventory) listReservedIPs(ctx context.Context) ([]resource.ReservedIP, error) {
	vpc, err := i.VPC(ctx)
	if err != nil {
		return nil, err
	}
	inRegion := &filters.FilterKeyValue{Key: filters.FilterRegion, Value: vpc.Region}
	all, err := client.List(client.Optional(ctx), i.cloud, iaas.ReservedIPEndpoint, []filters.Filter{inRegion},
		func(r reservedIPItem) (resource.ReservedIP, bool) {
			return r.object(), (r.Region.Slug == "" || r.Region.Slug == vpc.Region) &&
				!gone(r.Status)
		})
	return all, store.WithPermission(err, "read reserved IPs")
}

// moveReservedIP stores the effect of a write to a load balancer on its reserved IP; "" is none.
func (i *Inventory) moveReservedIP(balancer, before, now string) {
	if before == now {
		return
	}
	attach := func(id, from, to string) {
		i.reservedIPs.ChangeStored(id, func(ip resource.ReservedIP) (resource.ReservedIP, bool) {
			was := ip.AttachedTo
			ip.AttachedTo = to
			return ip, from == "" || was == from
		})
	}
	attach(before, balancer, "")
	attach(now, "", balancer)
}

// reservedIPItem is as much of the API's reserved IP as is needed.
type reservedIPItem struct {
	Identity string `json:"identity"`
	Slug     string `json:"slug"`
	Region   struct {
		Slug string `json:"slug"`
	} `json:"region"`
	Status     string `json:"status"`
	IPv4       string `json:"ipv4Address"`
	IPv6       string `json:"ipv6Address"`
	AttachedTo string `json:"attachedToResourceIdentity"`
}

func (r reservedIPItem) object() resource.ReservedIP {
	ip := resource.ReservedIP{ID: r.Identity, Slug: r.Slug, AttachedTo: r.AttachedTo}
	for _, text := range []string{r.IPv4, r.IPv6} {
		if address, err := netip.ParseAddr(text); err == nil {
			ip.Addresses = append(ip.Addresses, address.Unmap())
		}
	}
	return ip
}
