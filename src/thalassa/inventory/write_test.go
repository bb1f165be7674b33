package inventory

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// meanwhile does something between the moment at which the cloud has made a write and that at which its answer arrives.
type meanwhile struct {
	next   http.RoundTripper
	method string
	do     func() // nil: nothing; it is done once
}

// RoundTrip implements http.RoundTripper.
func (m *meanwhile) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(request)
	if do := m.do; do != nil && request.Method == m.method {
		m.do = nil
		do()
	}
	return response, err
}

// TestNewerListDuringAWrite: a list that arrives between what a writer has read and the end of its write shows what
// others did, which stays in the copy beside what was written.
func TestNewerListDuringAWrite(t *testing.T) {
	w := newRig(t, emulator.Config{})
	network := &meanwhile{next: w.emulator.Transport()}
	w.restartBy(network)
	group := must[resource.TargetGroup](w)(w.CreateTargetGroup(t.Context(),
		resource.TargetGroup{Name: "web", Labels: owned("web"),
			Protocol: "tcp", Port: 80}))
	balancer := w.listed(w.balancer().ID)
	listener := resource.Listener{Name: "by-hand", Protocol: "tcp", Port: 81, TargetGroup: group.ID}

	network.method, network.do = http.MethodPut, func() {
		w.post(listeners(balancer.ID), newListenerBody(listener))
		w.listed(balancer.ID)
		w.balancers.Change(balancer.ID, balancer, func(latest resource.LoadBalancer) resource.LoadBalancer {
			latest.Status = "as listed"
			return latest
		})
	}
	to := balancer
	to.Description = "changed"
	w.ok(w.UpdateLoadBalancer(t.Context(), balancer, to))
	got := inCopy(w, w.balancers, balancer.ID)
	if got.Description != "changed" || got.Status != "as listed" || len(got.Listeners) != 1 {
		t.Errorf("load balancer %+v, want its description changed, and status and listener as they were listed "+
			"meanwhile", got)
	}

	network.method, network.do = http.MethodPost, func() {
		update := group
		update.Port = 8080
		w.ok(w.UpdateTargetGroup(t.Context(), group, update))
		w.ok(w.groups.Refresh(t.Context(), Fresh))
	}
	machine := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "a"}))
	w.ok(w.SetMachines(t.Context(), group, []string{machine}))
	if got := inCopy(w, w.groups, group.ID); got.Port != 8080 || !slices.Equal(got.Machines, []string{machine}) {
		t.Errorf("target group %+v, want port and machines as they were written", got)
	}
}

// TestListenerOfAnUnknownBalancer: the copy cannot show the listener, so the next reader lists.
func TestListenerOfAnUnknownBalancer(t *testing.T) {
	w := newRig(t, emulator.Config{})
	group := must[resource.TargetGroup](w)(w.CreateTargetGroup(t.Context(),
		resource.TargetGroup{Name: "web", Labels: owned("web"),
			Protocol: "tcp", Port: 80}))
	balancer := w.balancer()
	w.restart()
	found := must[[]resource.LoadBalancer](w)(w.LoadBalancersOf(t.Context(), "nobody", time.Hour, 0))
	w.balancers.Drop(balancer.ID)
	w.ok(w.CreateListener(t.Context(), balancer.ID, resource.Listener{Name: "http", Protocol: "tcp", Port: 80,
		TargetGroup: group.ID}))
	found = append(found, must[[]resource.LoadBalancer](w)(w.LoadBalancersOf(t.Context(), "web", time.Hour, 1))...)
	if len(found) != 1 || len(found[0].Listeners) != 1 {
		t.Errorf("load balancers %+v, want the one with its listener", found)
	}
}
