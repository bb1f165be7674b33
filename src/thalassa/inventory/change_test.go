package inventory

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestNoNewerListIsLost: while lists arrive all the time, a change is never made to what an older list said. It is
// about what happens within one tick of the clock, so it is tried often.
func TestNoNewerListIsLost(t *testing.T) {
	const changes, turns = 200, 100
	var lists, seen atomic.Int64
	k := newStore("objects", func(context.Context) ([]counted, error) { return []counted{{"1", lists.Add(1)}}, nil },
		func(c counted) string { return c.id }, func(counted) []string { return nil })
	read := func() {
		found, err := k.find(t.Context(), "1", Fresh)
		if err != nil || len(found) != 1 {
			t.Errorf("found %v, error %v", found, err)
			return
		}
		seen.Store(max(seen.Load(), found[0].list))
	}
	read()
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				read()
			}
		}
	})
	for range changes {
		k.change("1", func(latest counted, _ bool) (counted, outcome) {
			before := seen.Load()
			for turn := 0; turn < turns && seen.Load() < before+2; turn++ {
				runtime.Gosched() // whoever can come in between does
			}
			return latest, stored
		})
		reader := seen.Load()
		if now := inCopy(t, k, "1").list; now < reader {
			t.Errorf("the copy went back to list %d after a reader saw list %d", now, reader)
			break
		}
	}
	close(ended)
	all.Wait()
}

// counted is an object that says which list showed it.
type counted struct {
	id   string
	list int64
}

// TestChange: what becomes of an object.
func TestChange(t *testing.T) {
	tests := map[string]struct {
		id      string
		outcome outcome
		want    string
	}{
		"stored":    {"1", stored, "changed y"},
		"untouched": {"1", untouched, "x y"},
		"removed":   {"1", removed, "y"},
		"new":       {"3", stored, "changed x y"},
		"unknown":   {"3", removed, "x y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{objects: []object{{"1", "a", "x"}, {"2", "a", "y"}}}
				k := s.kind()
				values(t, k, "1", time.Hour)
				k.change(tt.id, func(latest object, known bool) (object, outcome) {
					if known != (tt.id == "1") || known && latest.value != "x" {
						t.Errorf("it changes %v, known %v", latest, known)
					}
					return object{tt.id, "a", "changed"}, tt.outcome
				})
				if got := values(t, k, "key/a", time.Hour); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestAnswer: what the cloud says about one object counts unless a list that began later, or a write, says more.
func TestAnswer(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(*testing.T, *store[object])
		want      string
	}{
		"nothing happens": {func(*testing.T, *store[object]) {}, "answer"},
		"a newer list":    {func(t *testing.T, k *store[object]) { t.Helper(); values(t, k, "1", Fresh) }, "listed"},
		"a write":         {func(_ *testing.T, k *store[object]) { k.put(object{"1", "a", "written"}) }, "written"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := (&shelf{objects: []object{{"1", "a", "listed"}}}).kind()
				values(t, k, "1", time.Hour)
				readNumber := k.beginRead()
				tt.meanwhile(t, k)
				k.putFetched(object{"1", "a", "answer"}, readNumber)
				if got := values(t, k, "1", time.Hour); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
			})
		})
	}
}

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
		w.balancers.change(balancer.ID, func(latest resource.LoadBalancer, _ bool) (resource.LoadBalancer, outcome) {
			latest.Status = "as listed"
			return latest, stored
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
		w.ok(w.groups.refresh(t.Context(), Fresh))
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
	w.balancers.change(balancer.ID, func(latest resource.LoadBalancer, _ bool) (resource.LoadBalancer, outcome) {
		return latest, removed
	})
	w.ok(w.CreateListener(t.Context(), balancer.ID, resource.Listener{Name: "http", Protocol: "tcp", Port: 80,
		TargetGroup: group.ID}))
	found = append(found, must[[]resource.LoadBalancer](w)(w.LoadBalancersOf(t.Context(), "web", time.Hour, 1))...)
	if len(found) != 1 || len(found[0].Listeners) != 1 {
		t.Errorf("load balancers %+v, want the one with its listener", found)
	}
}
