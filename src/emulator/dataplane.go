package emulator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
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

// flush passes what changed to the data plane. The answer to a write is sent after
// it, so a client that saw the answer sees the new traffic.
func (e *Emulator) flush() {
	defer e.api.Events.Changed()
	if e.plane == nil {
		e.api.Store.ForgetChanges()
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
	changes := e.api.Store.TakeChanges(now)
	e.letGo(changes, now)
	for identity, next := range changes {
		if next.Serve != nil {
			e.plane.Serve(*next.Serve)
			e.occupied[identity] = next.Serve.Addresses
		}
	}
	e.stopTimer(lateDeletion)
	if at, found := e.api.Store.NextDeferred(); found {
		e.timers[lateDeletion] = alarm{at, time.AfterFunc(at.Sub(now), func() { e.wake(lateDeletion) })}
	}
}

// letGo takes addresses away from load balancers before others get them: a
// reserved IP may have moved from one to another.
func (e *Emulator) letGo(changes map[string]state.Change, now time.Time) {
	for identity, next := range changes {
		e.stopTimer(identity)
		switch {
		case next.Wait > 0:
			e.timers[identity] = alarm{now.Add(next.Wait), time.AfterFunc(next.Wait, func() { e.wake(identity) })}
		case next.Serve == nil:
			e.plane.Remove(identity)
			delete(e.occupied, identity)
		default:
			fewer := *next.Serve
			fewer.Addresses = slices.DeleteFunc(slices.Clone(e.occupied[identity]), func(addr netip.Addr) bool {
				return !slices.Contains(next.Serve.Addresses, addr)
			})
			if len(fewer.Addresses) < len(e.occupied[identity]) {
				e.plane.Serve(fewer)
			}
		}
	}
}

// lateDeletion is the timer for the next deletion that was answered before it
// happens, nextChange the one for what the network changes by itself; all others
// carry the identity of a load balancer.
const (
	lateDeletion = ""
	nextChange   = "next change"
)

// alarm is when something happens by itself.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// sync serves load balancers that are ready but whose timer has yet to run,
// so that a client that reads `ready` can connect.
func (e *Emulator) sync() {
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
	e.api.Store.Lock()
	e.api.ApplyDue(time.Now())
	for org := range e.api.Store.Spaces() {
		if lb, found := org.Loadbalancers.Exact(identity); found {
			org.TrafficChanged(lb)
		}
	}
	e.api.Store.Unlock()
	e.flush()
}

func (e *Emulator) stopTimer(identity string) {
	if next, found := e.timers[identity]; found {
		next.timer.Stop()
		delete(e.timers, identity)
	}
}

// Close clears all faults, and stops the traffic of all load balancers and the
// streams of events. The API goes on answering.
func (e *Emulator) Close() error {
	e.EndEvents()
	e.api.Faults.Clear()
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
