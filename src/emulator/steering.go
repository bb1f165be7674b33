package emulator

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// SetMachineStatus holds the status of a machine, named by identity or slug: one
// of provisioning, creating, ready, running, stopped, unknown, failed, error,
// deleting and deleted. It changes nothing but what the API says there; the
// state, which reports whether the machine runs, goes on as it is. An empty status
// returns the machine to its normal life, and deleting it ends the hold.
func (e *Emulator) SetMachineStatus(ref, status string) error {
	if status != "" && !slices.Contains(state.MachineStatuses(), status) {
		return apierror.Invalid("holding machine %q: status is %q; use one of %s, or none to end it",
			ref, status, strings.Join(state.MachineStatuses(), ", "))
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

// SetLoadBalancerStatus holds a load balancer, named by identity or slug, in a
// status: creating, ready, updating, failed or error. An empty status returns it
// to its normal life, and deleting it ends the hold. While it is held in
// creating it has no address and no traffic; the others change nothing but what
// the API says.
func (e *Emulator) SetLoadBalancerStatus(ref, status string) error {
	return e.hold("load balancer", ref, status, state.LoadBalancerStatuses(),
		func(org *state.Organisation, now time.Time) bool {
			lb, found := org.Loadbalancers.Find(ref)
			if found {
				lb.Held = status
				lb.Touch(now)
				org.TrafficChanged(lb)
			}
			return found
		})
}

// SetVolumeStatus holds the status of a volume, named by identity or slug: one of
// Creating, Available, Attaching, Attached, Detaching, Failed, Deleting and
// Deleted. It changes what the API says, and a volume can only be attached while
// that is Available. An empty status returns the volume to its normal life, and
// deleting it ends the hold.
func (e *Emulator) SetVolumeStatus(ref, status string) error {
	return e.hold("volume", ref, status, state.VolumeStatuses(), func(org *state.Organisation, now time.Time) bool {
		v, found := org.Volumes.Find(ref)
		if found {
			v.Held = status
			v.Touch(now)
		}
		return found
	})
}

// SetSnapshotStatus holds the status of a snapshot, named by identity or slug: one
// of Creating, Available, Failed, Deleting and Deleted. A volume can only be made
// from it while that is Available. An empty status returns the snapshot to its
// normal life, and deleting it ends the hold.
func (e *Emulator) SetSnapshotStatus(ref, status string) error {
	return e.hold("snapshot", ref, status, state.SnapshotStatuses(), func(org *state.Organisation, now time.Time) bool {
		s, found := org.Snapshots.Find(ref)
		if found {
			s.Held = status
			s.Touch(now)
		}
		return found
	})
}

// hold sets the status of an object of any organisation.
func (e *Emulator) hold(kind, ref, status string, known []string,
	set func(*state.Organisation, time.Time) (found bool)) error {
	if status != "" && !slices.Contains(known, status) {
		return apierror.Invalid("holding %s %q: status is %q; use one of %s, or none to end it", kind, ref, status,
			strings.Join(known, ", "))
	}
	return e.api.Override(func(now time.Time) error {
		for org := range e.api.Store.Spaces() {
			if set(org, now) {
				return nil
			}
		}
		return apierror.NotFound(kind, ref)
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
		"volumes": e.SetVolumeStatus, "snapshots": e.SetSnapshotStatus,
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
