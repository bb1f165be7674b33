package proxy

import (
	"context"
	"net"
	"net/netip"
)

// Sockets opens the sockets of a proxy in the network where its load balancers
// and machines are.
type Sockets interface {
	// ListenTCP listens for connections to an address.
	ListenTCP(at netip.AddrPort) (*net.TCPListener, error)
	// ListenUDP receives the datagrams to an address.
	ListenUDP(at netip.AddrPort) (*net.UDPConn, error)
	// Dial connects to an address, from source if that is of the same family.
	// The network is "tcp" or "udp".
	Dial(ctx context.Context, network string, source netip.Addr, to netip.AddrPort) (net.Conn, error)
}

// Host opens sockets where the program runs.
type Host struct{}

// ListenTCP listens for connections to an address.
func (Host) ListenTCP(at netip.AddrPort) (*net.TCPListener, error) {
	return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
}

// ListenUDP receives the datagrams to an address.
func (Host) ListenUDP(at netip.AddrPort) (*net.UDPConn, error) {
	return net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
}

// Dial connects to an address, from source if that is of the same family.
func (Host) Dial(ctx context.Context, network string, source netip.Addr, to netip.AddrPort) (net.Conn, error) {
	return dialer(network, source, to.Addr()).DialContext(ctx, network, to.String())
}

// dialer connects from an address of our own, as a load balancer does. From one
// family to the other there is none to connect from.
func dialer(network string, source, to netip.Addr) *net.Dialer {
	from := netip.AddrPortFrom(source, 0)
	switch {
	case source.Is4() != to.Is4():
		return &net.Dialer{}
	case network == "udp":
		return &net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(from)}
	}
	return &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
}
