// Package loopback is a data plane on one machine's loopback range: load
// balancers listen on their own 127.N addresses and proxy TCP and UDP to the
// addresses of machines, which lie in the same network. It needs no privileges.
//
//	plane, err := loopback.New(loopback.Options{Network: loopback.Auto})
//	...
//	seed, err := emulator.LoopbackSeed(plane.Network())
//	cloud, err := emulator.New(emulator.Config{Seed: seed, DataPlane: plane})
//
// A port that this user may not bind, or that another program holds (also on
// 0.0.0.0), is served at port + 20000 on the same address until the listener is
// removed. Status says so, and says also when that port is taken too.
//
// Every address of 127.0.0.0/8 can be bound on Linux without any set-up; other
// systems need an alias per address.
//
// A connection lives as long as its listener and its target do; changes to
// other targets, and to settings of the listener, do not touch it. A failing
// health check keeps new connections away from a target and leaves the existing
// ones alone.
package loopback

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Options adjust a Plane. The zero value is useful.
type Options struct {
	// Network is Auto (the default) or a prefix such as 127.64.0.0/16.
	Network string
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Second is how long a second of a health check takes; tests make it
	// shorter, because the API allows no period below 5 seconds. Zero means a
	// real second.
	Second time.Duration
	// OneTarget resets a connection that the chosen target does not take.
	// Otherwise the other usable targets are tried, so that clients do not
	// notice a target that just died; tests that want to see which targets are
	// chosen cannot have that.
	OneTarget bool
}

// Plane serves load balancers in one network.
type Plane struct {
	network netip.Prefix
	claim   net.Listener
	binder  binder
	log     *slog.Logger
	second  time.Duration
	// oneTarget is Options.OneTarget.
	oneTarget bool
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu     sync.Mutex
	fronts map[string]map[endpoint]*front
}

// endpoint is what a listener listens on.
type endpoint struct {
	address  netip.AddrPort
	protocol traffic.Protocol
}

// New claims a network, so that several emulators can run side by side.
func New(o Options) (*Plane, error) {
	network, claim, err := claimNetwork(o.Network)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Second == 0 {
		o.Second = time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Plane{
		network: network, claim: claim, log: o.Logger, second: o.Second, oneTarget: o.OneTarget, binder: sockets{},
		ctx: ctx, cancel: cancel, fronts: map[string]map[endpoint]*front{},
	}, nil
}

// Network is the network that the plane claimed.
func (p *Plane) Network() netip.Prefix { return p.network }

// Serve makes the traffic of a load balancer as described.
func (p *Plane) Serve(lb traffic.LoadBalancer) {
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
	fronts := p.fronts[lb.Identity]
	if fronts == nil {
		fronts = map[endpoint]*front{}
		p.fronts[lb.Identity] = fronts
	}
	for at, f := range fronts {
		// A front that could not be opened is tried again.
		if _, keep := wanted[at]; !keep || !f.served.IsValid() {
			f.close()
			delete(fronts, at)
		}
	}
	for _, at := range ordered(wanted) {
		l := wanted[at]
		if f, exists := fronts[at]; exists {
			f.update(l)
			continue
		}
		fronts[at] = p.open(lb.Name, at, l)
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
func (p *Plane) Remove(identity string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.fronts[identity] {
		f.close()
	}
	delete(p.fronts, identity)
}

// Status says what is served for a load balancer.
func (p *Plane) Status(identity string) (status traffic.Status, served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fronts, served := p.fronts[identity]
	byListener := map[string]traffic.ListenerStatus{}
	for _, f := range fronts {
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
func (p *Plane) Close() error {
	p.mu.Lock()
	p.cancel()
	for _, fronts := range p.fronts {
		for _, f := range fronts {
			f.close()
		}
	}
	clear(p.fronts)
	p.mu.Unlock()
	p.running.Wait()
	if err := p.claim.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
