package traffic_test

import (
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

func TestTargetsAreReachedInTheirFamilies(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("10.0.0.5:80"), netip.MustParseAddrPort("[fd00::5]:80")
	for name, tt := range map[string]struct {
		target traffic.Target
		source string
		want   netip.AddrPort
	}{
		"IPv4":                   {traffic.Target{Address: v4}, "10.0.0.1", v4},
		"IPv4 of a dual stack":   {traffic.Target{Address: v4, Other: v6}, "10.0.0.1", v4},
		"IPv6 of a dual stack":   {traffic.Target{Address: v4, Other: v6}, "fd00::1", v6},
		"IPv6 first":             {traffic.Target{Address: v6, Other: v4}, "10.0.0.1", v4},
		"no address of a family": {traffic.Target{Address: v4}, "fd00::1", v4},
	} {
		tt.target.Machine = "vm-1"
		if got, want := tt.target.From(netip.MustParseAddr(tt.source)),
			(traffic.Target{Machine: "vm-1", Address: tt.want}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
