package netns

import "net/netip"

// DefaultClientNetworks are where the client is when Options say nothing else. They are reserved for documentation, so
// that nobody has them. It is there on every system, for whoever tells about them.
func DefaultClientNetworks() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:0:ffff::/64")}
}
