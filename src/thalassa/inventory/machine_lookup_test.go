package inventory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// looks asks for a machine, and wants it to be there or not, for so many lists.
func (w *rig) looks(id string, notBefore time.Time, want bool, lists int) {
	w.Helper()
	w.emulator.ResetCounters()
	_, found, err := w.MachineSince(w.Context(), id, time.Minute, notBefore)
	if got := w.emulator.Counters()["GET /v1/machines"]; found != want || err != nil || got != lists {
		w.Errorf("machine %s is there: %v, error %v, %d lists; want %v, %d lists", id, found, err, got, want, lists)
	}
}

// TestMachineSince: that a machine is missing comes from a list that began late enough, and one such serves everybody.
func TestMachineSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		here, err := w.emulator.AddMachine(emulator.MachineSpec{Name: "here"})
		w.ok(err)
		far, err := w.emulator.AddMachine(emulator.MachineSpec{Name: "far", Subnet: farSubnet})
		w.ok(err)
		w.looks(here, time.Now(), true, 1)
		<-time.After(10 * time.Second)
		now := time.Now()
		w.looks(here, now, true, 0)
		w.looks("m-gone", time.Time{}, false, 0)
		w.looks("m-gone", now.Add(-10*time.Second), false, 0)
		w.looks("m-gone", now, false, 1)
		<-time.After(time.Second)
		w.looks("m-gone", now, false, 0)
		w.looks("m-other", now, false, 0)
		w.looks(far, now, false, 0) // of another VPC: only AskMachine tells
		w.ok(w.emulator.DeleteMachine(here))
		w.looks(here, time.Now(), true, 0)
		<-time.After(time.Minute)
		w.looks(here, now, false, 1)
	})
}

// TestMachinesListedSince: one list that began late enough serves all who wait, and there is no more than one a second
// of them.
func TestMachinesListedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		<-time.After(time.Minute)
		w.emulator.ResetCounters()
		since := func(notBefore time.Time, lists int, took time.Duration) {
			t.Helper()
			began := time.Now()
			w.ok(w.machinesListedSince(t.Context(), notBefore))
			if got := w.calls("GET /v1/machines"); got != lists || time.Since(began) != took {
				t.Errorf("%d lists, after %v; want %d, after %v", got, time.Since(began), lists, took)
			}
		}
		since(time.Time{}, 0, 0)
		since(time.Now(), 1, 0)
		since(time.Now(), 0, 0) // which began at this very moment
		<-time.After(200 * time.Millisecond)
		since(time.Now().Add(-time.Second), 0, 0)
		var crowd sync.WaitGroup
		for range 100 {
			crowd.Go(func() {
				if err := w.machinesListedSince(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		since(time.Now(), 1, 800*time.Millisecond)
		crowd.Wait()
		<-time.After(time.Minute)
		since(time.Now(), 1, 0)
		<-time.After(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.machinesListedSince(ctx, time.Now()); !errors.Is(err, context.Canceled) ||
			w.calls("GET /v1/machines") != 0 {
			t.Errorf("of a caller that goes: %v", err)
		}
	})
}

// TestRefusedLists: a list that was refused is not requested again by each of thousands of nodes, and not for long. One
// without an answer is requested at once.
func TestRefusedLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		if _, err := w.emulator.Inject(fault.Rule{Operation: "GET /v1/machines", Count: 1,
			Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
			t.Fatal(err)
		}
		w.emulator.ResetCounters()
		for range 1000 {
			if _, found, err := w.MachineSince(t.Context(), "m-1", time.Minute, time.Now()); found ||
				!errors.Is(err, client.ErrForbidden) {
				t.Fatalf("found %v, error %v", found, err)
			}
		}
		if lists := w.emulator.Counters()["GET /v1/machines"]; lists != 1 {
			t.Errorf("%d lists, want 1", lists)
		}
		<-time.After(store.RefusalTTL)
		w.looks("m-1", time.Now(), false, 1)
		w.injectFault("GET /v1/machines", 3, fault.Effect{Kind: fault.Refuse, Status: 503})
		for attempt := 0; ; attempt++ {
			if _, _, err := w.MachineSince(t.Context(), "m-1", time.Minute, time.Now()); err == nil {
				break
			} else if !errors.Is(err, client.ErrUnavailable) || attempt > 3 {
				t.Fatalf("after an outage: error %v", err)
			}
		}
	})
}

// TestAskMachine: only what the cloud says of exactly that machine counts, and one elsewhere is not gone.
func TestAskMachine(t *testing.T) { synctest.Test(t, askMachine) }

func askMachine(t *testing.T) {
	t.Helper()
	w := newRig(t, emulator.Config{Delays: emulator.Delays{MachineDelete: time.Hour, MachineLinger: time.Hour}})
	here, err := w.emulator.AddMachine(emulator.MachineSpec{Name: "here"})
	w.ok(err)
	far, err := w.emulator.AddMachine(emulator.MachineSpec{Name: "far", Subnet: farSubnet})
	w.ok(err)
	if m, found, err := w.RequestMachine(t.Context(), here); m.ID != here || !found || err != nil {
		t.Errorf("one that is there: %+v, %v, %v", m, found, err)
	}
	if _, found, err := w.RequestMachine(t.Context(), "m-gone"); found || err != nil {
		t.Errorf("one that is not there: %v, %v", found, err)
	}
	if _, _, err := w.RequestMachine(t.Context(), far); !errors.Is(err, ErrOtherVPC) {
		t.Errorf("one in another VPC: error %v", err)
	}
	w.ok(w.emulator.DeleteMachine(here))
	if m, found, err := w.RequestMachine(t.Context(), here); m.State != "deleting" || !found || err != nil {
		t.Errorf("one that is being deleted: %+v, %v, %v", m, found, err)
	}
	shown, err := w.emulator.AddMachine(emulator.MachineSpec{Name: "shown"})
	w.ok(err)
	w.ok(w.emulator.SetMachineStatus(shown, "deleted"))
	if m, found, err := w.RequestMachine(t.Context(), shown); m.State != "deleting" || !found || err != nil {
		t.Errorf("one whose state is running and whose status is deleted: %+v, %v, %v", m, found, err)
	}
	if left, _, err := w.TargetMachines(t.Context(), []string{shown}, time.Minute); len(left) != 0 || err != nil {
		t.Errorf("targets %v, %v; want none that is said to be deleted", left, err)
	}
	<-time.After(time.Hour)
	if m, found, err := w.RequestMachine(t.Context(), here); m.State != "deleted" || found || err != nil {
		t.Errorf("one that is deleted and still shown: %+v, %v, %v", m, found, err)
	}
	for _, kind := range []fault.Kind{fault.Empty, fault.NoContent, fault.NotJSON, fault.Forbidden} {
		id, err := w.emulator.Inject(fault.Rule{Operation: "GET /v1/machines/{id}", Effect: fault.Effect{Kind: kind}})
		w.ok(err)
		if _, _, err := w.RequestMachine(t.Context(), "m-gone"); err == nil {
			t.Errorf("the answer %s counts as that it is gone", kind)
		}
		w.emulator.ClearFaults(id)
	}
}
