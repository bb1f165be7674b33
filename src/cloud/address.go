package cloud

import (
	"net/netip"
	"strings"
)

// CanonicalAddress returns an IP address or a hostname in the one spelling in which addresses are published and
// compared: IPv6 as in RFC 5952, an IPv4 address that is written as an IPv6 address as IPv4, and a hostname in lower
// case and without the final dot. What is neither stays as it is, apart from that.
func CanonicalAddress(address string) string {
	address = strings.TrimSuffix(strings.TrimSpace(address), ".")
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(address)
}
