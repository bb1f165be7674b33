package api

import (
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// Snapshot records the state of the store, which is locked, after a change.
func (srv *Server) Snapshot(now time.Time) {
	reach := max(srv.Faults.Longest(fault.Stale), srv.delays.LabelFilters)
	if reach == 0 {
		srv.Store.Past = nil
		return
	}
	srv.Store.Past = srv.Store.Past.With(state.Snapshot{Since: now, State: srv.Store.Copy()}, now.Add(-reach))
}

// lag is how far behind a call's answer is: an injected fault says so, or the
// call is for a list with a label filter and those are late. What is listed
// inside an object, such as its listeners, is not searched, and is up to date.
func (rt route) lag(c *call, met fault.Effect) time.Duration {
	var by time.Duration
	if met.Kind == fault.Stale {
		by = met.Delay
	}
	if len(c.filter.Labels) > 0 && !writes(c.Request) && !strings.Contains(rt.operation, "{") {
		by = max(by, rt.server.delays.LabelFilters)
	}
	return by
}

// asOf makes a read see the cloud as it was.
func (srv *Server) asOf(c *call, by time.Duration) {
	if len(srv.Store.Past) == 0 || c.org == nil {
		return
	}
	then, when := srv.Store.Past.At(c.now.Add(-by))
	if org, found := then.State.Organisations.Exact(c.org.Identity); found {
		c.org, c.now = org, when
	}
}

// deleteLater answers a deletion as if it had happened, and lets it happen later.
// Whether it is possible is tried on a copy; when it no longer is by then, it
// silently fails, as in a cloud that works through a queue.
func (srv *Server) deleteLater(c *call, remove handler, lag time.Duration) (reply, error) {
	copied := *c
	if c.org != nil {
		copied.org, _ = srv.Store.Copy().Organisations.Exact(c.org.Identity)
	}
	answer, err := srv.handle(&copied, remove)
	if err != nil {
		return reply{}, err
	}
	due, home := c.now.Add(lag), c.org
	srv.Store.Wait(state.Deferred{At: due, Run: func() {
		c.now, c.org, c.machines = due, home, nil
		if _, err := srv.handle(c, remove); err != nil {
			srv.logger.Info("a late deletion failed", "path", c.URL.Path, "error", err)
		}
	}})
	return answer, nil
}

// ApplyDue lets happen what was due by now, one moment after the other: late
// deletions, and the end of objects on their way out. The store is locked.
func (srv *Server) ApplyDue(now time.Time) {
	s := srv.Store
	for {
		at, found := s.NextDue(now)
		if !found {
			return
		}
		for len(s.Deferred) > 0 && !s.Deferred[0].At.After(at) {
			next := s.Deferred[0]
			s.Deferred = s.Deferred[1:]
			next.Run()
		}
		for org := range s.Spaces() {
			org.FinishDeletions(at)
		}
		srv.Snapshot(at)
	}
}
