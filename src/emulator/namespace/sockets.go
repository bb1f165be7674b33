//go:build linux

package namespace

import (
	"context"
	"net"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// A socket stays in the namespace in which it was opened, whoever uses it.

// ListenTCP listens in the namespace for connections to an address.
func (n *Namespace) ListenTCP(at netip.AddrPort) (listener *net.TCPListener, err error) {
	err = n.Do(func() (err error) {
		listener, err = proxy.Host{}.ListenTCP(at)
		return err
	})
	return listener, err
}

// ListenUDP receives in the namespace the datagrams to an address.
func (n *Namespace) ListenUDP(at netip.AddrPort) (conn *net.UDPConn, err error) {
	err = n.Do(func() (err error) {
		conn, err = proxy.Host{}.ListenUDP(at)
		return err
	})
	return conn, err
}

// Dial connects from the namespace to an address, from source if that is of the
// same family. The network is "tcp" or "udp".
func (n *Namespace) Dial(ctx context.Context, network string, source netip.Addr, to netip.AddrPort) (conn net.Conn, err error) {
	err = n.Do(func() (err error) {
		conn, err = proxy.Host{}.Dial(ctx, network, source, to)
		return err
	})
	return conn, err
}
