package proxy

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// balancer chooses targets round robin and, when asked to, sticks to the choice per client.
type balancer struct {
	mu       sync.Mutex
	targets  []netip.AddrPort
	next     int
	affinity time.Duration
	sticky   map[netip.Addr]stick
}

// stick is the choice made for one client address, and until when it holds.
type stick struct {
	target netip.AddrPort
	until  time.Time
}

func (b *balancer) update(targets []netip.AddrPort, affinity time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets, b.affinity = targets, affinity
}

// choose returns the target for a new connection, false when there is none.
func (b *balancer) choose(client netip.Addr, now time.Time) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.targets) == 0 {
		return netip.AddrPort{}, false
	}
	if b.affinity == 0 {
		return b.rotate(), true
	}
	s := b.sticky[client]
	if !now.Before(s.until) || !slices.Contains(b.targets, s.target) {
		s.target = b.rotate()
	}
	s.until = now.Add(b.affinity)
	if b.sticky == nil {
		b.sticky = map[netip.Addr]stick{}
	}
	b.sticky[client] = s
	return s.target, true
}

func (b *balancer) rotate() netip.AddrPort {
	target := b.targets[b.next%len(b.targets)]
	b.next = (b.next + 1) % len(b.targets)
	return target
}

// has reports whether connections to a target may go on.
func (b *balancer) has(target netip.AddrPort) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.targets, target)
}
