package proxy

import (
	"net/netip"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// session is a connection, or a UDP client's session with its target.
type session struct {
	// client is the client of a connection; it is invalid in a UDP session.
	client netip.AddrPort
	target traffic.Target
	// end ends the session from outside; it may be called more than once.
	end func()
}

// sessions are the open sessions of a frontend. Its zero value is ready to use.
type sessions struct {
	mu     sync.Mutex
	open   map[*session]bool
	closed bool
}

// add admits a session unless there are limit of them already (0: no limit).
func (s *sessions) add(one *session, limit uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || limit > 0 && len(s.open) >= int(limit) {
		return false
	}
	if s.open == nil {
		s.open = map[*session]bool{}
	}
	s.open[one] = true
	return true
}

// use records which target a session talks to.
func (s *sessions) use(one *session, target traffic.Target, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.target, one.end = target, end
	if s.closed {
		end()
	}
}

func (s *sessions) remove(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// closeUnless closes the sessions whose target is not wanted any more. Before it
// closes a connection, it calls cut.
func (s *sessions) closeUnless(wanted func(traffic.Target) bool, cut func(client netip.AddrPort)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if one.target == (traffic.Target{}) || wanted(one.target) {
			continue
		}
		if one.client.IsValid() {
			cut(one.client)
		}
		one.end()
	}
}

// closeAll closes all sessions and admits no more.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for one := range s.open {
		one.end()
	}
}
