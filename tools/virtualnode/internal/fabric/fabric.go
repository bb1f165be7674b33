// Package fabric connects pod addresses to what answers for them, without a network.
//
// Pods of virtual nodes have addresses like 10.244.1.7 that no interface carries. Two things can
// stand behind one: a listener in this process (see Listen), or a process of this machine that
// listens on the address of its node (see Alias). Everything that talks to a pod, probes and
// NodePorts alike, dials through the Fabric.
package fabric

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// endpoint is one port of one pod.
type endpoint struct {
	protocol corev1.Protocol
	addr     netip.AddrPort
}

// alias says which machine address a pod address stands for, and how many containers need it.
type alias struct {
	host netip.Addr
	uses int
}

// Fabric is the network that the pods of one cluster share. The zero value is an empty network,
// ready to use.
type Fabric struct {
	mu        sync.RWMutex
	listeners map[endpoint]*Listener
	aliases   map[netip.Addr]*alias
}

// Listen makes this process answer for one port of a pod. For UDP every client gets a connection
// of its own from Accept, which keeps the boundaries of datagrams.
func (f *Fabric) Listen(protocol corev1.Protocol, addr netip.AddrPort) (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := endpoint{protocol, addr}
	if f.listeners[key] != nil {
		return nil, fmt.Errorf("listening on %s %s: %w", protocol, addr, syscall.EADDRINUSE)
	}
	if f.listeners == nil {
		f.listeners = map[endpoint]*Listener{}
	}
	l := newListener(key, func() { f.remove(key) })
	f.listeners[key] = l
	return l, nil
}

func (f *Fabric) remove(key endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, key)
}

// Alias makes a pod address stand for the address of its node, where a process of this machine
// listens in the pod's place. It holds until release has been called as often as Alias.
func (f *Fabric) Alias(pod, host netip.Addr) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.aliases == nil {
		f.aliases = map[netip.Addr]*alias{}
	}
	if f.aliases[pod] == nil {
		f.aliases[pod] = &alias{host: host}
	}
	f.aliases[pod].uses++
	return sync.OnceFunc(func() { f.release(pod) })
}

func (f *Fabric) release(pod netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.aliases[pod]
	a.uses--
	if a.uses == 0 {
		delete(f.aliases, pod)
	}
}

// Dial connects to a port of a pod, or to a loopback address of this machine, as if from the
// given address. A loopback source is truly used; a listener of this process sees any source.
// An address behind which there is nothing refuses, as an empty machine does.
func (f *Fabric) Dial(ctx context.Context, protocol corev1.Protocol, to, from netip.AddrPort) (net.Conn, error) {
	listener, host := f.find(protocol, to)
	switch {
	case listener != nil:
		return listener.dial(ctx, from)
	case host.IsLoopback():
		return dialHost(ctx, protocol, netip.AddrPortFrom(host, to.Port()), from.Addr())
	default:
		return nil, fmt.Errorf("dialling %s %s: no pod listens there: %w", protocol, to, syscall.ECONNREFUSED)
	}
}

// find returns the listener behind an address or else the machine address it stands for.
func (f *Fabric) find(protocol corev1.Protocol, to netip.AddrPort) (*Listener, netip.Addr) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if l := f.listeners[endpoint{protocol, to}]; l != nil {
		return l, netip.Addr{}
	}
	if a := f.aliases[to.Addr()]; a != nil {
		return nil, a.host
	}
	return nil, to.Addr()
}

func dialHost(ctx context.Context, protocol corev1.Protocol, to netip.AddrPort, from netip.Addr) (net.Conn, error) {
	var dialer net.Dialer
	network := "tcp"
	if protocol == corev1.ProtocolUDP {
		network = "udp"
	}
	if from.IsLoopback() {
		dialer.LocalAddr = hostAddr(protocol, netip.AddrPortFrom(from, 0))
	}
	return dialer.DialContext(ctx, network, to.String())
}

func hostAddr(protocol corev1.Protocol, addr netip.AddrPort) net.Addr {
	if protocol == corev1.ProtocolUDP {
		return net.UDPAddrFromAddrPort(addr)
	}
	return net.TCPAddrFromAddrPort(addr)
}
