//go:build linux

package netns

import (
	"context"
	"net"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// sockets opens a proxy's sockets in a namespace.
type sockets struct{ *namespace.Namespace }

// ListenTCP listens for connections to an address.
func (s sockets) ListenTCP(at netip.AddrPort) (listener *net.TCPListener, err error) {
	err = s.Do(func() (err error) {
		listener, err = proxy.Host{}.ListenTCP(at)
		return err
	})
	return listener, err
}

// ListenUDP receives the datagrams to an address.
func (s sockets) ListenUDP(at netip.AddrPort) (conn *net.UDPConn, err error) {
	err = s.Do(func() (err error) {
		conn, err = proxy.Host{}.ListenUDP(at)
		return err
	})
	return conn, err
}

// Dial connects to an address, from source if that is of the same family.
func (s sockets) Dial(ctx context.Context, network string, source netip.Addr,
	to netip.AddrPort) (conn net.Conn, err error) {
	err = s.Do(func() (err error) {
		conn, err = proxy.Host{}.Dial(ctx, network, source, to)
		return err
	})
	return conn, err
}
