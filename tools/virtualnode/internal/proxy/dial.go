package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// Dial connects from an address to a load balancer's address and a port of its Service, through the node. On a real
// node, such a connection is a packet with the load balancer's address as its destination, for which kube-proxy has a
// rule. Sockets of this machine cannot do that: the load balancer itself is bound to its address here. So the node
// listens on a free port of its own address for each such address and port, and only Dial knows which one it is.
//
// Unlike the packet, the connection does not have the address of the load balancer's client. Pods see the address of
// the node or, under externalTrafficPolicy Local, the address from.
func (p *Proxy) Dial(ctx context.Context, to netip.AddrPort, from netip.Addr) (net.Conn, error) {
	at := p.find(to)
	if at == nil {
		return nil, fmt.Errorf("dialling %s through node %s: no Service with endpoints has this address and port: %w",
			to, p.options.Node, syscall.ECONNREFUSED)
	}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	return dialer.DialContext(ctx, "tcp", at.String())
}

// find returns where the node listens for a load balancer's address and port; nil if it does not.
func (p *Proxy) find(to netip.AddrPort) net.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.services {
		if stream := s.ports[to]; stream != nil {
			return stream.Addr()
		}
	}
	return nil
}
