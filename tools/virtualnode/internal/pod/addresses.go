package pod

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
)

// MaxPods is how many pods a node has room for.
const MaxPods = 110

// Addresses hands out the pod addresses of one node. The controller manager decides about the
// range after the node has registered; until then Take waits.
type Addresses struct {
	ranged sync.Once
	free   chan netip.Addr // the one that was in use longest ago comes first
}

// NewAddresses returns a pool whose range is not known yet.
func NewAddresses() *Addresses { return &Addresses{free: make(chan netip.Addr, MaxPods)} }

// SetRange sets the range. Only the first call counts: a node's range never changes. The network
// address, the gateway's and the broadcast address are left out.
func (a *Addresses) SetRange(prefix netip.Prefix) {
	a.ranged.Do(func() {
		addr := prefix.Masked().Addr().Next().Next()
		// Counted, because pods take the first ones meanwhile: there has to be room for all of them.
		for i := 0; i < cap(a.free) && prefix.Contains(addr.Next()); i++ {
			a.free <- addr
			addr = addr.Next()
		}
	})
}

// Take returns a free address, waiting for the range and for an address to become free.
func (a *Addresses) Take(ctx context.Context) (netip.Addr, error) {
	select {
	case addr := <-a.free:
		return addr, nil
	case <-ctx.Done():
		return netip.Addr{}, fmt.Errorf("waiting for a free address of the node's pod CIDR: %w", ctx.Err())
	}
}

// Release gives an address back.
func (a *Addresses) Release(addr netip.Addr) { a.free <- addr }
