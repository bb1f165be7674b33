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

// exchanges are the UDP sessions of a front, by client.
type exchanges struct {
	mu   sync.Mutex
	open map[netip.AddrPort]*exchange
}

// exchange is a client's session with one target.
type exchange struct {
	session
	upstream *net.UDPConn
	active   atomic.Int64
}

func (f *front) serveUDP(conn *net.UDPConn) {
	all := &exchanges{open: map[netip.AddrPort]*exchange{}}
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

// forward sends a client's datagram to its target. When the target turns out to
// be gone, another one gets a chance.
func (f *front) forward(all *exchanges, conn *net.UDPConn, source netip.AddrPort, payload []byte) error {
	var failed error
	for range 2 {
		ex, err := f.exchange(all, conn, source)
		if err != nil {
			return errors.Join(failed, err)
		}
		ex.active.Store(time.Now().UnixNano())
		if _, failed = ex.upstream.Write(payload); failed == nil {
			return nil
		}
		ex.end()
		all.forget(source, ex)
	}
	return failed
}

// exchange finds the session of a client, or starts one.
func (f *front) exchange(all *exchanges, conn *net.UDPConn, source netip.AddrPort) (*exchange, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if ex, found := all.open[source]; found && f.pool.has(ex.target) {
		return ex, nil
	}
	candidates := f.pool.candidates(source.Addr())
	if len(candidates) == 0 {
		return nil, errors.New("no usable target")
	}
	ex, err := f.begin(candidates[0])
	if err != nil {
		return nil, err
	}
	all.open[source] = ex
	f.proxy.running.Go(func() {
		f.answer(conn, source, ex)
		all.forget(source, ex)
		f.sessions.remove(&ex.session)
	})
	return ex, nil
}

// forget removes a session, unless the client has another one by now.
func (e *exchanges) forget(source netip.AddrPort, ex *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[source] == ex {
		delete(e.open, source)
	}
}

func (f *front) begin(target traffic.Target) (*exchange, error) {
	conn, err := f.proxy.sockets.Dial(f.ctx, "udp", f.endpoint.address.Addr(), target.Address)
	if err != nil {
		return nil, err
	}
	ex := &exchange{upstream: conn.(*net.UDPConn)}
	ex.active.Store(time.Now().UnixNano())
	ex.session = session{target: target, end: func() { _ = conn.Close() }}
	if !f.sessions.add(&ex.session, f.settings.Load().MaxConnections) {
		return nil, errors.Join(errors.New("too many sessions"), conn.Close())
	}
	return ex, nil
}

// answer sends a target's datagrams back to the client until the session is
// idle for too long, closed, or refused by the target.
func (f *front) answer(conn *net.UDPConn, client netip.AddrPort, ex *exchange) {
	defer ex.end()
	buffer := make([]byte, datagram)
	for {
		idle := f.settings.Load().IdleTimeout
		if idle == 0 {
			idle = udpIdle
		}
		until := time.Unix(0, ex.active.Load()).Add(idle)
		if !until.After(time.Now()) || ex.upstream.SetReadDeadline(until) != nil {
			return
		}
		n, err := ex.upstream.Read(buffer)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			continue
		}
		if err != nil {
			return
		}
		ex.active.Store(time.Now().UnixNano())
		if _, err := conn.WriteToUDPAddrPort(buffer[:n], client); err != nil {
			return
		}
	}
}
