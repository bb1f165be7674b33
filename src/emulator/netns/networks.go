package netns

import "net/netip"

// DefaultClientNetworks are where the client is when Options say nothing else. They are reserved for documentation, so
// that no network uses them. It exists on every system, for texts about them.
func DefaultClientNetworks() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:0:ffff::/64")}
}
