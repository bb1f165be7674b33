package nodeipam

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func TestCIDRPool(t *testing.T) {
	p := newCIDRPool(prefix("10.244.0.0/22"))
	p.occupy(prefix("10.244.1.0/24"))
	p.occupy(prefix("192.168.0.0/24"))
	allocates := func(bits int, want string) {
		t.Helper()
		got, found := p.allocate(bits)
		if want == "" && found || want != "" && got != prefix(want) {
			t.Errorf("a /%d is %v, %v; want %q", bits, got, found, want)
		}
	}
	allocates(24, "10.244.0.0/24")
	allocates(25, "10.244.2.0/25")
	allocates(24, "10.244.3.0/24")
	allocates(24, "")
	allocates(25, "10.244.2.128/25")
	allocates(32, "")
	allocates(21, "")
	allocates(33, "")
	p.release(prefix("10.244.0.0/24"))
	allocates(25, "10.244.0.0/25")
	allocates(26, "10.244.0.128/26")
	p.release(prefix("10.244.0.0/25"))
	allocates(26, "10.244.0.192/26") // released parts are used again last
	allocates(25, "10.244.0.0/25")
	p.occupy(prefix("10.0.0.0/8")) // a Node has a network that contains the whole pool
	allocates(32, "")
	p.release(prefix("10.0.0.0/8"))
	p.release(prefix("10.244.1.0/24"))
	allocates(24, "10.244.1.0/24")
}

// TestPoolOfTwoOwners: a network that two Nodes have is free when both have released it.
func TestPoolOfTwoOwners(t *testing.T) {
	p := newCIDRPool(prefix("fd00::/63"))
	p.occupy(prefix("fd00::/64"))
	p.occupy(prefix("fd00::/64"))
	p.release(prefix("fd00::/64"))
	if got, _ := p.allocate(64); got != prefix("fd00:0:0:1::/64") {
		t.Errorf("given: %s", got)
	}
	p.release(prefix("fd00::/64"))
	if got, found := p.allocate(64); !found || got != prefix("fd00::/64") {
		t.Errorf("given: %s, %v", got, found)
	}
	if p.used != 1 {
		t.Errorf("%f is in use, want all", p.used)
	}
}

// TestPoolAllocatesOnce: parts of any sizes that are allocated at the same time never overlap, and after all are
// released the pool is empty.
func TestPoolAllocatesOnce(t *testing.T) {
	for _, network := range []string{"10.244.0.0/16", "fd00:244::/112"} {
		random := rand.New(rand.NewPCG(1, 2))
		p := newCIDRPool(prefix(network))
		var allocated []netip.Prefix
		for range 5000 {
			if len(allocated) > 0 && random.IntN(3) == 0 {
				at := random.IntN(len(allocated))
				p.release(allocated[at])
				allocated = append(allocated[:at], allocated[at+1:]...)
				continue
			}
			got, found := p.allocate(p.network.Bits() + 4 + random.IntN(9))
			if !found {
				continue
			}
			for _, other := range allocated {
				if other.Overlaps(got) {
					t.Fatalf("%s is given although %s is taken", got, other)
				}
			}
			if !p.network.Overlaps(got) || got != got.Masked() {
				t.Fatalf("%s is given of %s", got, network)
			}
			allocated = append(allocated, got)
		}
		for _, one := range allocated {
			p.release(one)
		}
		if got, found := p.allocate(p.network.Bits()); !found || got != p.network || p.used != 1 {
			t.Errorf("%s: something is left: %v, %f is in use with %s", network, p.occupied, p.used, got)
		}
	}
}

// TestPoolIsFast: the allocation of networks for 5,000 Nodes takes at most seconds on any machine.
func TestPoolIsFast(t *testing.T) {
	began := time.Now()
	for network, bits := range map[string]int{"10.0.0.0/8": 24, "fd00:244::/48": 64} {
		p := newCIDRPool(prefix(network))
		for i := range 5000 {
			if _, found := p.allocate(bits); !found {
				t.Fatalf("none for node %d", i)
			}
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestMasks(t *testing.T) {
	tests := map[string]struct {
		cidrs string
		masks Masks
		want  string
	}{
		"as by default": {"10.244.0.0/16 fd00::/48", Masks{DefaultIPv4, DefaultIPv6}, ""},
		"one network":   {"10.244.0.0/24", Masks{24, 64}, ""},
		"too short": {"10.244.0.0/16", Masks{15, 64},
			"--node-cidr-mask-size-ipv4=15 does not fit into 10.244.0.0/16 of --cluster-cidr: want 16 to 32"},
		"too long": {"10.244.0.0/16", Masks{33, 64}, "want 16 to 32"},
		"IPv6 too short": {"10.244.0.0/16 fd00::/48", Masks{24, 40},
			"--node-cidr-mask-size-ipv6=40 does not fit into fd00::/48"},
		"very many":       {"fd00::/8", Masks{24, 128}, ""},
		"IPv6 is missing": {"10.244.0.0/16", Masks{24, 0}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var cidrs []netip.Prefix
			for text := range strings.FieldsSeq(tt.cidrs) {
				cidrs = append(cidrs, prefix(text))
			}
			err := tt.masks.Check(cidrs)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestLimit: the shortest prefix of a Node's network.
func TestLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		network         string
		masks, shortest Masks
		want            int
	}{
		"as a rule":                    {"10.244.0.0/16", Masks{IPv4: 24}, Masks{}, 20},
		"in a small cluster":           {"10.244.0.0/22", Masks{IPv4: 24}, Masks{}, 22},
		"configured":                   {"10.244.0.0/16", Masks{IPv4: 24}, Masks{IPv4: 18}, 18},
		"configured, larger than all":  {"10.244.0.0/16", Masks{IPv4: 24}, Masks{IPv4: 8}, 16},
		"configured, smaller than any": {"10.244.0.0/16", Masks{IPv4: 24}, Masks{IPv4: 28}, 24},
		"IPv6":                         {"fd00:244::/48", Masks{IPv6: 64}, Masks{IPv4: 18}, 60},
	} {
		network := prefix(tt.network)
		limit := tt.masks.Limit(tt.shortest, []netip.Prefix{network})
		if got := limit.of(network); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
		allowed, large := netip.PrefixFrom(network.Addr(), tt.want), netip.PrefixFrom(network.Addr(), tt.want-1)
		if !limit.Allows(allowed) || limit.Allows(large) || !(Masks{}).Allows(large) {
			t.Errorf("%s: allows %s %v and %s %v, without a limit %v", name, allowed, limit.Allows(allowed), large,
				limit.Allows(large), (Masks{}).Allows(large))
		}
	}
}
