package inventory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

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

// TestQuotaMetrics: one read an hour, and values only after the first one. A read that is not permitted has a reason of
// its own, so that nobody takes it for credentials that do not work.
func TestQuotaMetrics(t *testing.T) {
	const list, name = "GET /v1/quotas", "cloudprovider_thalassa_quota_used"
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.ok(w.emulator.SetQuota("", "loadbalancers", 3))
		w.balancer()
		if count := testutil.CollectAndCount(w.QuotaCollector()); count != 0 {
			t.Errorf("%d metrics before the first read", count)
		}
		ctx, stop := context.WithCancel(t.Context())
		go w.WatchQuotas(ctx)
		<-time.After(3*quotaPeriod - time.Second)
		if calls := w.calls(list); calls != 3 {
			t.Errorf("%d calls in three hours", calls)
		}
		text, err := testutil.CollectAndFormat(w.QuotaCollector(), expfmt.TypeTextPlain,
			"cloudprovider_thalassa_quota_limit", name)
		w.ok(err)
		for _, line := range []string{`quota_limit{quota="loadbalancers",service="iaas"} 3`,
			`quota_used{quota="loadbalancers",service="iaas"} 1`} {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s is not in\n%s", line, text)
			}
		}
		if problems, err := testutil.CollectAndLint(w.QuotaCollector()); err != nil || len(problems) > 0 {
			t.Errorf("problems %v, error %v", problems, err)
		}
		w.injectFault(list, 1, fault.Effect{Kind: fault.Refuse, Status: 403})
		<-time.After(quotaPeriod)
		stop()
		var failed strings.Builder
		for _, collector := range w.cloud.Collectors() {
			if text, err := testutil.CollectAndFormat(collector, expfmt.TypeTextPlain,
				"cloudprovider_thalassa_api_request_errors"); err == nil {
				failed.Write(text)
			}
		}
		if !strings.Contains(failed.String(), `reason="no_permission",request="GET /v1/quotas"} 1`) {
			t.Errorf("failures %s", failed.String())
		}
	})
}
