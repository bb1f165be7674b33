package emulator

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// DataPlane moves the packets of load balancers. Its methods may be called from
// any goroutine; the emulator calls Serve and Remove one at a time.
type DataPlane interface {
	// Network is where the addresses of VPCs and load balancers must lie; the
	// zero prefix means anywhere.
	Network() netip.Prefix
	// Serve makes the traffic of one load balancer as described. It returns once
	// new connections are treated accordingly; what goes wrong is in Status.
	Serve(lb traffic.LoadBalancer)
	// Remove stops the traffic of a load balancer. Unknown identities are ignored.
	Remove(identity string)
	// Status says what is served for a load balancer.
	Status(identity string) (status traffic.Status, served bool)
	// Close stops all traffic and releases everything.
	Close() error
}

// checkPlane checks that a seed's addresses can be served.
func checkPlane(plane DataPlane, in seed.Seed) error {
	if plane == nil || !plane.Network().IsValid() {
		return nil
	}
	network := []netip.Prefix{plane.Network()}
	for _, r := range in.Regions {
		for _, prefix := range r.PublicAddresses {
			if !within(prefix, network) {
				return fmt.Errorf("seed region %q: public addresses %s are outside the data plane's network %s", r.Name, prefix, network[0])
			}
		}
	}
	for _, o := range in.Organisations {
		vpcs := slices.Clone(o.VPCs)
		for _, p := range o.Projects {
			vpcs = append(vpcs, p.VPCs...)
		}
		for _, v := range vpcs {
			for _, cidr := range v.CIDRs {
				if !within(cidr, network) {
					return fmt.Errorf("seed VPC %q: CIDR %s is outside the data plane's network %s", v.Name, cidr, network[0])
				}
			}
		}
	}
	return nil
}

// checkServable refuses ranges of a VPC that the data plane cannot serve. Its
// network is one, so VPCs do not have address spaces of their own.
func (e *Emulator) checkServable(field string, v *vpc, cidrs []netip.Prefix) error {
	if e.plane == nil || !e.plane.Network().IsValid() {
		return nil
	}
	for _, cidr := range cidrs {
		if !within(cidr, []netip.Prefix{e.plane.Network()}) {
			return invalid("field %q: %s is outside the data plane's network %s", field, cidr, e.plane.Network())
		}
		for org := range e.store.spaces() {
			for other := range org.vpcs.all() {
				if other != v && slices.ContainsFunc(other.cidrs, cidr.Overlaps) {
					return conflict("field %q: %s overlaps VPC %q, which shares the data plane's network", field, cidr, other.Identity)
				}
			}
		}
	}
	return nil
}

// checkPublic refuses ranges of a subnet that contain public addresses of the
// data plane's network.
func (e *Emulator) checkPublic(field string, cidrs []netip.Prefix) error {
	if e.plane == nil || !e.plane.Network().IsValid() {
		return nil
	}
	for r := range e.store.regions.all() {
		for _, pool := range r.public {
			if slices.ContainsFunc(cidrs, pool.Prefix().Overlaps) {
				return conflict("field %q: %s are public addresses of region %s", field, pool.Prefix(), r.Slug)
			}
		}
	}
	return nil
}

// trafficChanged records that the data plane has to look at a load balancer.
func (o *organisation) trafficChanged(lb *loadbalancer) { o.store.changed[lb.Identity] = o }

// flush tells the data plane what changed. The answer to a write is sent after
// it, so a client that saw the answer sees the new traffic.
func (e *Emulator) flush() {
	if e.plane == nil {
		e.store.forgetChanges()
		return
	}
	e.planeMu.Lock()
	defer e.planeMu.Unlock()
	if e.closed {
		return
	}
	now := time.Now()
	// What fails is logged and in State: the write that led here has happened.
	_ = e.wire(now)
	changes := e.store.takeChanges(now)
	e.letGo(changes, now)
	for identity, next := range changes {
		if next.serve != nil {
			e.plane.Serve(*next.serve)
			e.occupied[identity] = next.serve.Addresses
		}
	}
	e.stopTimer(lateDeletion)
	if at, found := e.store.nextDeferred(); found {
		e.timers[lateDeletion] = alarm{at, time.AfterFunc(at.Sub(now), func() { e.wake(lateDeletion) })}
	}
}

// letGo takes addresses away from load balancers before others get them: a
// reserved IP may have moved from one to another.
func (e *Emulator) letGo(changes map[string]change, now time.Time) {
	for identity, next := range changes {
		e.stopTimer(identity)
		switch {
		case next.wait > 0:
			e.timers[identity] = alarm{now.Add(next.wait), time.AfterFunc(next.wait, func() { e.wake(identity) })}
		case next.serve == nil:
			e.plane.Remove(identity)
			delete(e.occupied, identity)
		default:
			fewer := *next.serve
			fewer.Addresses = slices.DeleteFunc(slices.Clone(e.occupied[identity]), func(addr netip.Addr) bool {
				return !slices.Contains(next.serve.Addresses, addr)
			})
			if len(fewer.Addresses) < len(e.occupied[identity]) {
				e.plane.Serve(fewer)
			}
		}
	}
}

