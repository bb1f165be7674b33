package balancer

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestSpecAddressInOtherNotation is the same address.
func TestSpecAddressInOtherNotation(t *testing.T) {
	if one := netip.MustParseAddr("2001:db8::1"); !isAddress("2001:DB8:0::1", one) || isAddress("2001:db8::2", one) ||
		isAddress("web", one) {
		t.Error("addresses are compared as text")
	}
}

// TestLongNamesOfPorts: names that are too long end in a hash of the whole name.
func TestLongNamesOfPorts(t *testing.T) {
	long := strings.Repeat("x", maxName)
	one, other := portName("lb", cloud.Port{Name: long + "a"}), portName("lb", cloud.Port{Name: long + "b"})
	if one == other || len(one) != maxName {
		t.Errorf("names %q and %q; want two of %d letters", one, other, maxName)
	}
}
