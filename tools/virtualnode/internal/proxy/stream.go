package proxy

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/splice"
)

// dialLimit bounds the connection to an endpoint. Everything is on this machine; an endpoint that
// does not answer within it has a full backlog.
const dialLimit = 5 * time.Second

// stream forwards the TCP connections of one node port.
type stream struct {
	proxy    *Proxy
	listener *net.TCPListener
	balancer balancer
	local    atomic.Bool
}

func newStream(l *net.TCPListener, p *Proxy) *stream {
	s := &stream{proxy: p, listener: l}
	p.conns.serve(l, s.accept)
	return s
}

func (s *stream) update(p Port, targets []netip.AddrPort, affinity time.Duration) {
	s.local.Store(p.Local)
	s.balancer.update(targets, affinity)
}

// close stops accepting; connections go on.
func (s *stream) close() { _ = s.listener.Close() }

func (s *stream) accept() {
	for {
		conn, err := s.listener.AcceptTCP()
		if err != nil {
			return
		}
		s.proxy.conns.serve(conn, func() { s.forward(conn) })
	}
}

func (s *stream) forward(client *net.TCPConn) {
	from := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	target, ok := s.balancer.choose(from.Addr(), time.Now())
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	endpoint, err := s.proxy.options.Fabric.Dial(ctx, corev1.ProtocolTCP, target, s.proxy.source(s.local.Load(), from))
	if err != nil {
		reset(client)
		s.proxy.options.Logger.Debug("forwarding a connection", "node", s.proxy.options.Node, "target", target, "error", err)
		return
	}
	defer endpoint.Close()
	splice.Both(client, endpoint)
}

// reset makes Close answer with a reset instead of a polite end, which is what a client sees when
// the endpoint refuses.
func reset(c *net.TCPConn) { _ = c.SetLinger(0) }
