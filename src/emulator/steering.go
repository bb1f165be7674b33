package emulator

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// machineStatuses are those that a machine can be held in: all that were seen,
// and those that are plausible.
func machineStatuses() []string {
	return []string{"provisioning", "creating", object.StatusReady, state.StateRunning, state.StateStopped, "unknown",
		"failed", "error", "deleting", "deleted"}
}

// SetMachineStatus holds the status of a machine, named by identity or slug: one
// of provisioning, creating, ready, running, stopped, unknown, failed, error,
// deleting and deleted. It changes nothing but what the API says there; the
// state, which says whether the machine runs, goes on as it is. An empty status
// returns the machine to its normal life, and deleting it ends the hold.
func (e *Emulator) SetMachineStatus(ref, status string) error {
	if status != "" && !slices.Contains(machineStatuses(), status) {
		return apierror.Invalid("holding machine %q: status is %q; use one of %s, or none to end it",
			ref, status, strings.Join(machineStatuses(), ", "))
	}
	return e.api.Override(func(now time.Time) error {
		m, err := e.api.Store.FindMachine(ref)
		if err != nil {
			return err
		}
		m.Held = status
		m.Touch(now)
		return nil
	})
}

// statuses are those that a load balancer can be held in.
func statuses() []string {
	return []string{"creating", object.StatusReady, state.StatusUpdating, "failed", "error"}
}

// SetLoadBalancerStatus holds a load balancer, named by identity or slug, in a
// status: creating, ready, updating, failed or error. An empty status returns it
// to its normal life, and deleting it ends the hold. While it is held in
// creating it has no address and no traffic; the others change nothing but what
// the API says.
func (e *Emulator) SetLoadBalancerStatus(ref, status string) error {
	if status != "" && !slices.Contains(statuses(), status) {
		return apierror.Invalid("holding load balancer %q: status is %q; use one of %s, or none to end it",
			ref, status, strings.Join(statuses(), ", "))
	}
	return e.api.Override(func(now time.Time) error {
		for org := range e.api.Store.Spaces() {
			if lb, found := org.Loadbalancers.Find(ref); found {
				lb.Held = status
				lb.Touch(now)
				org.TrafficChanged(lb)
				return nil
			}
		}
		return apierror.NotFound("load balancer", ref)
	})
}

// SetMachineAddresses gives a machine, named by identity or slug, other
// addresses: of its subnet, or all of another subnet of its VPC, into which it
// moves. Without any the machine has no network interface.
func (e *Emulator) SetMachineAddresses(ref string, addresses ...netip.Addr) error {
	return e.api.Override(func(now time.Time) error {
		m, err := e.api.Store.FindMachine(ref)
		if err != nil {
			return err
		}
		if err := m.Readdress(addresses); err != nil {
			return fmt.Errorf("moving machine %q: %w", m.Identity, err)
		}
		m.Touch(now)
		m.Subnet.VPC.Org.MachineChanged(m)
		return nil
	})
}

func (e *Emulator) overrideRoutes() {
	for verb, act := range map[string]func(string) error{
		"stop": e.StopMachine, "start": e.StartMachine, "delete": e.DeleteMachine,
	} {
		e.mux.HandleFunc("POST /_emulator/machines/{id}/"+verb, func(w http.ResponseWriter, r *http.Request) {
			e.report(w, http.StatusNoContent, nil, act(r.PathValue("id")))
		})
	}
	e.mux.HandleFunc("PUT /_emulator/machines/{id}/addresses", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct{ Addresses []netip.Addr }](r)
		if err == nil {
			err = e.SetMachineAddresses(r.PathValue("id"), in.Addresses...)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
	for kind, hold := range map[string]func(ref, status string) error{
		"loadbalancers": e.SetLoadBalancerStatus, "machines": e.SetMachineStatus,
	} {
		e.mux.HandleFunc("PUT /_emulator/"+kind+"/{id}/status", func(w http.ResponseWriter, r *http.Request) {
			in, err := instruction[struct{ Status *string }](r)
			switch {
			case err == nil && in.Status == nil:
				err = apierror.Invalid(`field "status" is required; "" returns it to its normal life`)
			case err == nil:
				err = hold(r.PathValue("id"), *in.Status)
			}
			e.report(w, http.StatusNoContent, nil, err)
		})
	}
}

// SetQuota limits how many objects of a kind an organisation, named by identity
// or slug (empty: the first), may have. The names are those of GET /v1/quotas.
// What is there already stays.
func (e *Emulator) SetQuota(organisation, name string, limit int) error {
	org, err := e.organisation(organisation)
	if err == nil {
		err = e.api.Override(func(now time.Time) error { return org.SetLimit(name, limit, now) })
	}
	if err != nil {
		return fmt.Errorf("setting a quota: %w", err)
	}
	return nil
}

func (e *Emulator) quotaRoutes() {
	e.mux.HandleFunc("PUT /_emulator/quotas/{name}", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct {
			Organisation string
			MaxUsage     *int
		}](r)
		switch {
		case err == nil && in.MaxUsage == nil:
			err = apierror.Invalid("field \"maxUsage\" is required")
		case err == nil:
			err = e.SetQuota(in.Organisation, r.PathValue("name"), *in.MaxUsage)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
}
