//go:build linux

// Package netns is a data plane of network namespaces: a machine is a namespace
// with its own addresses, a VPC is a router with a bridge for every subnet, route
// tables are the router's own, and security groups are its filters. Load balancers
// are proxies at addresses of the router. Volumes are loop devices. It carries IPv4
// and IPv6, and needs root, Linux and the program nft.
//
//	plane, err := netns.New(netns.Options{OnMachine: func(e netns.Event) { ... }})
//	...
//	cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), DataPlane: plane})
//
// Nothing leaves the machine, and nothing outside of the plane's namespaces
// changes, unless a client's namespace is given. What programs do inside of a
// machine is up to them: nsenter --net=/run/netns/NAME-worker-1 starts one there.
//
// Machines have their addresses alone, without the subnet, and send everything
// to their gateway, as in many clouds. The hub connects VPCs to the client and
// not to each other.
package netns

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Host as the client is the namespace in which this program runs.
const Host = "host"

// Options adjust a Plane. The zero value is useful.
type Options struct {
	// Name begins the names of all namespaces: at most 12 lower case letters and
	// digits. It is made up when empty. No two planes may have the same.
	Name string
	// Client is the namespace from which load balancers and machines are reached:
	// a name, a path, or Host. It gets an interface that is called Name, and
	// routes; both go with the plane. When empty, the plane makes one of its own,
	// NAME-client.
	Client string
	// ClientNetworks are where the client is, at most one of each address family:
	// its address is the second. None means DefaultClientNetworks.
	ClientNetworks []netip.Prefix
	// OnMachine is called for what happens to machines: one call after another, from a
	// goroutine of the plane. A call that takes long delays only the next ones.
	OnMachine func(Event)
	// Proxy adjusts the load balancers. The plane uses its logger, too;
	// its sockets are always those of the VPCs.
	Proxy proxy.Options
}

// Plane is a running data plane.
type Plane struct {
	options Options
	run     *run
	hub     *hub
	events  *eventQueue

	// wiring is held by who changes the network, which may take seconds.
	wiring sync.Mutex
	closed bool
	// numbers are those of VPCs, by identity. They are never used again.
	numbers map[string]int
	hidden  []string

	// mu guards what follows. Who holds wiring changes it, and may read it
	// without mu.
	mu      sync.Mutex
	routers map[string]*router
	disks   *disks
	// homes are the VPCs of load balancers.
	homes map[string]string
}

// New starts a plane without machines. It removes first what dead planes left.
// What the machine lacks is an error, all of it at once if possible.
func New(o Options) (*Plane, error) {
	if err := Check(); err != nil {
		return nil, fmt.Errorf("starting the data plane netns: %w", err)
	}
	if o.Proxy.Logger == nil {
		o.Proxy.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.ClientNetworks) == 0 {
		o.ClientNetworks = DefaultClientNetworks()
	}
	if err := checkClientNetworks(o.ClientNetworks); err != nil {
		return nil, fmt.Errorf("starting the data plane netns: %w", err)
	}
	removed, err := Clean()
	if len(removed) > 0 {
		o.Proxy.Logger.Info("removed what emulators left that were killed", "namespaces", removed)
	}
	if err != nil {
		o.Proxy.Logger.Warn("removing what emulators left that were killed", "error", err)
	}
	p, err := start(o)
	if err != nil {
		return nil, fmt.Errorf("starting the data plane netns: %w", err)
	}
	return p, nil
}

// checkClientNetworks requires room for two addresses, once in each family at most.
func checkClientNetworks(networks []netip.Prefix) error {
	families := map[bool]netip.Prefix{}
	for _, network := range networks {
		if !network.IsValid() || network.Addr().BitLen()-network.Bits() < 2 {
			return fmt.Errorf(
				"client network %s: use one with room for a gateway and a client, such as 198.51.100.0/24", network)
		}
		if other, taken := families[network.Addr().Is4()]; taken {
			return fmt.Errorf("client networks %s and %s are of one address family; use one of each", other, network)
		}
		families[network.Addr().Is4()] = network
	}
	return nil
}

func start(o Options) (*Plane, error) {
	r, err := begin(runs, o.Name)
	if err != nil {
		return nil, err
	}
	h, err := newHub(r, o.Client, o.ClientNetworks)
	if err != nil {
		return nil, errors.Join(err, r.end())
	}
	d, err := newDisks(r)
	if err != nil {
		return nil, errors.Join(err, h.remove(), r.removeDisks(), r.end())
	}
	return &Plane{
		options: o, run: r, hub: h, disks: d, events: newEventQueue(o.OnMachine),
		routers: map[string]*router{}, numbers: map[string]int{}, homes: map[string]string{},
	}, nil
}

// Name is how the names of the plane's namespaces begin, before a hyphen.
func (p *Plane) Name() string { return p.run.name }

// Network is the zero prefix: VPCs and load balancers have the addresses they want.
func (p *Plane) Network() netip.Prefix { return netip.Prefix{} }

// Client is the namespace from which load balancers and machines are reached.
// It is valid until Close.
func (p *Plane) Client() *namespace.Namespace { return p.hub.client.Namespace }

// ClientAddresses are those of the client, one in each of its networks, in
// their order. Machines reach it there.
func (p *Plane) ClientAddresses() (addresses []netip.Addr) {
	for _, network := range p.options.ClientNetworks {
		addresses = append(addresses, clientAddress(network))
	}
	return addresses
}

