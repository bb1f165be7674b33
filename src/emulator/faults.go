package emulator

import (
	"net/http"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// Inject disturbs calls from now on, as a rule says, and returns the rule's ID.
// Rules whose Operation is none of the API's are refused.
func (e *Emulator) Inject(rule fault.Rule) (id string, err error) {
	defer e.api.Events.Changed()
	return e.api.Inject(rule)
}

// Faults are the rules in force and what became of them, oldest first.
func (e *Emulator) Faults() []fault.Status { return e.api.Faults.Rules() }

// ClearFaults takes the rules with these IDs out, or all without any ID. Calls
// that wait because of them go on; late deletions that were answered still happen.
func (e *Emulator) ClearFaults(ids ...string) { e.clearFaults(ids...) }

func (e *Emulator) clearFaults(ids ...string) (cleared int) {
	defer e.api.Events.Changed()
	return e.api.Faults.Clear(ids...)
}

func (e *Emulator) faultRoutes() {
	e.mux.HandleFunc("GET /_emulator/faults", func(w http.ResponseWriter, _ *http.Request) {
		e.api.SendJSON(w, http.StatusOK, e.Faults())
	})
	e.mux.HandleFunc("POST /_emulator/faults", e.postFault)
	e.mux.HandleFunc("DELETE /_emulator/faults", func(w http.ResponseWriter, _ *http.Request) {
		e.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	e.mux.HandleFunc("DELETE /_emulator/faults/{id}", func(w http.ResponseWriter, r *http.Request) {
		if e.clearFaults(r.PathValue("id")) == 0 {
			e.report(w, 0, nil, apierror.NotFound("fault", r.PathValue("id")))
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
