package inventory

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// TestQuotas are asked for once a minute at most, whoever needs them, and whatever comes of it.
func TestQuotas(t *testing.T) {
	const list = "GET /v1/quotas"
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.ok(w.emulator.SetQuota("", "loadbalancers", 3))
		w.balancer()
		var asking sync.WaitGroup
		for range 10 {
			asking.Go(func() {
				all, err := w.Quotas(t.Context())
				if err != nil || !slices.Contains(all, Quota{Name: "loadbalancers", Service: "iaas", Max: 3, Used: 1}) {
					t.Errorf("quotas %+v, error %v", all, err)
				}
			})
		}
		asking.Wait()
		<-time.After(quotaAge)
		must[[]Quota](w)(w.Quotas(t.Context()))
		if calls := w.calls(list); calls != 1 {
			t.Errorf("%d calls within a minute", calls)
		}
		w.injectFault(list, 1, fault.Effect{Kind: fault.Refuse, Status: 422})
		<-time.After(time.Second)
		for range 10 {
			if _, err := w.Quotas(t.Context()); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("error %v", err)
			}
		}
		if calls := w.calls(list); calls != 1 {
			t.Errorf("%d calls within the minute after a failure", calls)
		}
		<-time.After(quotaAge)
		must[[]Quota](w)(w.Quotas(t.Context()))
	})
}
