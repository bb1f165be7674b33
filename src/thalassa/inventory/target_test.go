package inventory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// someMachines is an inventory of the machines of a cloud that takes a second for a list, and how often they were
// listed.
func someMachines(t *testing.T, there *atomic.Pointer[[]Machine]) (known *Inventory, lists *int) {
	t.Helper()
	cloud, err := client.New(client.Options{Endpoint: "http://cloud.test",
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: "pat"}}})
	if err != nil {
		t.Fatal(err)
	}
	known, lists = New(cloud, Scope{VPC: "vpc-1"}), new(int)
	known.machines.List = func(context.Context) ([]Machine, error) {
		*lists++
		now := *there.Load()
		<-time.After(time.Second)
		return now, nil
	}
	return known, lists
}

// TestMachinesThatJoinAreListedOnce, although the Services come to ask for them one after the other while the list is
// under way.
func TestMachinesThatJoinAreListedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Pointer[[]Machine]
		there.Store(&[]Machine{{ID: "vm-1"}})
		known, lists := someMachines(t, &there)
		if _, _, err := known.TargetMachines(t.Context(), []string{"vm-1"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		there.Store(&[]Machine{{ID: "vm-1"}, {ID: "vm-2"}})
		var asking sync.WaitGroup
		for i := range 100 {
			<-time.After(50 * time.Millisecond)
			asking.Go(func() {
				if got, _, err := known.TargetMachines(t.Context(), []string{"vm-1", "vm-2"}, time.Hour); err != nil ||
					fmt.Sprint(got) != "[vm-1 vm-2]" {
					t.Errorf("reader %d: %v, error %v", i, got, err)
				}
			})
		}
		asking.Wait()
		if *lists != 2 {
			t.Errorf("%d lists, want the first and one more", *lists)
		}
	})
}

// TestMachineThatIsMissedLaterIsListedAnew: a list that began before it was missed says nothing.
func TestMachineThatIsMissedLaterIsListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Pointer[[]Machine]
		there.Store(&[]Machine{{ID: "vm-1"}})
		known, lists := someMachines(t, &there)
		if err := known.machines.Refresh(t.Context(), Fresh); err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			// by somebody else, and without the new one
			if err := known.machines.Refresh(t.Context(), Fresh); err != nil {
				t.Error(err)
			}
		})
		<-time.After(time.Second / 2)
		there.Store(&[]Machine{{ID: "vm-1"}, {ID: "vm-2"}})
		if got, _, err := known.TargetMachines(t.Context(), []string{"vm-1", "vm-2"}, time.Hour); err != nil ||
			fmt.Sprint(got) != "[vm-1 vm-2]" {
			t.Errorf("%v, error %v after %d lists", got, err, *lists)
		}
		asking.Wait()
	})
}

// TestCompleteSetIsShared: all Services with the same machines have one set of them, as long as it is complete.
func TestCompleteSetIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Pointer[[]Machine]
		there.Store(&[]Machine{{ID: "vm-1"}, {ID: "vm-2"}})
		known, _ := someMachines(t, &there)
		ids := []string{"vm-1", "vm-2"}
		if got, _, err := known.TargetMachines(t.Context(), ids, time.Hour); err != nil || len(got) != 2 ||
			&got[0] != &ids[0] {
			t.Errorf("%v, error %v; want the set that was asked for", got, err)
		}
		there.Store(&[]Machine{{ID: "vm-1"}, {ID: "vm-2", State: resource.StatusDeleting}})
		got, _, err := known.TargetMachines(t.Context(), ids, Fresh)
		if err != nil || fmt.Sprint(got) != "[vm-1]" {
			t.Errorf("%v, error %v; want the one that is not being deleted", got, err)
		}
	})
}
