package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

const (
	// dialTimeout is how long one target may take to accept a connection.
	dialTimeout = 3 * time.Second
	bufferSize  = 32 << 10
)

func (f *frontend) serveTCP(listener *net.TCPListener) {
	for {
		conn, err := listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// The peer went away, or file descriptors ran out; neither concerns
			// the next connection.
			f.proxy.log.Debug("accepting a connection", "address", f.served.String(), "error", err)
			continue
		}
		f.proxy.running.Go(func() { f.handle(conn) })
	}
}

// handle serves one connection. One that is refused is reset.
func (f *frontend) handle(client *net.TCPConn) {
	source := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	source = netip.AddrPortFrom(source.Addr().Unmap(), source.Port())
	one := &session{client: source, end: func() { reset(client) }}
	if !f.allows(source.Addr()) || !f.sessions.add(one, f.settings.Load().MaxConnections) {
		reset(client)
		return
	}
	defer f.sessions.remove(one)
	target, upstream, err := f.connect(source)
	if err != nil {
		f.proxy.log.Debug("no target took the connection", "address", f.served.String(), "error", err)
		reset(client)
		return
	}
	f.sessions.use(one, target, func() { reset(client); reset(upstream) })
	if !f.pool.has(target) {
		// It was detached while we connected.
		f.proxy.onCut(source)
		reset(client)
	}
	f.relay(client, upstream, f.tally(target))
}

// reset closes a connection with a reset, which differs from the end of the stream.
func reset(conn *net.TCPConn) {
	// Failures mean that it is closed already.
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// connect tries the usable targets, each once, or only the chosen one.
func (f *frontend) connect(source netip.AddrPort) (traffic.Target, *net.TCPConn, error) {
	refused := errors.New("no usable target")
	candidates := f.pool.candidates(source.Addr())
	if f.proxy.oneTarget && len(candidates) > 1 {
		candidates = candidates[:1]
	}
	for _, target := range candidates {
		upstream, err := f.dial(target)
		if err == nil {
			err = f.announce(upstream, source)
		}
		if err == nil {
			return target, upstream, nil
		}
		refused = errors.Join(refused, err)
	}
	return traffic.Target{}, nil, refused
}

func (f *frontend) dial(target traffic.Target) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(f.ctx, dialTimeout)
	defer cancel()
	conn, err := f.proxy.sockets.Dial(ctx, "tcp", f.endpoint.address.Addr(), target.Address)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// announce sends the address of the client to a target, in version 1 of the PROXY protocol.
func (f *frontend) announce(upstream *net.TCPConn, source netip.AddrPort) error {
	if !f.settings.Load().Group.ProxyProtocol {
		return nil
	}
	family := "TCP4"
	if source.Addr().Is6() {
		family = "TCP6"
	}
	to := f.endpoint.address
	_, err := fmt.Fprintf(upstream, "PROXY %s %s %s %d %d\r\n", family, source.Addr(), to.Addr(), source.Port(),
		to.Port())
	if err != nil {
		return errors.Join(err, upstream.Close())
	}
	return nil
}

// relay copies both ways until both sides are done, or nothing moved for as
// long as the listener's idle timeout.
func (f *frontend) relay(client, upstream *net.TCPConn, count tally) {
	var active atomic.Int64
	active.Store(time.Now().UnixNano())
	back := make(chan struct{})
	f.proxy.running.Go(func() {
		defer close(back)
		f.pipe(client, upstream, &active, count.sent)
	})
	f.pipe(upstream, client, &active, count.received)
	<-back
	_ = client.Close()
	_ = upstream.Close()
}

// pipe copies one way. At the end of the stream it closes the writing half, so
// that the other way can go on; on any failure it resets both. It counts what arrived.
func (f *frontend) pipe(to, from *net.TCPConn, active *atomic.Int64, count func(bytes int)) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := f.read(from, buffer, active)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
			count(n)
		}
		if errors.Is(err, io.EOF) && to.CloseWrite() == nil {
			return
		}
		if err != nil {
			reset(from)
			reset(to)
			return
		}
	}
}

// read reads once, and gives up when neither direction moved for too long.
func (f *frontend) read(from *net.TCPConn, buffer []byte, active *atomic.Int64) (int, error) {
	for {
		idle := f.settings.Load().IdleTimeout
		deadline := time.Time{}
		if idle > 0 {
			deadline = time.Unix(0, active.Load()).Add(idle)
		}
		if err := from.SetReadDeadline(deadline); err != nil {
			return 0, err
		}
		n, err := from.Read(buffer)
		if n > 0 {
			active.Store(time.Now().UnixNano())
		}
		otherMoved := time.Since(time.Unix(0, active.Load())) < f.settings.Load().IdleTimeout
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && otherMoved {
			continue
		}
		return n, err
	}
}
