package proxy

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

const (
	// udpIdle ends a UDP session when the listener sets no idle timeout.
	udpIdle = time.Minute
	// datagram is the largest payload of a UDP datagram.
	datagram = 65507
)

// udpSessions are the UDP sessions of a frontend, by client.
type udpSessions struct {
	mu   sync.Mutex
	open map[netip.AddrPort]*udpSession
}

// udpSession is a client's session with one target.
type udpSession struct {
	session
	upstream *net.UDPConn
	active   atomic.Int64
	count    tally
}

func (f *frontend) serveUDP(conn *net.UDPConn) {
	all := &udpSessions{open: map[netip.AddrPort]*udpSession{}}
	buffer := make([]byte, datagram)
	for {
		n, source, err := conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || !f.allows(source.Addr()) {
			continue
		}
		if err := f.forward(all, conn, source, buffer[:n]); err != nil {
			f.proxy.log.Debug("no target took the datagram", "address", f.served.String(), "error", err)
		}
	}
}

// forward sends a client's datagram to its target, or to another one if that
// fails.
func (f *frontend) forward(all *udpSessions, conn *net.UDPConn, source netip.AddrPort, payload []byte) error {
	var failed error
	for range 2 {
		one, err := f.udpSession(all, conn, source)
		if err != nil {
			return errors.Join(failed, err)
		}
		one.active.Store(time.Now().UnixNano())
		if _, failed = one.upstream.Write(payload); failed == nil {
			one.count.received(len(payload))
			return nil
		}
		one.end()
		all.remove(source, one)
	}
	return failed
}

// udpSession finds the session of a client, or starts one.
func (f *frontend) udpSession(all *udpSessions, conn *net.UDPConn, source netip.AddrPort) (*udpSession, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if one, found := all.open[source]; found && f.pool.has(one.target) {
		return one, nil
	}
	candidates := f.pool.candidates(source.Addr())
	if len(candidates) == 0 {
		return nil, errors.New("no usable target")
	}
	one, err := f.begin(candidates[0])
	if err != nil {
		return nil, err
	}
	all.open[source] = one
	f.proxy.running.Go(func() {
		f.answer(conn, source, one)
		all.remove(source, one)
		f.sessions.remove(&one.session)
	})
	return one, nil
}

// remove removes a session, unless the client has another one by now.
func (s *udpSessions) remove(source netip.AddrPort, one *udpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[source] == one {
		delete(s.open, source)
	}
}

func (f *frontend) begin(target traffic.Target) (*udpSession, error) {
	conn, err := f.proxy.sockets.Dial(f.ctx, "udp", f.endpoint.address.Addr(), target.Address)
	if err != nil {
		return nil, err
	}
	one := &udpSession{upstream: conn.(*net.UDPConn)}
	one.active.Store(time.Now().UnixNano())
	one.session = session{target: target, end: func() { _ = conn.Close() }}
	if !f.sessions.add(&one.session, f.settings.Load().MaxConnections) {
		return nil, errors.Join(errors.New("too many sessions"), conn.Close())
	}
	one.count = f.tally(target)
	return one, nil
}

// answer sends a target's datagrams back to the client until the session is
// idle for too long, closed, or refused by the target.
func (f *frontend) answer(conn *net.UDPConn, client netip.AddrPort, one *udpSession) {
	defer one.end()
	buffer := make([]byte, datagram)
	for {
		idle := f.settings.Load().IdleTimeout
		if idle == 0 {
			idle = udpIdle
		}
		until := time.Unix(0, one.active.Load()).Add(idle)
		if !until.After(time.Now()) || one.upstream.SetReadDeadline(until) != nil {
			return
		}
		n, err := one.upstream.Read(buffer)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			continue
		}
		if err != nil {
			return
		}
		one.active.Store(time.Now().UnixNano())
		if _, err := conn.WriteToUDPAddrPort(buffer[:n], client); err != nil {
			return
		}
		one.count.sent(n)
	}
}
