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
	if err := testutil.CollectAndCompare(i.Collector(), strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		i := New(nil, Scope{})
		i.machines.list = func(ctx context.Context) ([]Machine, error) { _, err := s.list(ctx); return nil, err }
		i.balancers.list = func(ctx context.Context) ([]resource.LoadBalancer, error) {
			_,
				err := s.list(ctx)
			return nil, err
		}
		wantAges(t, i, "")
		refresh := func() error { return i.machines.refresh(t.Context(), Fresh) }
		if err := refresh(); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "machine/1") // a list takes a second
		<-time.After(time.Minute)
		if err := i.balancers.refresh(t.Context(), Fresh); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/1\nmachine/62")
		s.err = errors.New("away")
		if refresh() == nil {
			t.Fatal("a list that failed is believed")
		}
		wantAges(t, i, "load balancer/2\nmachine/63")
		i.machines.invalidate()
		wantAges(t, i, "load balancer/2\nmachine/63") // it is what there is
		s.err = nil
		if err := refresh(); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/3\nmachine/1")
		i.securityGroups.list = func(ctx context.Context) ([]resource.SecurityGroup, error) {
			_, err := s.list(ctx)
			return nil, err
		}
		i.reservedIPs.list = func(ctx context.Context) ([]resource.ReservedIP, error) {
			_, err := s.list(ctx)
			return nil, err
		}
		if err := errors.Join(i.securityGroups.refresh(t.Context(), Fresh),
			i.reservedIPs.refresh(t.Context(), Fresh)); err != nil {
			t.Fatal(err)
		}
		wantAges(t, i, "load balancer/5\nmachine/3\nreserved IP/1\nsecurity group/2")
	})
}
