package proxy

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/forward"
)

// dialLimit bounds the connection to an endpoint. Everything is on this machine; an endpoint that
// does not answer within it has a full backlog.
const dialLimit = 5 * time.Second

// stream forwards the connections of one node port.
type stream struct {
	*forward.Forwarder
	options Options
	route   atomic.Pointer[route]
	next    atomic.Uint32
}

// route is where connections go, in turn; it is never without targets.
type route struct {
	targets []netip.AddrPort
	local   bool
}

func newStream(l net.Listener, o Options, r route) *stream {
	s := &stream{options: o}
	s.route.Store(&r)
	s.Forwarder = forward.Start(l, s.dial)
	return s
}

// dial connects a client to the next endpoint.
func (s *stream) dial(ctx context.Context, client net.Addr) (net.Conn, error) {
	r := s.route.Load()
	target := r.targets[int(s.next.Add(1)-1)%len(r.targets)]
	// kube-proxy hides the client behind the node unless the policy is Local.
	source := s.options.Address
	if r.local {
		source = client.(*net.TCPAddr).AddrPort().Addr()
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	endpoint, err := s.options.Fabric.Dial(ctx, target, source)
	if err != nil {
		s.options.Logger.Debug("forwarding a connection", "node", s.options.Node, "target", target, "error", err)
	}
	return endpoint, err
}
