package proxy

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// sessionIdle is how long a client's UDP session is remembered without an answer: the
	// kernel's conntrack uses the same for flows that were answered only once.
	sessionIdle = 30 * time.Second

	// datagramMax is the largest UDP payload over IPv4.
	datagramMax = 65507
)

// datagram forwards the UDP packets of one node port. Every client address has a session, which
// stays with one endpoint while that exists.
type datagram struct {
	proxy    *Proxy
	socket   *net.UDPConn
	balancer balancer

	mu       sync.Mutex
	local    bool
	sessions map[netip.AddrPort]*session
}

// session is what one client address talks to.
type session struct {
	target   netip.AddrPort
	endpoint net.Conn
}

func newDatagram(c *net.UDPConn, p *Proxy) *datagram {
	d := &datagram{proxy: p, socket: c, sessions: map[netip.AddrPort]*session{}}
	p.conns.serve(c, d.receive)
	return d
}

// update also ends the sessions whose endpoint has gone, as kube-proxy does.
func (d *datagram) update(p Port, targets []netip.AddrPort, affinity time.Duration) {
	d.balancer.update(targets, affinity)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.local = p.Local
	for _, s := range d.sessions {
		if !d.balancer.has(s.target) {
			_ = s.endpoint.Close()
		}
	}
}

func (d *datagram) close() { _ = d.socket.Close() }

// receive takes packets from clients until the socket is closed.
func (d *datagram) receive() {
	defer d.endSessions()
	buf := make([]byte, datagramMax)
	for {
		n, client, err := d.socket.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if s := d.session(client); s != nil {
			_, _ = s.endpoint.Write(buf[:n])
		}
	}
}

func (d *datagram) endSessions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		_ = s.endpoint.Close()
	}
}

// session returns the session of a client, making one when needed; nil when nothing can take the
// packet, which is then lost, as packets are.
func (d *datagram) session(client netip.AddrPort) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[client]; s != nil && d.balancer.has(s.target) {
		return s
	}
	target, ok := d.balancer.choose(client.Addr(), time.Now())
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	endpoint, err := d.proxy.options.Fabric.Dial(ctx, corev1.ProtocolUDP, target, d.proxy.source(d.local, client))
	if err != nil {
		d.proxy.options.Logger.Debug("forwarding a packet", "node", d.proxy.options.Node, "target", target, "error", err)
		return nil
	}
	s := &session{target: target, endpoint: endpoint}
	d.sessions[client] = s
	d.proxy.conns.serve(endpoint, func() { d.answer(client, s) })
	return s
}

// answer carries packets back to a client until the session is idle or closed.
func (d *datagram) answer(client netip.AddrPort, s *session) {
	defer d.forget(client, s)
	buf := make([]byte, datagramMax)
	for {
		_ = s.endpoint.SetReadDeadline(time.Now().Add(sessionIdle))
		n, err := s.endpoint.Read(buf)
		if err != nil {
			return
		}
		if _, err := d.socket.WriteToUDPAddrPort(buf[:n], client); err != nil {
			return
		}
	}
}

func (d *datagram) forget(client netip.AddrPort, s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions[client] == s {
		delete(d.sessions, client)
	}
}
