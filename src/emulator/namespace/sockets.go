//go:build linux

package namespace

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// A socket stays in the namespace in which it was opened, whoever uses it.

// Listen listens in the namespace for connections to an address with a port. A network is one of package net, such as
// "tcp".
func (n *Namespace) Listen(ctx context.Context, network, address string) (listener net.Listener, err error) {
	err = n.open("listening in", address, func() (err error) {
		listener, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return listener, err
}

// DialContext connects from the namespace to an address with a port. It fits into net/http.Transport.
func (n *Namespace) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.open("connecting from", address, func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// open opens a socket. Names are refused: they would be resolved where the program runs, by a goroutine that is not in
// the namespace.
func (n *Namespace) open(doing, address string, socket func() error) error {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return fmt.Errorf("%s network namespace %q: use an address and a port, no names are resolved there: %w", doing,
			n.name, err)
	}
	return n.Do(socket)
}
