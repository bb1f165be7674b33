package emulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// The official client's own waiting works in virtual time: minutes pass at once.
func TestOfficialClientInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Delays: emulator.Delays{
			LoadbalancerCreate: 5 * time.Minute, LoadbalancerDelete: time.Minute,
		}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := thalassa.NewClient(
			vendor.WithBaseURL("http://cloud.test"), vendor.WithOrganisation(emulator.DefaultOrganisation),
			vendor.WithAuthPersonalToken(emulator.DefaultToken),
			vendor.WithMiddleware(func(r *resty.Client, _ *resty.Request) error {
				r.SetTransport(e.Transport())
				return nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		api := client.IaaS()
		lb, err := api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a",
			Subnet: emulator.DefaultSubnet})
		if err != nil {
			t.Fatal(err)
		}
		if err := api.WaitUntilLoadbalancerIsReady(t.Context(), lb.Identity); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("ready after %s, want 5m", took)
		}
		if err := api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
			t.Error(err)
		}
		if err := api.WaitUntilLoadbalancerIsDeleted(t.Context(), lb.Identity); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 6*time.Minute {
			t.Errorf("gone after %s, want 6m", took)
		}
	})
}

func TestTransport(t *testing.T) {
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	request := apiRequest(t, "http://cloud.test", "GET", "//v1/vpcs/", "")
	request.Body = nil
	client := &http.Client{Transport: e.Transport()}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Status != "200 OK" || response.ContentLength != int64(len(body)) ||
		!strings.Contains(string(body), emulator.DefaultVPC) {
		t.Errorf("%s %s, %v, want the VPC", response.Status, body, err)
	}
	if request.URL.Path != "//v1/vpcs/" || request.Body != nil || request.PathValue("id") != "" {
		t.Errorf("the caller's request was changed: %+v", request)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, err := client.Do(request.WithContext(ctx))
	if !errors.Is(err, context.Canceled) {
		late.Body.Close()
		t.Errorf("with a cancelled context: %v", err)
	}
	if got := e.Counters()["GET /v1/vpcs"]; got != 1 {
		t.Errorf("%d requests were counted, want 1", got)
	}
}

// countingWriter fails after some bytes, as a connection does whose client left.
type countingWriter struct {
	header http.Header
	left   int
}

func (w *countingWriter) Header() http.Header { return w.header }
func (w *countingWriter) WriteHeader(int)     {}
func (w *countingWriter) Write(content []byte) (int, error) {
	if len(content) > w.left {
		return 0, io.ErrClosedPipe
	}
	w.left -= len(content)
	return len(content), nil
}

func TestClientsMayLeave(t *testing.T) {
	c := newCloud(t)
	if _, err := c.AddMachines(1000); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/machines", "/v1/machines/machine-00001", "/v1/dragons", "/_emulator/state"} {
		for _, left := range []int{0, 100_000} {
			request := newRequest(t, "GET", path, "")
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			c.ServeHTTP(&countingWriter{http.Header{}, left}, request)
		}
	}
	if status, _, _ := c.call(t, "GET", "/v1/vpcs", ""); status != http.StatusOK {
		t.Errorf("status %d after clients left, want 200", status)
	}
}
