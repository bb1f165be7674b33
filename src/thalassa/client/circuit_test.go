package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/thalassa-cloud/client-go/iaas"
)

// TestCircuit: an outage costs the cloud one call per openFor, and callers hear at once why; the first good answer ends
// it.
func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status, calls := http.StatusBadGateway, 0
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			sendJSON(w, status, `{"identity": "vpc-1", "message": "gone fishing"}`)
		})
		for calls < outageAfter {
			if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
		}
		began := time.Now()
		_, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		want := "GET /v1/vpcs/vpc-1: cloud API unavailable: not sent, because the cloud is unavailable; the latest " +
			"call to reach it: gone fishing"
		if !errors.Is(err, ErrUnavailable) || !strings.HasPrefix(err.Error(), want) || calls != outageAfter ||
			time.Since(began) != 0 {
			t.Errorf("with an open circuit: %d calls after %s, %v\nwant %s", calls, time.Since(began), err, want)
		}
		if open := testutil.ToFloat64(c.transport.metrics.circuit); open != 1 {
			t.Errorf("the metric says %v", open)
		}
		for minute := time.Now().Add(time.Minute); time.Now().Before(minute); <-time.After(100 * time.Millisecond) {
			_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		}
		probes, most := calls-outageAfter, int(time.Minute/openFor)
		if probes < most-1 || probes > most {
			t.Errorf("a minute of outage cost %d calls, want one every %s", probes, openFor)
		}
		status = http.StatusOK
		<-time.After(openFor)
		for range 5 {
			if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
				t.Errorf("after the outage: %v", err)
			}
		}
		if open := testutil.ToFloat64(c.transport.metrics.circuit); open != 0 || c.Err() != nil {
			t.Errorf("after the outage the metric says %v and Err() %v", open, c.Err())
		}
	})
}

// TestRefusalsKeepTheCircuitClosed: a cloud that says no is there.
func TestRefusalsKeepTheCircuitClosed(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 409, 422, 429} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
				calls++
				sendJSON(w, status, `{}`)
			})
			for range 3 * outageAfter {
				_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
			}
			if calls < 3*outageAfter {
				t.Errorf("%d answers of status %d let %d calls through", 3*outageAfter, status, calls)
			}
		})
	}
}
