package proxy

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

// bindRetry is the pause before a port that was taken is tried again. Node ports move from one
// Service to another, and the news about the old owner may arrive last.
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

// Proxy serves the node ports of one node. All methods may be called from any goroutine.
type Proxy struct {
	options Options
	conns   *connections

	mu       sync.Mutex
	closed   bool
	services map[name]*service
}

type name struct{ namespace, name string }

// portKey is what a node port is bound by.
type portKey struct {
	protocol corev1.Protocol
	port     uint16
}

// forwarder serves one node port of one protocol.
type forwarder interface {
	update(p Port, targets []netip.AddrPort, affinity time.Duration)
	close()
}

// service is one Service as it is carried out.
type service struct {
	wanted Service
	ports  map[portKey]forwarder
	health *health
	retry  *time.Timer
}

// New returns a Proxy that serves nothing yet.
func New(o Options) *Proxy {
	return &Proxy{options: o, conns: newConnections(), services: map[name]*service{}}
}

// Set makes the node serve a Service as given from now on. Established TCP connections stay.
func (p *Proxy) Set(s Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	key := name{s.Namespace, s.Name}
	current := p.services[key]
	if current == nil {
		if len(s.Ports) == 0 {
			return
		}
		current = &service{ports: map[portKey]forwarder{}}
		p.services[key] = current
	}
	current.wanted = s
	p.apply(current)
	if len(s.Ports) == 0 {
		delete(p.services, key)
	}
}

// Delete stops serving a Service.
func (p *Proxy) Delete(namespace, serviceName string) {
	p.Set(Service{Namespace: namespace, Name: serviceName})
}

// Close stops serving everything and cuts every connection, as a machine that goes down does.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.services {
		s.wanted = Service{}
		p.apply(s)
	}
	clear(p.services)
	p.mu.Unlock()
	p.conns.close()
}

// apply makes the sockets of one Service what is wanted. A node port without targets is not
// bound: its clients are refused at once.
func (p *Proxy) apply(s *service) {
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	targets := map[portKey][]netip.AddrPort{}
	for _, port := range s.wanted.Ports {
		if t := port.Targets(p.options.Node); len(t) > 0 {
			targets[portKey{port.Protocol, port.NodePort}] = t
		}
	}
	for key, f := range s.ports {
		if targets[key] == nil {
			f.close()
			delete(s.ports, key)
		}
	}
	bound := p.applyHealth(s)
	for _, port := range s.wanted.Ports {
		if t := targets[portKey{port.Protocol, port.NodePort}]; t != nil {
			bound = p.applyPort(s, port, t) && bound
		}
	}
	if !bound {
		s.retry = time.AfterFunc(bindRetry, func() { p.again(s) })
	}
}

// again retries what could not be bound, unless the Service has gone.
func (p *Proxy) again(s *service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services[name{s.wanted.Namespace, s.wanted.Name}] == s {
		p.apply(s)
	}
}

func (p *Proxy) applyPort(s *service, port Port, targets []netip.AddrPort) bool {
	key := portKey{port.Protocol, port.NodePort}
	f := s.ports[key]
	if f == nil {
		var err error
		if f, err = p.listen(key); err != nil {
			p.unbound(s, key.port, err)
			return false
		}
		if f == nil {
			return true
		}
		s.ports[key] = f
	}
	f.update(port, targets, s.wanted.Affinity)
	return true
}

// listen returns nil for a protocol that a virtual node does not carry (SCTP).
func (p *Proxy) listen(key portKey) (forwarder, error) {
	at := netip.AddrPortFrom(p.options.Address, key.port)
	switch key.protocol {
	case corev1.ProtocolTCP:
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return nil, err
		}
		return newStream(l, p), nil
	case corev1.ProtocolUDP:
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			return nil, err
		}
		return newDatagram(c, p), nil
	default:
		p.options.Logger.Warn("virtual nodes forward TCP and UDP only", "protocol", key.protocol, "nodePort", key.port)
		return nil, nil
	}
}

func (p *Proxy) unbound(s *service, port uint16, err error) {
	p.options.Logger.Warn("binding a node port; trying again", "node", p.options.Node,
		"service", s.wanted.Namespace+"/"+s.wanted.Name, "port", port, "in", bindRetry, "error", err)
}

// source is the address that an endpoint sees. kube-proxy hides the client behind the node unless
// the policy is Local.
func (p *Proxy) source(local bool, client netip.AddrPort) netip.AddrPort {
	if local {
		return client
	}
	return netip.AddrPortFrom(p.options.Address, client.Port())
}
