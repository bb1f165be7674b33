package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// portOffset is added to a port that may not be bound here or that another
// program holds.
const portOffset = 20000

// frontend serves one listener on one address.
type frontend struct {
	proxy    *Proxy
	endpoint endpoint
	// settings are read at every new connection and at every idle timeout.
	settings atomic.Pointer[traffic.Listener]
	pool     *pool
	sessions sessions
	carried  counter
	ctx      context.Context
	cancel   context.CancelFunc
	socket   io.Closer
	// served is where it listens; invalid when it does not.
	served  netip.AddrPort
	problem string
}

// open starts a frontend. If it cannot listen, its status has the problem.
func (p *Proxy) open(name string, at endpoint, l traffic.Listener) *frontend {
	f := &frontend{proxy: p, endpoint: at}
	f.ctx, f.cancel = context.WithCancel(p.ctx)
	f.settings.Store(&l)
	f.pool = newPool(f.ctx, prober{sockets: p.sockets, source: at.address.Addr(), second: p.second}, &p.running)
	f.pool.set(f.reached(l.Group))
	f.problem = f.listenSomewhere()
	if f.problem != "" {
		p.log.Warn("load balancer port", "loadbalancer", name, "address", at.address.String(),
			"protocol", string(at.protocol), "problem", f.problem)
	}
	return f
}

// reached is a group whose targets have the address that the frontend sends to.
func (f *frontend) reached(group traffic.Group) traffic.Group {
	group.Targets = slices.Clone(group.Targets)
	for i, target := range group.Targets {
		group.Targets[i] = target.From(f.endpoint.address.Addr())
	}
	return group
}

// listenSomewhere listens on the frontend's own port or, if that may not be bound
// or is in use, on the port portOffset above it. It returns why the port is not
// the frontend's own; "" if it is.
func (f *frontend) listenSomewhere() (problem string) {
	at := f.endpoint.address
	refused := f.listen(at)
	if refused == nil {
		return ""
	}
	why, elsewhere := reason(refused), int(at.Port())+portOffset
	if why == "" || elsewhere > math.MaxUint16 {
		return fmt.Sprintf("not served: %v", refused)
	}
	if err := f.listen(netip.AddrPortFrom(at.Addr(), uint16(elsewhere))); err != nil {
		return fmt.Sprintf("not served: port %d %s (%v), nor can port %d be used instead: %v",
			at.Port(), why, refused, elsewhere, err)
	}
	return fmt.Sprintf("port %d %s (%v); served at port %d", at.Port(), why, refused, elsewhere)
}

// reason returns why a port was refused; it is empty when another port of the same
// address would be refused too.
func reason(refused error) string {
	switch {
	case errors.Is(refused, fs.ErrPermission):
		return "may not be bound here"
	case errors.Is(refused, syscall.EADDRINUSE):
		return "is in use already"
	default:
		return ""
	}
}

func (f *frontend) listen(at netip.AddrPort) error {
	if f.endpoint.protocol == traffic.UDP {
		conn, err := f.proxy.sockets.ListenUDP(at)
		if err != nil {
			return err
		}
		f.socket, f.served = conn, at
		f.proxy.running.Go(func() { f.serveUDP(conn) })
	} else {
		listener, err := f.proxy.sockets.ListenTCP(at)
		if err != nil {
			return err
		}
		f.socket, f.served = listener, at
		f.proxy.running.Go(func() { f.serveTCP(listener) })
	}
	return nil
}

// update changes the settings. Connections to targets that went are closed.
func (f *frontend) update(l traffic.Listener) {
	f.settings.Store(&l)
	f.pool.set(f.reached(l.Group))
	f.sessions.closeUnless(f.pool.has, f.proxy.onCut)
}

func (f *frontend) close() {
	f.cancel()
	if f.socket != nil {
		// A second close is harmless, and nothing can be done about a failure.
		_ = f.socket.Close()
	}
	f.pool.set(traffic.Group{})
	f.sessions.closeAll()
}

// allows returns whether a source may connect.
func (f *frontend) allows(source netip.Addr) bool {
	allowed := f.settings.Load().AllowedSources
	for _, prefix := range allowed {
		if prefix.Contains(source) {
			return true
		}
	}
	return len(allowed) == 0
}

// addTo adds the frontend to the status of its listener, which has one for each of the load balancer's addresses.
func (f *frontend) addTo(status traffic.ListenerStatus) traffic.ListenerStatus {
	status.Identity = f.settings.Load().Identity
	if f.served.IsValid() {
		status.Served = append(status.Served, f.served)
	}
	if f.problem != "" {
		status.Problem = f.problem
	}
	status.Counters = status.Counters.Plus(f.carried.read())
	for _, target := range f.pool.status() {
		status.Targets = withTarget(status.Targets, target)
	}
	return status
}

// withTarget adds the health and the counters of a target at one frontend. If frontends differ about a target, the
// worst health counts.
func withTarget(targets []traffic.TargetStatus, one traffic.TargetStatus) []traffic.TargetStatus {
	at := slices.IndexFunc(targets, func(t traffic.TargetStatus) bool {
		return t.Machine == one.Machine && t.Address == one.Address
	})
	if at < 0 {
		return append(targets, one)
	}
	targets[at].Health = targets[at].Health.Worst(one.Health)
	targets[at].Counters = targets[at].Counters.Plus(one.Counters)
	return targets
}
