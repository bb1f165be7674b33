package inventory

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// wantAges compares what is reported about ages with lines of kind and seconds.
func wantAges(t *testing.T, i *Inventory, want string) {
	t.Helper()
	const name = "cloudprovider_thalassa_inventory_age_seconds"
	text := "# HELP " + name +
		" Age of the cached list of objects of a kind, in seconds. There is no value before the first list.\n# TYPE " +
		name + " gauge\n"
	if want == "" {
		text = ""
	}
	for line := range strings.Lines(want) {
		kind, seconds, _ := strings.Cut(strings.TrimSpace(line), "/")
		text += name + `{kind="` + kind + `"} ` + seconds + "\n"
	}
	if err := testutil.CollectAndCompare(store.AgeCollector(i.Ages()), strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

// slowList returns a function for lists that takes a second, and returns no objects and the present error.
func slowList[T any](err *error) func(context.Context) ([]T, error) {
	return func(context.Context) ([]T, error) {
		<-time.After(time.Second)
		return nil, *err
	}
}

// slowStore returns a store with slow lists.
func slowStore[T any](err *error) *store.Store[T] {
	return store.New("objects", slowList[T](err), func(T) string { return "" }, func(T) []string { return nil })
}

func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		i := New(nil, Scope{})
		i.machines, i.balancers = slowStore[Machine](&err), slowStore[resource.LoadBalancer](&err)
		wantAges(t, i, "")
		refresh := func() error { return i.machines.Refresh(t.Context(), Fresh) }
		if err := refresh(); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "machine/1") // a list takes a second
		<-time.After(time.Minute)
		if err := i.balancers.Refresh(t.Context(), Fresh); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/1\nmachine/62")
		err = errors.New("away")
		if refresh() == nil {
			t.Fatal("a list that failed is believed")
		}
		wantAges(t, i, "load balancer/2\nmachine/63")
		i.machines.Invalidate()
		wantAges(t, i, "load balancer/2\nmachine/63") // it is what there is
		err = nil
		if err := refresh(); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/3\nmachine/1")
		i.securityGroups.Store = slowStore[resource.SecurityGroup](&err)
		i.reservedIPs = slowStore[resource.ReservedIP](&err)
		if err := errors.Join(i.securityGroups.Refresh(t.Context(), Fresh),
			i.reservedIPs.Refresh(t.Context(), Fresh)); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/5\nmachine/3\nreserved IP/1\nsecurity group/2")
	})
}
