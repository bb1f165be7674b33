// Package fabric connects pod addresses to what answers for them, without a network.
//
// Pods of virtual nodes have addresses like 10.244.1.7 that no interface carries. Two things can
// stand behind one: a listener of this process (see Listen), or a process of this machine that
// listens on the address of its node (see Alias). Everything that connects to a pod, probes and
// node ports alike, dials through the Fabric.
package fabric

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// Fabric maps the addresses of the pods of one cluster to sockets of this machine. The zero value
// is empty and ready to use.
type Fabric struct {
	ports   sync.Map // netip.AddrPort of a pod -> that of a socket
	aliases sync.Map // netip.Addr of a pod -> that of its node
}

// Listen makes this process answer for one port of a pod. It listens on a free port of host.
func (f *Fabric) Listen(pod netip.AddrPort, host netip.Addr) (net.Listener, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(host, 0)))
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", pod, err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	f.ports.Store(pod, at)
	return &listener{Listener: l, remove: func() { f.ports.CompareAndDelete(pod, at) }}, nil
}

// listener is a listener whose pod address leads nowhere once it is closed.
type listener struct {
	net.Listener
	remove func()
}

// Close refuses further connections. Those that were accepted stay.
func (l *listener) Close() error {
	l.remove()
	return l.Listener.Close()
}

// Alias makes a pod address stand for the address of its node until release, where a process of this machine listens in
// the pod's place.
func (f *Fabric) Alias(pod, host netip.Addr) (release func()) {
	f.aliases.Store(pod, host)
	return func() { f.aliases.Delete(pod) }
}

// Dial connects to a port of a pod, or to a loopback address of this machine, from the given
// loopback address. An address behind which there is nothing refuses the connection.
func (f *Fabric) Dial(ctx context.Context, to netip.AddrPort, from netip.Addr) (net.Conn, error) {
	at := f.find(to)
	if !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("dialling %s: no pod listens there: %w", to, syscall.ECONNREFUSED)
	}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	return dialer.DialContext(ctx, "tcp", at.String())
}

// find returns what a port of a pod stands for; any other address stands for itself.
func (f *Fabric) find(to netip.AddrPort) netip.AddrPort {
	if at, ok := f.ports.Load(to); ok {
		return at.(netip.AddrPort)
	}
	if host, ok := f.aliases.Load(to.Addr()); ok {
		return netip.AddrPortFrom(host.(netip.Addr), to.Port())
	}
	return to
}
