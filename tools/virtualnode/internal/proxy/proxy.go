package proxy

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

// bindRetry is the pause before a port that was taken is tried again. Node ports move from one
// Service to another, and the event about the old owner may arrive last.
const bindRetry = time.Second

// Options says for whom a Proxy works.
type Options struct {
	// Node is the name of the node: what is local under externalTrafficPolicy Local.
	Node string
	// Address is where node ports are bound.
	Address netip.Addr
	// Fabric is the network of the pods.
	Fabric *fabric.Fabric
	Logger *slog.Logger
}

// Proxy serves the node ports of one node, and the addresses of load balancers whose packets the node
// gets unchanged. All methods may be called from any goroutine.
//
// The emulator's proxy does not fit: it ends a connection whose target is taken away, while one
// through a node port outlives the endpoint's readiness, and it hides the client from the target.
type Proxy struct {
	options Options

	mu       sync.Mutex
	closed   bool
	streams  []*stream      // all that ever were: connections outlive their Service
	serving  sync.WaitGroup // health checks
	services map[types.NamespacedName]*service
}

// service is one Service as it is carried out.
type service struct {
	desired Service
	// ports are by where clients connect to: the node's own address and a node port, or an address of a
	// load balancer and the port of the Service.
	ports  map[netip.AddrPort]*stream
	health *health
	retry  *time.Timer
}

// New returns a Proxy that serves nothing yet.
func New(o Options) *Proxy {
	return &Proxy{options: o, services: map[types.NamespacedName]*service{}}
}

// Set makes the node serve a Service as given from now on; one without ports is not served any
// more. Established connections stay.
func (p *Proxy) Set(s Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.services[s.NamespacedName]
	if p.closed || current == nil && len(s.Ports) == 0 {
		return
	}
	if current == nil {
		current = &service{ports: map[netip.AddrPort]*stream{}}
		p.services[s.NamespacedName] = current
	}
	current.desired = s
	p.apply(current)
	if len(s.Ports) == 0 {
		delete(p.services, s.NamespacedName)
	}
}

// Close stops serving everything and cuts every connection, as a machine that goes down does.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.services {
		s.desired = Service{}
		p.apply(s)
	}
	clear(p.services)
	p.mu.Unlock()
	for _, s := range p.streams {
		s.Close()
	}
	p.serving.Wait()
}

// apply makes the sockets of one Service what is desired. A port without targets is not bound: its
// clients are refused at once.
func (p *Proxy) apply(s *service) {
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	routes := p.routes(s.desired)
	for at, stream := range s.ports {
		if routes[at].targets == nil {
			_ = stream.Refuse() // it is open
			delete(s.ports, at)
		}
	}
	bound := p.applyHealth(s)
	for at, route := range routes {
		bound = p.applyPort(s, at, route) && bound
	}
	if !bound {
		s.retry = time.AfterFunc(bindRetry, func() { p.again(s) })
	}
}

// routes returns where the connections of a Service go, by where clients connect to.
func (p *Proxy) routes(s Service) map[netip.AddrPort]route {
	routes := map[netip.AddrPort]route{}
	for _, port := range s.Ports {
		r := route{targets: port.Targets(p.options.Node), local: port.Local}
		if len(r.targets) == 0 {
			continue
		}
		if port.NodePort != 0 {
			routes[netip.AddrPortFrom(p.options.Address, port.NodePort)] = r
		}
		for _, address := range s.Addresses {
			routes[netip.AddrPortFrom(address, port.Port)] = r
		}
	}
	return routes
}

// again retries what could not be bound, unless the Service has gone.
func (p *Proxy) again(s *service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services[s.desired.NamespacedName] == s {
		p.apply(s)
	}
}

// applyPort reports false when the port could not be bound.
func (p *Proxy) applyPort(s *service, at netip.AddrPort, r route) bool {
	if stream := s.ports[at]; stream != nil {
		stream.route.Store(&r)
		return true
	}
	port := at.Port()
	if at.Addr() != p.options.Address {
		// The load balancer's address is bound where the load balancer is. Dial finds the port.
		port = 0
	}
	l := p.listen(s, port)
	if l == nil {
		return false
	}
	s.ports[at] = newStream(l, p.options, r)
	p.streams = append(p.streams, s.ports[at])
	return true
}

// listen returns nil for a port that is taken; port 0 is any free one.
func (p *Proxy) listen(s *service, port uint16) *net.TCPListener {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.options.Address, port)))
	if err != nil {
		p.options.Logger.Warn("binding a node port; trying again", "node", p.options.Node,
			"service", s.desired.String(), "port", port, "in", bindRetry, "error", err)
		return nil
	}
	return l
}
