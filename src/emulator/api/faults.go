package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/spelling"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// Inject disturbs calls from now on, as a rule says, and returns the rule's ID.
// Rules whose Operation is none of the API's are refused.
func (srv *Server) Inject(rule fault.Rule) (id string, err error) {
	if !slices.ContainsFunc(srv.known, rule.Covers) {
		return "", fmt.Errorf("injecting a fault: operation is %q, and no operation of the API is like that%s",
			rule.Operation, srv.alternative(rule.Operation))
	}
	if rule.Effect.Kind == fault.Quota && rule.Effect.Status == 0 {
		rule.Effect.Status = srv.switches.Status(apierror.StatusQuota)
	}
	// Under the lock, so that no read meets a stale rule without a past.
	srv.Store.Lock()
	defer srv.Store.Unlock()
	if id, err = srv.Faults.Add(rule); err != nil {
		return "", err
	}
	if rule.Effect.Kind == fault.Stale && len(srv.Store.Past) == 0 {
		srv.Snapshot(time.Now())
	}
	return id, nil
}

func (srv *Server) alternative(operation string) string {
	if closest, found := spelling.Closest(operation, srv.known); found {
		return fmt.Sprintf("; did you mean %q?", closest)
	}
	return `; write it like "POST *" or "* /v1/machines/{id}"`
}

// creates reports whether an operation makes an object: it adds to a list.
func (srv *Server) creates(operation string) bool {
	path, posts := strings.CutPrefix(operation, "POST ")
	return posts && slices.Contains(srv.known, "GET "+path)
}

// lists reports whether an operation reads a list, if it reads: it ends in the name
// of a collection, or there is a longer one for a single object.
func (srv *Server) lists(operation string) bool {
	return !strings.HasSuffix(operation, "}") || slices.ContainsFunc(srv.known, func(longer string) bool {
		return strings.HasPrefix(longer, operation+"/{")
	})
}

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
// deletions, the end of objects on their way out, and what snapshot policies do. The store is locked.
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
		s.Now = at
		srv.runPolicies(at)
		srv.Snapshot(at)
	}
}
