package fabric

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// Listener accepts the connections that Fabric.Dial makes to one port of a pod.
type Listener struct {
	endpoint endpoint
	queue    chan net.Conn
	closed   chan struct{}
	close    func()
}

func newListener(at endpoint, remove func()) *Listener {
	l := &Listener{endpoint: at, queue: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() {
		remove()
		close(l.closed)
	})
	return l
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.queue:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections. Those that were accepted stay.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr is the pod address and port.
func (l *Listener) Addr() net.Addr { return hostAddr(l.endpoint.protocol, l.endpoint.addr) }

func (l *Listener) dial(ctx context.Context, from netip.AddrPort) (net.Conn, error) {
	near, far, err := pair(l.endpoint, from)
	if err != nil {
		return nil, fmt.Errorf("dialling %s %s: %w", l.endpoint.protocol, l.endpoint.addr, err)
	}
	select {
	case l.queue <- far:
		return near, nil
	case <-l.closed:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = near.Close()
	_ = far.Close()
	return nil, fmt.Errorf("dialling %s %s: %w", l.endpoint.protocol, l.endpoint.addr, err)
}

// conn is one end of a socket pair that claims pod addresses. A socket pair, unlike net.Pipe,
// can be closed for writing only, which proxied connections need.
type conn struct {
	*net.UnixConn
	local, remote net.Addr
}

// LocalAddr is the address that this end would have on a network.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the address that the other end would have on a network.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// pair returns the dialling and the accepting end of a connection to an endpoint.
func pair(to endpoint, from netip.AddrPort) (near, far net.Conn, err error) {
	kind := syscall.SOCK_STREAM
	if to.protocol == corev1.ProtocolUDP {
		// Not SOCK_DGRAM: an end of such a pair does not notice that the other was closed.
		kind = syscall.SOCK_SEQPACKET
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	server, client := hostAddr(to.protocol, to.addr), hostAddr(to.protocol, from)
	near, nearErr := end(fds[0], client, server)
	far, farErr := end(fds[1], server, client)
	if nearErr == nil && farErr == nil {
		return near, far, nil
	}
	if nearErr == nil {
		_ = near.Close()
		return nil, nil, farErr
	}
	if farErr == nil {
		_ = far.Close()
	}
	return nil, nil, nearErr
}

// end wraps one descriptor of a socket pair and takes it over.
func end(fd int, local, remote net.Addr) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "socketpair")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("using a socket pair: %w", err)
	}
	unix, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("using a socket pair: unexpected connection type %T", c)
	}
	return &conn{UnixConn: unix, local: local, remote: remote}, nil
}
