package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/spelling"
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

// creates says whether an operation makes an object: it adds to a list.
func (srv *Server) creates(operation string) bool {
	path, posts := strings.CutPrefix(operation, "POST ")
	return posts && slices.Contains(srv.known, "GET "+path)
}

// lists says whether an operation reads a list, if it reads: it ends in the name
// of a collection, or there is a longer one for a single object.
func (srv *Server) lists(operation string) bool {
	return !strings.HasSuffix(operation, "}") || slices.ContainsFunc(srv.known, func(longer string) bool {
		return strings.HasPrefix(longer, operation+"/{")
	})
}
