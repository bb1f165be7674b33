package inventory

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// getOneMachine is the operation by which a machine is asked for that lists lack.
const getOneMachine = "GET /v1/machines/{id}"

// missingMachines are identities that no machine has.
func missingMachines(name string, count int) []string {
	ids := make([]string, 0, count)
	for n := range count {
		ids = append(ids, fmt.Sprintf("vm-%s-%02d", name, n))
	}
	return ids
}

// TestNobodyWaitsForAnothersLookUps: while the machines of one Service are looked for, which takes minutes, another
// Service is served as soon as its own is.
func TestNobodyWaitsForAnothersLookUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.ok(w.machines.Refresh(t.Context(), Fresh))
		w.injectFault(getOneMachine, 0, fault.Effect{Kind: fault.Latency, Delay: 10 * time.Second})
		look := func(ids []string, most time.Duration) {
			began := time.Now()
			targets, unsure, err := w.TargetMachines(t.Context(), ids, time.Hour)
			if err != nil || len(targets) > 0 || len(unsure) > 0 {
				t.Errorf("targets %v, unsure %v, error %v; want all to be gone", targets, unsure, err)
			}
			if took := time.Since(began); took > most {
				t.Errorf("looking for %d machines took %s, want at most %s", len(ids), took, most)
			}
		}
		var services sync.WaitGroup
		services.Go(func() {
			look(missingMachines("many", maxSingleRequests), maxSingleRequests*10*time.Second+time.Minute)
		})
		<-time.After(15 * time.Second) // when the first ones have been asked for
		for n := range 5 {
			services.Go(func() { look(missingMachines(fmt.Sprint(n), 1), 15*time.Second) })
		}
		services.Wait()
	})
}

// TestServicesShareLookUps: many Services have the same machines, of which each is asked for once, whatever the answer.
func TestServicesShareLookUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		there := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "there"}))
		ids := append(missingMachines("gone", 3), there)
		// so that all Services use the same lists
		w.injectFault("GET /v1/machines", 0, fault.Effect{Kind: fault.Latency, Delay: time.Second})
		w.injectFault("GET /v1/machines", 0, fault.Effect{Kind: fault.Partial})
		w.injectFault(getOneMachine, 0, fault.Effect{Kind: fault.Latency, Delay: time.Second})
		var services sync.WaitGroup
		for range 20 {
			services.Go(func() {
				targets, unsure, err := w.TargetMachines(t.Context(), ids, time.Hour)
				if err != nil || fmt.Sprint(targets) != fmt.Sprint([]string{there}) || len(unsure) > 0 {
					t.Errorf("targets %v, unsure %v, error %v; want the one that is there", targets, unsure, err)
				}
			})
		}
		services.Wait()
		if calls := w.calls(getOneMachine); calls != len(ids) {
			t.Errorf("%d calls for %d machines, want one each", calls, len(ids))
		}
	})
}

// TestCloudThatDoesNotAnswerDelaysNobody: of many Services with the same machines none waits for more than a few
// calls.
func TestCloudThatDoesNotAnswerDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.ok(w.machines.Refresh(t.Context(), Fresh))
		w.injectFault(getOneMachine, 0, fault.Effect{Kind: fault.Refuse, Status: 500})
		ids := missingMachines("unknown", 40)
		var services sync.WaitGroup
		w.emulator.ResetCounters()
		for range 10 {
			services.Go(func() {
				targets, unsure, err := w.TargetMachines(t.Context(), ids, time.Hour)
				if err != nil || len(targets) > 0 || len(unsure) != len(ids) {
					t.Errorf("targets %v, unsure %v, error %v; want all to be unsure", targets, unsure, err)
				}
			})
		}
		services.Wait()
		one := w.calls(getOneMachine)
		w.unansweredMachines = store.NewTTLCache[error](unansweredTTL)
		_, _, err := w.TargetMachines(t.Context(), ids, time.Hour)
		w.ok(err)
		if alone := w.calls(getOneMachine); one != alone {
			t.Errorf("%d calls for ten Services, want %d as for one", one, alone)
		}
	})
}
