package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/spelling"
)

// Inject disturbs calls from now on, as a rule says, and returns the rule's ID.
// Rules whose Operation is none of the API's are refused.
func (e *Emulator) Inject(rule fault.Rule) (id string, err error) {
	if !slices.ContainsFunc(e.known, rule.Covers) {
		return "", fmt.Errorf("injecting a fault: operation is %q, and no operation of the API is like that%s",
			rule.Operation, e.alternative(rule.Operation))
	}
	if rule.Effect.Kind == fault.Quota && rule.Effect.Status == 0 {
		rule.Effect.Status = e.switches.status(statusQuota)
	}
	// Under the lock, so that no read meets a stale rule without a past.
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if id, err = e.faults.Add(rule); err != nil {
		return "", err
	}
	if rule.Effect.Kind == fault.Stale && len(e.store.past) == 0 {
		e.remember(time.Now())
	}
	return id, nil
}

func (e *Emulator) alternative(operation string) string {
	if closest, found := spelling.Closest(operation, e.known); found {
		return fmt.Sprintf("; did you mean %q?", closest)
	}
	return `; write it like "POST *" or "* /v1/machines/{id}"`
}

// Faults are the rules in force and what became of them, oldest first.
func (e *Emulator) Faults() []fault.Status { return e.faults.Rules() }

// ClearFaults takes the rules with these IDs out, or all without any ID. Calls
// that wait because of them go on; late deletions that were answered still happen.
func (e *Emulator) ClearFaults(ids ...string) { e.faults.Clear(ids...) }

// creates says whether an operation makes an object: it adds to a list.
func (e *Emulator) creates(operation string) bool {
	path, posts := strings.CutPrefix(operation, "POST ")
	return posts && slices.Contains(e.known, "GET "+path)
}

// lists says whether an operation reads a list, if it reads: it ends in the name
// of a collection, or there is a longer one for a single object.
func (e *Emulator) lists(operation string) bool {
	return !strings.HasSuffix(operation, "}") || slices.ContainsFunc(e.known, func(longer string) bool {
		return strings.HasPrefix(longer, operation+"/{")
	})
}

func (e *Emulator) faultRoutes() {
	e.mux.HandleFunc("GET /_emulator/faults", func(w http.ResponseWriter, _ *http.Request) {
		e.sendJSON(w, http.StatusOK, e.Faults())
	})
	e.mux.HandleFunc("POST /_emulator/faults", e.postFault)
	e.mux.HandleFunc("DELETE /_emulator/faults", func(w http.ResponseWriter, _ *http.Request) {
		e.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	e.mux.HandleFunc("DELETE /_emulator/faults/{id}", func(w http.ResponseWriter, r *http.Request) {
		if e.faults.Clear(r.PathValue("id")) == 0 {
			e.report(w, 0, nil, notFound("fault", r.PathValue("id")))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func (e *Emulator) postFault(w http.ResponseWriter, r *http.Request) {
	rule, err := instruction[fault.Rule](r)
	if err == nil {
		rule.ID, err = e.Inject(rule)
	}
	e.report(w, http.StatusCreated, fault.Status{Rule: rule}, err)
}
