package pod

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
)

// Addresses hands out the pod addresses of one node. The controller manager decides about the
// range after the node has registered; until then Take waits.
type Addresses struct {
	known chan struct{}

	mu     sync.Mutex
	prefix netip.Prefix
	last   netip.Addr
	used   map[netip.Addr]bool
}

// NewAddresses returns a pool whose range is not known yet.
func NewAddresses() *Addresses {
	return &Addresses{known: make(chan struct{}), used: map[netip.Addr]bool{}}
}

// SetRange sets the range. Only the first call counts: a node's range never changes.
func (a *Addresses) SetRange(prefix netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.prefix.IsValid() {
		return
	}
	a.prefix = prefix.Masked()
	a.last = a.prefix.Addr().Next() // the gateway of a real node
	close(a.known)
}

// Take returns a free address, waiting for the range and for an address to become free.
func (a *Addresses) Take(ctx context.Context) (netip.Addr, error) {
	select {
	case <-a.known:
	case <-ctx.Done():
		return netip.Addr{}, fmt.Errorf("waiting for the node's pod CIDR: %w", ctx.Err())
	}
	for {
		if addr, ok := a.take(); ok {
			return addr, nil
		}
		if !pause(ctx) {
			return netip.Addr{}, fmt.Errorf("waiting for a free address in %s: %w", a.prefix, ctx.Err())
		}
	}
}

// take goes on after the last address, so that one is reused as late as possible.
func (a *Addresses) take() (netip.Addr, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for addr := a.after(a.last); ; addr = a.after(addr) {
		if !a.used[addr] {
			a.used[addr] = true
			a.last = addr
			return addr, true
		}
		if addr == a.last {
			return netip.Addr{}, false
		}
	}
}

// after skips the network address, the gateway's and the broadcast address.
func (a *Addresses) after(addr netip.Addr) netip.Addr {
	next := addr.Next()
	if !a.prefix.Contains(next) || !a.prefix.Contains(next.Next()) {
		return a.prefix.Addr().Next().Next()
	}
	return next
}

// Release gives an address back.
func (a *Addresses) Release(addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, addr)
}
