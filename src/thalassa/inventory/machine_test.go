package inventory

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const listMachines = "GET /v1/machines"

// TestAbsentMachines: one that is new is found within seconds, and those that do not exist share one list in absentAge,
// however many look for them.
func TestAbsentMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		look := func(slug string) int {
			return len(must[[]Machine](w)(w.MachinesByName(t.Context(), slug, MachineAge, time.Time{})))
		}
		for i := range 100 {
			look(fmt.Sprint("new-", i))
		}
		if lists := w.emulator.Counters()[listMachines]; lists != 1 {
			t.Errorf("100 misses made %d lists, want 1", lists)
		}
		id := must[string](w)(w.emulator.AddMachine(emulator.MachineSpec{Name: "new-1"}))
		<-time.After(absentAge + time.Second)
		if _, found, err := w.MachineByID(t.Context(), id, MachineAge); look("new-1") != 1 || !found || err != nil {
			t.Errorf("a new machine is not found after %v, error %v", absentAge, err)
		}
		w.emulator.ResetCounters()
		for range 60 {
			<-time.After(time.Second)
			look("new-1")
			look("new-2")
			look("new-3")
		}
		if lists := w.emulator.Counters()[listMachines]; lists > int(time.Minute/absentAge) {
			t.Errorf("%d lists in a minute, for machines that do not exist", lists)
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
				{w.VPCOfMachine(t.Context(), far), otherVPC}, {w.VPCOfName(t.Context(), "far"), otherVPC},
				{w.VPCOfMachine(t.Context(), near), ""}, {w.VPCOfName(t.Context(), "near"), ""},
				{w.VPCOfName(t.Context(), "none"), ""},
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
			w.VPCOfName(t.Context(), fmt.Sprint("none-", i))
			<-time.After(100 * time.Millisecond)
		}
		if n := calls(); n > 11 {
			t.Errorf("%d calls in 100 seconds", n)
		}
		<-time.After(otherVPCAge)
		w.VPCOfName(t.Context(), "one more")
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
		i := New(nil, Scope{})
		look := func(answer, want string, failure error) {
			t.Helper()
			requested := false
			got := i.otherVPCOf("far", func() (string, error) {
				requested = true
				return answer, failure
			})
			if got != want || !requested {
				t.Errorf("known to be in %q, requested: %v; want %q, and true", got, requested, want)
			}
		}
		look("vpc-2", "vpc-2", nil)
		<-time.After(otherVPCTTL - 1)
		look("", "vpc-2", errors.New("no answer"))
		<-time.After(1)
		look("", "", errors.New("no answer"))
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
		listed := must[[]Machine](w)(w.MachinesByName(t.Context(), "a", MachineAge, time.Time{}))
		got, _, err := w.getMachine(t.Context(), id)
		w.ok(err)
		for _, labels := range []resource.Labels{listed[0].Labels, got.Labels} {
			if len(labels) != len(prefixes) || (len(prefixes) > 0 && labels["node/team"] != "shop") {
				t.Errorf("with prefixes %q: labels %v", prefixes, labels)
			}
		}
	}
}
