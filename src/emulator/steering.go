package emulator

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// machineStatuses are those that a machine can be held in: all that were seen,
// and those that are plausible.
func machineStatuses() []string {
	return []string{"provisioning", "creating", statusReady, stateRunning, stateStopped, "unknown", "failed", "error", "deleting", "deleted"}
}

// SetMachineStatus holds the status of a machine, named by identity or slug: one
// of provisioning, creating, ready, running, stopped, unknown, failed, error,
// deleting and deleted. It changes nothing but what the API says there; the
// state, which says whether the machine runs, goes on as it is. An empty status
// returns the machine to its normal life, and deleting it ends the hold.
func (e *Emulator) SetMachineStatus(ref, status string) error {
	if status != "" && !slices.Contains(machineStatuses(), status) {
		return invalid("holding machine %q: status is %q; use one of %s, or none to end it",
			ref, status, strings.Join(machineStatuses(), ", "))
	}
	return e.steer(func(now time.Time) error {
		m, err := e.store.findMachine(ref)
		if err != nil {
			return err
		}
		m.held = status
		m.touch(now)
		return nil
	})
}

// statuses are those that a load balancer can be held in.
func statuses() []string { return []string{"creating", statusReady, statusUpdating, "failed", "error"} }

// SetLoadBalancerStatus holds a load balancer, named by identity or slug, in a
// status: creating, ready, updating, failed or error. An empty status returns it
// to its normal life, and deleting it ends the hold. While it is held in
// creating it has no address and no traffic; the others change nothing but what
// the API says.
func (e *Emulator) SetLoadBalancerStatus(ref, status string) error {
	if status != "" && !slices.Contains(statuses(), status) {
		return invalid("holding load balancer %q: status is %q; use one of %s, or none to end it",
			ref, status, strings.Join(statuses(), ", "))
	}
	return e.steer(func(now time.Time) error {
		for org := range e.store.spaces() {
			if lb, found := org.loadbalancers.find(ref); found {
				lb.held = status
				lb.touch(now)
				org.trafficChanged(lb)
				return nil
			}
		}
		return notFound("load balancer", ref)
	})
}

// SetMachineAddresses gives a machine, named by identity or slug, other
// addresses: of its subnet, or all of another subnet of its VPC, into which it
// moves. Without any the machine has no network interface.
func (e *Emulator) SetMachineAddresses(ref string, addresses ...netip.Addr) error {
	return e.steer(func(now time.Time) error {
		m, err := e.store.findMachine(ref)
		if err != nil {
			return err
		}
		if err := m.readdress(addresses); err != nil {
			return fmt.Errorf("moving machine %q: %w", m.Identity, err)
		}
		m.touch(now)
		m.subnet.vpc.org.machineChanged(m)
		return nil
	})
}

func (m *machine) readdress(addresses []netip.Addr) error {
	home := m.subnet
	if len(addresses) > 0 && !home.spans(addresses) {
		i := slices.IndexFunc(home.vpc.subnets, func(s *subnet) bool { return s.spans(addresses) })
		if i < 0 {
			return invalid("no subnet of VPC %q has the addresses %v", home.vpc.Name, addresses)
		}
		home = home.vpc.subnets[i]
	}
	releaseAddresses(m.subnet.pools, m.addresses)
	if err := reserveAll(home, addresses); err != nil {
		// They were its own a moment ago, so they are free.
		_ = reserveAll(m.subnet, m.addresses)
		return conflict("%v", err)
	}
	m.subnet.users.remove("machine", m.Identity)
	home.users.add("machine", m.Identity)
	m.subnet, m.addresses = home, slices.Clone(addresses)
	return nil
}

// reserveAll takes addresses of a subnet, or none of them.
func reserveAll(s *subnet, addresses []netip.Addr) error {
	if len(addresses) == 0 {
		return nil
	}
	_, err := s.assign(addresses)
	return err
}

// spans says whether all addresses are in the subnet.
func (s *subnet) spans(addresses []netip.Addr) bool {
	return !slices.ContainsFunc(addresses, func(addr netip.Addr) bool {
		for _, pool := range s.pools {
			if pool.Prefix().Contains(addr) {
				return false
			}
		}
		return true
	})
}

// steer changes the store from outside of the API.
func (e *Emulator) steer(act func(now time.Time) error) error {
	defer e.flush()
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	now := time.Now()
	e.settle(now)
	defer e.remember(now)
	return act(now)
}

func (e *Emulator) steeringRoutes() {
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
				err = invalid(`field "status" is required; "" returns it to its normal life`)
			case err == nil:
				err = hold(r.PathValue("id"), *in.Status)
			}
			e.report(w, http.StatusNoContent, nil, err)
		})
	}
}