// lateDeletion is the timer for the next deletion that was answered before it
// happens, nextBoot the one for the next machine that will be there; all others
// carry the identity of a load balancer.
const (
	lateDeletion = ""
	nextBoot     = "next boot"
)

// change is what the data plane should do about a load balancer: wait until it
// is ready, serve it, or (neither) remove it.
type change struct {
	wait  time.Duration
	serve *traffic.LoadBalancer
}

func (s *store) forgetChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.changed)
}

func (s *store) takeChanges(now time.Time) map[string]change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := map[string]change{}
	for identity, org := range s.changed {
		var next change
		lb, found := org.loadbalancers.exact(identity)
		switch {
		case !found || !lb.wanted():
		case lb.at(now) == creating:
			next.wait = lb.readyAt.Sub(now)
		case lb.creating(now):
			// Held there; whoever ends that says so.
		default:
			next.serve = lb.traffic()
		}
		changes[identity] = next
	}
	clear(s.changed)
	return changes
}

// alarm is when something happens by itself.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// catchUp serves load balancers that are ready but whose timer has yet to run,
// so that a client that reads `ready` can connect.
func (e *Emulator) catchUp() {
	e.planeMu.Lock()
	var due []string
	for identity, next := range e.timers {
		if !time.Now().Before(next.at) {
			due = append(due, identity)
		}
	}
	e.planeMu.Unlock()
	for _, identity := range due {
		e.wake(identity)
	}
}

// wake is called when a load balancer or a machine should be ready, or a late
// deletion is due.
func (e *Emulator) wake(identity string) {
	e.store.mu.Lock()
	e.settle(time.Now())
	for org := range e.store.spaces() {
		if lb, found := org.loadbalancers.exact(identity); found {
			org.trafficChanged(lb)
		}
	}
	e.store.mu.Unlock()
	e.flush()
}

func (e *Emulator) stopTimer(identity string) {
	if next, found := e.timers[identity]; found {
		next.timer.Stop()
		delete(e.timers, identity)
	}
}

// Close clears all faults and stops the traffic of all load balancers. The API
// goes on answering.
func (e *Emulator) Close() error {
	e.faults.Clear()
	e.planeMu.Lock()
	defer e.planeMu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	for identity := range e.timers {
		e.stopTimer(identity)
	}
	if e.plane == nil {
		return nil
	}
	return e.plane.Close()
}

// traffic describes the load balancer to a data plane.
func (lb *loadbalancer) traffic() *traffic.LoadBalancer {
	out := &traffic.LoadBalancer{Identity: lb.Identity, Name: lb.Name, Addresses: lb.addresses()}
	for _, l := range lb.listeners {
		out.Listeners = append(out.Listeners, l.traffic())
	}
	return out
}

func (l *listener) traffic() traffic.Listener {
	out := traffic.Listener{
		Identity: l.Identity, Protocol: transport(l.protocol), Port: uint16(l.port),
		MaxConnections: kept(l.maxConnections, 0),
		IdleTimeout:    time.Duration(kept(l.idleTimeout, 0)) * time.Second,
		Group:          l.group.traffic(),
	}
	for _, source := range l.allowedSources {
		// Checked when the listener was written.
		if prefix, err := parseSource(source); err == nil {
			out.AllowedSources = append(out.AllowedSources, prefix)
		}
	}
	return out
}

func (g *targetGroup) traffic() traffic.Group {
	out := traffic.Group{
		Identity: g.Identity, Policy: traffic.Policy(g.policy), ProxyProtocol: kept(g.proxyProtocol, false),
	}
	if h := g.health; h != nil {
		out.Health = &traffic.HealthCheck{
			Protocol: h.Protocol, Port: uint16(h.Port), Path: h.Path,
			Period:             time.Duration(h.PeriodSeconds) * time.Second,
			Timeout:            time.Duration(h.TimeoutSeconds) * time.Second,
			UnhealthyThreshold: int(h.UnhealthyThreshold), HealthyThreshold: int(h.HealthyThreshold),
		}
	}
	for a := range g.attachments.all() {
		if !a.machine.stopped && a.machine.wanted() && len(a.machine.addresses) > 0 {
			out.Targets = append(out.Targets, a.machine.target(uint16(g.port)))
		}
	}
	return out
}

// target is a port of the machine, in each family that it has an address of.
func (m *machine) target(port uint16) traffic.Target {
	out := traffic.Target{Machine: m.Identity, Address: netip.AddrPortFrom(m.addresses[0], port)}
	for _, other := range m.addresses[1:] {
		if other.Is4() != m.addresses[0].Is4() {
			out.Other = netip.AddrPortFrom(other, port)
		}
	}
	return out
}
