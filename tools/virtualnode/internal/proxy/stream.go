package proxy

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/splice"
)

// dialLimit bounds the connection to an endpoint. Everything is on this machine; an endpoint that
// does not answer within it has a full backlog.
const dialLimit = 5 * time.Second

// stream forwards the connections of one node port.
type stream struct {
	proxy    *Proxy
	listener *net.TCPListener
	route    atomic.Pointer[route]
	turn     atomic.Uint32
}

// route is where connections go, in turn; it is never without targets.
type route struct {
	targets []netip.AddrPort
	local   bool
}

func newStream(l *net.TCPListener, p *Proxy, r route) *stream {
	s := &stream{proxy: p, listener: l}
	s.route.Store(&r)
	p.conns.serve(l, s.accept)
	return s
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
	r, options := s.route.Load(), s.proxy.options
	target := r.targets[int(s.turn.Add(1)-1)%len(r.targets)]
	// kube-proxy hides the client behind the node unless the policy is Local.
	source := options.Address
	if r.local {
		source = client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	endpoint, err := options.Fabric.Dial(ctx, target, source)
	if err != nil {
		reset(client)
		options.Logger.Debug("forwarding a connection", "node", options.Node, "target", target, "error", err)
		return
	}
	defer endpoint.Close()
	splice.Both(client, endpoint)
}

// reset makes Close answer with a reset instead of a polite end, which is what a client sees when
// the endpoint refuses.
func reset(c *net.TCPConn) { _ = c.SetLinger(0) }