// Router is the network namespace of the router of a VPC, valid until the VPC is
// gone; false if there is none. What the plane does not know there stays.
func (p *Plane) Router(vpc string) (router *namespace.Namespace, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.routers[vpc]; r != nil {
		return r.space.Namespace, true
	}
	return nil, false
}

// Wire makes the network as described. It is not to be called from OnMachine.
func (p *Plane) Wire(network traffic.Network) error {
	p.wiring.Lock()
	defer p.wiring.Unlock()
	if p.closed {
		return nil
	}
	failed := []error{p.dropVPCs(network)}
	homes := map[string]string{}
	for _, vpc := range network.VPCs {
		r, err := p.router(vpc)
		if err != nil {
			failed = append(failed, fmt.Errorf("VPC %s: %w", vpc.Identity, err))
			continue
		}
		failed = append(failed, r.wire(vpc))
		for _, lb := range vpc.LoadBalancers {
			homes[lb.Identity] = vpc.Identity
		}
	}
	p.guarded(func() { p.homes = homes })
	failed = append(failed, p.disks.wire(network, p.linksOf))
	hidden, err := p.hub.wire(network, p.numbers)
	if !slices.Equal(hidden, p.hidden) {
		p.options.Proxy.Logger.Warn("other VPCs have the same addresses: the client does not reach these", "hidden",
			hidden)
		p.hidden = hidden
	}
	return errors.Join(append(failed, err)...)
}

// dropVPCs removes the VPCs that are no longer described.
func (p *Plane) dropVPCs(network traffic.Network) error {
	var failed []error
	for identity, r := range p.routers {
		if !slices.ContainsFunc(network.VPCs, func(next traffic.VPC) bool { return next.Identity == identity }) {
			failed = append(failed, p.hub.removeRoutes(r.number), r.remove())
			p.guarded(func() { delete(p.routers, identity) })
		}
	}
	return errors.Join(failed...)
}

// guarded changes what others read.
func (p *Plane) guarded(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// maxVPCs is how many links the addresses between hub and routers suffice for.
const maxVPCs = 1 << 14

// router finds the router of a VPC, or makes it.
func (p *Plane) router(vpc traffic.VPC) (*router, error) {
	if known, found := p.routers[vpc.Identity]; found {
		return known, nil
	}
	number, again := p.numbers[vpc.Identity]
	if !again {
		number = len(p.numbers) + 1
	}
	if number >= maxVPCs {
		return nil, fmt.Errorf("%d VPCs have been there; start the emulator again", number-1)
	}
	s, err := newSpace(fmt.Sprintf("%s%s%d", p.run.prefix(), routerName, number))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.sysctl(forwarding()...), p.hub.attach(number, s)); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	p.numbers[vpc.Identity] = number
	balancing := p.options.Proxy
	balancing.Sockets = sockets{s.Namespace}
	r := &router{
		space: s, number: number, events: p.events.add, clients: p.options.ClientNetworks, name: p.machineName,
		proxy:   proxy.New(balancing),
		disks:   p.disks,
		numbers: map[string]int{}, machines: map[string]*machine{},
		bridges: set[string]{}, addresses: set[address]{}, routes: set[route]{}, rules: set[rule]{},
	}
	p.guarded(func() { p.routers[vpc.Identity] = r })
	return r, nil
}

// machineName is the name of a machine's namespace: with its slug, or its
// identity where another has that already.
func (p *Plane) machineName(next traffic.Machine) string {
	name := p.run.prefix() + next.Name
	taken := slices.Contains([]string{hubName, clientName}, next.Name)
	for _, r := range p.routers {
		taken = taken || r.space.Name() == name
		for _, m := range r.machines {
			taken = taken || m.space.Name() == name
		}
	}
	if taken {
		return p.run.prefix() + next.Identity
	}
	return name
}

// linksOf is the folder with the links of a machine; empty if there is none.
func (p *Plane) linksOf(machine string) string {
	for _, r := range p.routers {
		if m := r.machines[machine]; m != nil {
			return m.disks
		}
	}
	return ""
}

// Serve makes the traffic of a load balancer as described.
func (p *Plane) Serve(lb traffic.LoadBalancer) {
	if r := p.homeOf(lb.Identity); r != nil {
		r.proxy.Serve(lb)
	}
}

func (p *Plane) homeOf(identity string) *router {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.routers[p.homes[identity]]
}

// Remove stops the traffic of a load balancer.
func (p *Plane) Remove(identity string) {
	for _, r := range p.all() {
		r.proxy.Remove(identity)
	}
}

func (p *Plane) all() []*router {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*router
	for _, r := range p.routers {
		out = append(out, r)
	}
	return out
}

// Status says what is served for a load balancer.
func (p *Plane) Status(identity string) (status traffic.Status, served bool) {
	r := p.homeOf(identity)
	if r == nil {
		return traffic.Status{}, false
	}
	return r.proxy.Status(identity)
}

// Close removes everything. Machines are Deleted, and OnMachine has been called
// of it when Close returns. Closing again does nothing.
func (p *Plane) Close() error {
	p.wiring.Lock()
	defer p.wiring.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	err := errors.Join(p.dropVPCs(traffic.Network{}), p.hub.remove())
	_, rest := p.run.removeNamespaces() // what could not be made or removed before
	err = errors.Join(err, rest, p.run.removeDisks())
	p.events.end()
	if err != nil {
		// The run's file stays, so that the next start tries again.
		return errors.Join(fmt.Errorf("removing the data plane netns: %w", err), p.run.lock.Close())
	}
	return p.run.end()
}
