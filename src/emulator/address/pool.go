// Package address hands out IP addresses from a prefix.
package address

import (
	"fmt"
	"maps"
	"net/netip"
)

// reserved is how many addresses at the start of a prefix are never handed out:
// the network's own and the gateway's.
const reserved = 2

// Pool hands out the addresses of one prefix, each once, lowest first and
// reusing a released address only after the rest of the prefix was used.
// It is not safe for concurrent use.
type Pool struct {
	prefix netip.Prefix
	next   netip.Addr
	used   map[netip.Addr]bool
}

// NewPool makes a pool of the addresses of prefix, without the first two (the
// network and the gateway) and, for IPv4, without the last (broadcast).
func NewPool(prefix netip.Prefix) *Pool {
	prefix = prefix.Masked()
	return &Pool{prefix: prefix, next: first(prefix), used: map[netip.Addr]bool{}}
}

func first(prefix netip.Prefix) netip.Addr {
	addr := prefix.Addr()
	for range reserved {
		addr = addr.Next()
	}
	return addr
}

// Prefix is what the pool was made from.
func (p *Pool) Prefix() netip.Prefix { return p.prefix }

// Used is how many addresses are handed out.
func (p *Pool) Used() int { return len(p.used) }

// Available is how many more addresses can be handed out, at most 2^30.
func (p *Pool) Available() int {
	return max(0, p.size()-len(p.used))
}

func (p *Pool) size() int {
	// Larger prefixes are never exhausted, and the sum must fit an int.
	bits := min(p.prefix.Addr().BitLen()-p.prefix.Bits(), 30)
	size := 1<<bits - reserved
	if p.prefix.Addr().Is4() {
		size--
	}
	return size
}

// Take hands out a free address.
func (p *Pool) Take() (netip.Addr, error) {
	if p.Available() == 0 {
		return netip.Addr{}, fmt.Errorf("no free address left in %s: all %d are in use", p.prefix, len(p.used))
	}
	for range len(p.used) + 1 {
		addr := p.next
		p.advance()
		if !p.used[addr] {
			p.used[addr] = true
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no free address left in %s", p.prefix)
}

func (p *Pool) advance() {
	p.next = p.next.Next()
	last := !p.prefix.Contains(p.next) || p.next.Is4() && !p.prefix.Contains(p.next.Next())
	if last {
		p.next = first(p.prefix)
	}
}

// Reserve hands out one given address.
func (p *Pool) Reserve(addr netip.Addr) error {
	if !p.prefix.Contains(addr) {
		return fmt.Errorf("address %s is outside %s", addr, p.prefix)
	}
	if p.used[addr] {
		return fmt.Errorf("address %s is already in use", addr)
	}
	p.used[addr] = true
	return nil
}

// Release takes an address back. Addresses of other prefixes are ignored.
func (p *Pool) Release(addr netip.Addr) { delete(p.used, addr) }

// Clone is a pool of its own with the same addresses in use.
func (p *Pool) Clone() *Pool {
	return &Pool{prefix: p.prefix, next: p.next, used: maps.Clone(p.used)}
}
