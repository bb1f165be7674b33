// Package proxy carries the traffic of load balancers: it listens on their
// addresses and proxies TCP and UDP to machines, with health checks, allowed
// sources, the PROXY protocol and the policies. In which network the addresses
// are is up to the Sockets that it is given; the data planes decide that.
//
// A port that may not be bound, or that another program holds (also on
// 0.0.0.0), is served at port + 20000 on the same address until the listener is
// removed. Status says so, and says also when that port is taken too.
//
// A connection lives as long as its listener and its target do; changes to
// other targets, and to settings of the listener, do not touch it. A failing
// health check keeps new connections away from a target and leaves the existing
// ones alone.
package proxy

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Options adjust a Proxy. The zero value is useful.
type Options struct {
	// Sockets opens the sockets; nil means Host.
	Sockets Sockets
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Second is how long a second between two health checks takes; tests make
	// it shorter, because the API allows no period below 5 seconds. How long a
	// target may take to answer it only makes longer. Zero means a real second.
	Second time.Duration
	// OneTarget resets a connection that the chosen target does not take.
	// Otherwise the other usable targets are tried, so that a target that just
	// failed does not affect clients. It is for tests of which targets are chosen.
	OneTarget bool
	// OnCut is called with the client's address and port before a connection is
	// closed because its target was removed. It must not block or call the proxy.
	// It may be nil.
	OnCut func(client netip.AddrPort)
}

// Proxy serves load balancers.
type Proxy struct {
	sockets Sockets
	log     *slog.Logger
	second  time.Duration
	// oneTarget is Options.OneTarget.
	oneTarget bool
	onCut     func(client netip.AddrPort)
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu        sync.Mutex
	frontends map[string]map[endpoint]*frontend
}

// endpoint is what a listener listens on.
type endpoint struct {
	address  netip.AddrPort
	protocol traffic.Protocol
}

// New starts a proxy that serves nothing yet. Close ends it.
func New(o Options) *Proxy {
	if o.Sockets == nil {
		o.Sockets = Host{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Second == 0 {
		o.Second = time.Second
	}
	if o.OnCut == nil {
		o.OnCut = func(netip.AddrPort) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Proxy{
		sockets: o.Sockets, log: o.Logger, second: o.Second, oneTarget: o.OneTarget, onCut: o.OnCut,
		ctx: ctx, cancel: cancel, frontends: map[string]map[endpoint]*frontend{},
	}
}

// Serve makes the traffic of a load balancer as described.
func (p *Proxy) Serve(lb traffic.LoadBalancer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	wanted := map[endpoint]traffic.Listener{}
	for _, l := range lb.Listeners {
		for _, addr := range lb.Addresses {
			wanted[endpoint{netip.AddrPortFrom(addr, l.Port), l.Protocol}] = l
		}
	}
	frontends := p.frontends[lb.Identity]
	if frontends == nil {
		frontends = map[endpoint]*frontend{}
		p.frontends[lb.Identity] = frontends
	}
	for at, f := range frontends {
		// A frontend that could not be opened is tried again.
		if _, keep := wanted[at]; !keep || !f.served.IsValid() {
			f.close()
			delete(frontends, at)
		}
	}
	for _, at := range ordered(wanted) {
		l := wanted[at]
		if f, exists := frontends[at]; exists {
			f.update(l)
			continue
		}
		frontends[at] = p.open(lb.Name, at, l)
	}
}

// ordered has the higher ports first, so that a listener has its own port before
// that port stands in for a lower one.
func ordered(wanted map[endpoint]traffic.Listener) []endpoint {
	return slices.SortedFunc(maps.Keys(wanted), func(a, b endpoint) int {
		return cmp.Or(b.address.Compare(a.address), strings.Compare(string(a.protocol), string(b.protocol)))
	})
}

// Remove stops the traffic of a load balancer.
func (p *Proxy) Remove(identity string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.frontends[identity] {
		f.close()
	}
	delete(p.frontends, identity)
}

// Status returns what is served for a load balancer.
func (p *Proxy) Status(identity string) (status traffic.Status, served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	frontends, served := p.frontends[identity]
	byListener := map[string]traffic.ListenerStatus{}
	for _, f := range frontends {
		l := f.settings.Load().Identity
		byListener[l] = f.addTo(byListener[l])
	}
	for _, l := range byListener {
		status.Listeners = append(status.Listeners, l)
	}
	slices.SortFunc(status.Listeners, func(a, b traffic.ListenerStatus) int {
		return strings.Compare(a.Identity, b.Identity)
	})
	return status, served
}

// Close stops everything and waits until it has stopped. Closing again does
// nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.cancel()
	for _, frontends := range p.frontends {
		for _, f := range frontends {
			f.close()
		}
	}
	clear(p.frontends)
	p.mu.Unlock()
	p.running.Wait()
}
