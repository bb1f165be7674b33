package address

import (
	"net/netip"
	"testing"
)

func TestPoolHandsOutEveryAddressOnce(t *testing.T) {
	tests := map[string]struct {
		prefix string
		want   []string
	}{
		"IPv4 leaves out network, gateway and broadcast": {"10.0.0.0/29", []string{"10.0.0.2", "10.0.0.3", "10.0.0.4",
			"10.0.0.5", "10.0.0.6"}},
		"a host address in the prefix is masked": {"10.0.0.5/30", []string{"10.0.0.6"}},
		"IPv6 has no broadcast":                  {"fd00::/126", []string{"fd00::2", "fd00::3"}},
		"too small":                              {"10.0.0.0/31", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pool := NewPool(netip.MustParsePrefix(test.prefix))
			if got := pool.Available(); got != len(test.want) {
				t.Errorf("Available() = %d, want %d", got, len(test.want))
			}
			for _, want := range test.want {
				got, err := pool.Take()
				if err != nil || got.String() != want {
					t.Fatalf("Take() = %v, %v, want %s", got, err, want)
				}
			}
			if got, err := pool.Take(); err == nil {
				t.Errorf("Take() of an exhausted pool = %v, want an error", got)
			}
		})
	}
}

func TestPoolReusesReleasedAddressesLast(t *testing.T) {
	pool := NewPool(netip.MustParsePrefix("10.0.0.0/29"))
	one, _ := pool.Take()
	pool.Release(one)
	for range 4 {
		if addr, err := pool.Take(); err != nil || addr == one {
			t.Fatalf("Take() = %v, %v, want another address than %v", addr, err, one)
		}
	}
	if addr, err := pool.Take(); err != nil || addr != one {
		t.Errorf("Take() = %v, %v, want the released %v", addr, err, one)
	}
	if got := pool.Used(); got != 5 {
		t.Errorf("Used() = %d, want 5", got)
	}
}

func TestPoolReserve(t *testing.T) {
	pool := NewPool(netip.MustParsePrefix("10.0.0.0/29"))
	if err := pool.Reserve(netip.MustParseAddr("10.0.0.2")); err != nil {
		t.Fatal(err)
	}
	if err := pool.Reserve(netip.MustParseAddr("10.0.0.2")); err == nil {
		t.Error("reserving an address twice succeeded")
	}
	if err := pool.Reserve(netip.MustParseAddr("10.0.1.2")); err == nil {
		t.Error("reserving an address of another network succeeded")
	}
	if addr, err := pool.Take(); err != nil || addr.String() != "10.0.0.3" {
		t.Errorf("Take() = %v, %v, want 10.0.0.3", addr, err)
	}
}

func TestClone(t *testing.T) {
	pool := NewPool(netip.MustParsePrefix("10.0.0.0/29"))
	first, err := pool.Take()
	if err != nil {
		t.Fatal(err)
	}
	clone := pool.Clone()
	clone.Release(first)
	if _, err := clone.Take(); err != nil || pool.Used() != 1 || clone.Used() != 1 {
		t.Errorf("%d and %d addresses are in use, %v, want 1 each", pool.Used(), clone.Used(), err)
	}
	if err := clone.Reserve(first); err != nil || pool.Used() != 1 {
		t.Errorf("the clone's addresses are those of the pool: %v", err)
	}
}
