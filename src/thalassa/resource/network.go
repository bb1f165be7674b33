package resource

import (
	"net/netip"
	"slices"
)

// VPC is the network of the cluster.
type VPC struct {
	ID      string
	Region  string // slug
	Subnets []Subnet
}

// Subnet returns the subnet with the identity or slug.
func (v VPC) Subnet(ref string) (Subnet, bool) {
	at := slices.IndexFunc(v.Subnets, func(s Subnet) bool { return s.ID == ref || s.Slug == ref })
	if at < 0 {
		return Subnet{}, false
	}
	return v.Subnets[at], true
}

// Subnet is one of the VPC's subnets.
type Subnet struct {
	ID, Slug string
	Labels   Labels
	CIDRs    []netip.Prefix // one, or one of each family
}

// Contains reports whether an address is in the subnet.
func (s Subnet) Contains(address netip.Addr) bool {
	return slices.ContainsFunc(s.CIDRs, func(n netip.Prefix) bool { return n.Contains(address) })
}

// ReservedIP is a public address that is independent of the object that it is attached to; with two families it is two
// addresses.
type ReservedIP struct {
	ID, Slug   string
	Addresses  []netip.Addr
	AttachedTo string // identity; "": nothing
}
