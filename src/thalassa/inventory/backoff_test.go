package inventory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

const listMachines = "GET /v1/machines"

// TestMissingMachines: one that is new is found within seconds, and what has been missing for long costs no more than
// one list a minute, however many look for it.
func TestMissingMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		look := func(slug string) int {
			return len(must[[]Machine](w)(w.MachinesBySlug(t.Context(), slug, MachineAge)))
		}
		for i := range 100 {
			look(fmt.Sprint("new-", i))
		}
		if lists := w.emulator.Counters()[listMachines]; lists != 1 {
			t.Errorf("100 misses made %d lists, want 1", lists)
		}
		must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "new-1"}))
		<-time.After(minRefreshInterval + time.Second)
		if look("new-1") != 1 {
			t.Error("a new machine is not found after a few seconds")
		}
		for range 600 {
			<-time.After(time.Second)
			look("new-2")
		}
		w.emulator.ResetCounters()
		for range 600 {
			<-time.After(time.Second)
			look("new-2")
			look("new-1")
		}
		if lists := w.emulator.Counters()[listMachines]; lists > 10 {
			t.Errorf("%d lists in ten minutes, for a machine that has been missing for long", lists)
		}
		must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "new-2"}))
		<-time.After(MachineAge + time.Second)
		if look("new-2") != 1 {
			t.Error("a machine that was missing for long is not found")
		}
	})
}

// TestBackoffForgets: what nobody looks for any more, and what was found.
func TestBackoffForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMissBackoff()
		p.record("a", false)
		<-time.After(time.Minute)
		if got := p.maxAge("a"); got != time.Minute/backoffDivisor {
			t.Errorf("after a minute %s", got)
		}
		p.record("a", true)
		if got := p.maxAge("a"); got != minRefreshInterval {
			t.Errorf("after it was found %s", got)
		}
		p.record("a", false)
		<-time.After(absentTTL + time.Second)
		if got := p.maxAge("a"); got != MachineAge {
			t.Errorf("after an hour %s", got)
		}
		p.record("b", false)
		if len(p.missing) != 1 {
			t.Errorf("%d are remembered, want 1", len(p.missing))
		}
	})
}

// TestMachinesOfOtherVPCs: that a machine is in another VPC is found out rarely, and remembered.
func TestMachinesOfOtherVPCs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		far := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "far", Subnet: farSubnet}))
		near := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "near"}))
		for range 3 {
			for _, got := range [][2]string{
				{w.VPCOfMachine(t.Context(), far), otherVPC}, {w.VPCOfSlug(t.Context(), "far"), otherVPC},
				{w.VPCOfMachine(t.Context(), near), ""}, {w.VPCOfSlug(t.Context(), "near"), ""},
				{w.VPCOfSlug(t.Context(), "none"), ""},
			} {
				if got[0] != got[1] {
					t.Errorf("VPC %q, want %q", got[0], got[1])
				}
			}
		}
		calls := func() int {
			return w.emulator.Counters()[listMachines] + w.emulator.Counters()["GET /v1/machines/{id}"]
		}
		if n := calls(); n != otherVPCBurst {
			t.Errorf("%d calls, want one for each, %d", n, otherVPCBurst)
		}
		w.emulator.ResetCounters()
		for i := range 1000 {
			w.VPCOfSlug(t.Context(), fmt.Sprint("none-", i))
			<-time.After(100 * time.Millisecond)
		}
		if n := calls(); n > 11 {
			t.Errorf("%d calls in 100 seconds", n)
		}
		<-time.After(otherVPCAge)
		w.VPCOfSlug(t.Context(), "one more")
		w.ok(w.emulator.DeleteMachine("far"))
		<-time.After(time.Minute)
		if got := w.VPCOfMachine(t.Context(), far); got != "" {
			t.Errorf("a machine that is gone is still in %s", got)
		}
	})
}

// TestOtherVPCExpires: where a machine is that is not here is better than nothing for an hour, and then it is not
// known any more.
func TestOtherVPCExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOtherVPCCache()
		e.put("far", "vpc-2")
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{otherVPCTTL, "vpc-2"}, {time.Second, ""}} {
			<-time.After(step.after)
			e.put("another", "") // whatever is noted forgets what is old
			if got, ask := e.get("far"); got != step.want || !ask {
				t.Errorf("known to be in %q, asked again: %v; want %q, and true", got, ask, step.want)
			}
		}
	})
}

// TestMachineTypes: one list an hour, and a failure is not repeated for each node.
func TestMachineTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		for range 100 {
			got, found, err := w.MachineTypeOf(t.Context(), "pgp-medium")
			if err != nil || !found || got.CPUs == 0 || got.MemoryMiB == 0 || got.Slug != "pgp-medium" {
				t.Fatalf("got %+v, %v, %v", got, found, err)
			}
		}
		for range 100 {
			if _, found, err := w.MachineTypeOf(t.Context(), "none"); found || err != nil {
				t.Fatalf("a type that there is not: %v, %v", found, err)
			}
		}
		const list = "GET /v1/machine-types"
		if lists := w.emulator.Counters()[list]; lists > 2 {
			t.Errorf("%d lists, want 2", lists)
		}
		w.injectFault(list, 0, fault.Effect{Kind: fault.Forbidden})
		<-time.After(vpcAge + time.Second)
		w.emulator.ResetCounters()
		for range 100 {
			if _, _, err := w.MachineTypeOf(t.Context(), "pgp-medium"); err == nil {
				t.Fatal("no error")
			}
		}
		if lists := w.emulator.Counters()[list]; lists > 1 {
			t.Errorf("%d lists after a failure, want 1", lists)
		}
	})
}

// TestLabelsOfMachines: only those with a wanted prefix are kept, and without one none is, however a machine is read.
func TestLabelsOfMachines(t *testing.T) {
	w := newRig(t, emulator.Config{})
	id := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "a",
		Labels: map[string]string{"node/team": "shop", "other": "x"}}))
	for _, prefixes := range [][]string{nil, {"node/"}} {
		w.restart()
		w.prefixes = prefixes
		listed := must[[]Machine](w)(w.MachinesBySlug(t.Context(), "a", MachineAge))
		got, _, err := w.getMachine(t.Context(), id)
		w.ok(err)
		for _, labels := range []Labels{listed[0].Labels, got.Labels} {
			if len(labels) != len(prefixes) || (len(prefixes) > 0 && labels["node/team"] != "shop") {
				t.Errorf("with prefixes %q: labels %v", prefixes, labels)
			}
		}
	}
}
