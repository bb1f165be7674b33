package trial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestKinds describes every fault by what a client sees of the creation of a load balancer, and whether the cloud has it then.
func TestKinds(t *testing.T) {
	tests := map[string]struct {
		status  int
		kind    string // content type, without charset
		body    string // what it contains
		end     error  // of the call or of the body
		happens bool
		takes   time.Duration
	}{
		"throttled":      {status: 429, kind: "application/json", body: "slow down"},
		"error":          {status: 500, kind: "application/json", body: "internal error"},
		"bad-gateway":    {status: 502, kind: "text/html", body: "<html>"},
		"unavailable":    {status: 503, kind: "application/json", body: "maintenance"},
		"unauthorised":   {status: 401, kind: "application/json", body: "token expired"},
		"forbidden":      {status: 403, kind: "application/json", body: "not now"},
		"conflict":       {status: 409, kind: "application/json", body: "busy"},
		"page-not-found": {status: 404, kind: "text/html", body: "<html>"},
		"hang":           {end: context.DeadlineExceeded, takes: 30 * time.Second},
		"slow":           {status: 201, kind: "application/json", body: "identity", happens: true, takes: 5 * time.Second},
		"reset":          {end: syscall.ECONNRESET},
		"lost":           {end: syscall.ECONNRESET, happens: true},
		"truncated":      {status: 201, kind: "application/json", body: `{"identity`, end: io.ErrUnexpectedEOF, happens: true},
		"malformed":      {status: 200, kind: "application/json", body: "oops", happens: true},
		"empty":          {status: 200, kind: "application/json", happens: true},
		"stale":          {status: 201, kind: "application/json", body: "identity", happens: true}, // writes are never stale
		"before":         {end: errDied},
		"after":          {end: errDied, happens: true},
	}
	for _, f := range append(kinds(), deaths()...) {
		t.Run(f.name, func(t *testing.T) {
			test, described := tests[f.name]
			if !described {
				t.Fatal("nothing says what this fault is")
			}
			synctest.Test(t, func(t *testing.T) {
				cloud, p := disturbed(t, f)
				began := time.Now()
				got, err := post(t, p)
				if !errors.Is(err, test.end) || err != nil && test.end == nil {
					t.Errorf("error = %v, want %v", err, test.end)
				}
				if took := time.Since(began); took != test.takes {
					t.Errorf("it took %s, want %s", took, test.takes)
				}
				if got.status != test.status || got.header.Get("Content-Type") != test.kind || !strings.Contains(got.body, test.body) {
					t.Errorf("answer %+v, want %+v", got, test)
				}
				if happened := len(cloud.Writes()) > 0; happened != test.happens {
					t.Errorf("the cloud heard of it: %v, want %v", happened, test.happens)
				}
			})
		})
	}
}

// disturbed is a process whose first call meets a fault.
func disturbed(t *testing.T, f *fault) (*emulator.Emulator, *process) {
	t.Helper()
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	n := &network{cloud: cloud.Transport(), earlier: map[string]answer{}, disturb: func(n int, _ call) *fault {
		if n == 1 {
			return f
		}
		return nil
	}}
	return cloud, n.process(t.Context())
}

// reading is what a client reads of an answer; nothing without one.
type reading struct {
	status int
	header http.Header
	body   string
}

// post creates a load balancer.
func post(t *testing.T, p *process) (reading, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	content := strings.NewReader(`{"name": "web", "subnet": "emulator"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud.test"+balancers, content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	response, err := p.RoundTrip(request)
	if err != nil {
		return reading{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reading{response.StatusCode, response.Header, string(body)}, err
}

func TestThrottlingNamesATime(t *testing.T) {
	_, p := disturbed(t, kinds()[0])
	got, err := post(t, p)
	if err != nil || got.header.Get("Retry-After") != "7" {
		t.Errorf("error %v, header %v; want Retry-After: 7", err, got.header)
	}
}

// TestDeadProcessesMakeNoCalls also holds for calls that were under way elsewhere.
func TestDeadProcessesMakeNoCalls(t *testing.T) {
	for _, death := range deaths() {
		cloud, p := disturbed(t, death)
		_, _ = post(t, p)
		before := len(cloud.Writes())
		if _, err := post(t, p); !errors.Is(err, errDied) || len(cloud.Writes()) != before {
			t.Errorf("%s: the next call ends with %v after %d writes more", death.name, err, len(cloud.Writes())-before)
		}
		if !errors.Is(context.Cause(p.ctx), errDied) {
			t.Errorf("%s: the process's context says %v", death.name, context.Cause(p.ctx))
		}
	}
}

func TestStaleListIsTheOneBefore(t *testing.T) {
	cloud, p := disturbed(t, nil)
	stale := kinds()[slices.IndexFunc(kinds(), func(f *fault) bool { return f.name == "stale" })]
	p.disturb = func(n int, c call) *fault {
		if n == 3 || n == 4 {
			return stale
		}
		return nil
	}
	s := &shop{network: p}
	count := func(want int) {
		t.Helper()
		if all, err := s.list(t.Context(), balancers); err != nil || len(all) != want {
			t.Errorf("%d load balancers, error %v; want %d", len(all), err, want)
		}
	}
	count(0)
	if err := s.create(t.Context(), balancers, "shop"); err != nil {
		t.Fatal(err)
	}
	count(0)
	count(0)
	count(1)
	if got := len(cloud.Writes()); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	if !p.calls[2].again || p.calls[0].again || p.calls[2].fault != "stale" {
		t.Errorf("calls = %+v; want the second list known as asked again, and as stale", p.calls)
	}
}

func TestFaultsBefallCallsTheyMatterTo(t *testing.T) {
	var names []string
	calls := []call{{method: "GET", path: balancers, size: 2}, {method: "GET", path: balancers, size: 2, again: true}, {method: "DELETE", path: balancers + "/lb-0123456789abcdefghij"}}
	for _, d := range faults(calls) {
		names = append(names, d.name)
	}
	for name, want := range map[string]bool{
		"conflict-01-GET_v1_loadbalancers": false, "conflict-03-DELETE_v1_loadbalancers_ID": true,
		"stale-01-GET_v1_loadbalancers": false, "stale-02-GET_v1_loadbalancers": true,
		"empty-01-GET_v1_loadbalancers": true, "empty-03-DELETE_v1_loadbalancers_ID": false,
		"lost-repeatedly-03-DELETE_v1_loadbalancers_ID": true, "forbidden-repeatedly-03-DELETE_v1_loadbalancers_ID": false,
	} {
		if slices.Contains(names, name) != want {
			t.Errorf("trial %s: got %v, want %v", name, !want, want)
		}
	}
	single := faults(calls)[1] // "throttled" lasts
	for n, want := range []bool{false, true, true, true, false} {
		if got := single.at(n, call{}) != nil; got != want {
			t.Errorf("%s at call %d: %v, want %v", single.name, n, got, want)
		}
	}
}

func TestSeedsRepeat(t *testing.T) {
	draw := func(seed uint64) string {
		at, drawn := anything(seed), ""
		for n := 1; n <= chaosCalls+50; n++ {
			f := at(n, call{})
			if f == nil {
				continue
			}
			if n > chaosCalls {
				t.Errorf("seed %d: call %d is disturbed; the work could never end", seed, n)
			}
			drawn += f.name + " "
		}
		return drawn
	}
	different := map[string]bool{}
	for seed := range uint64(20) {
		drawn := draw(seed)
		if drawn == "" || drawn != draw(seed) {
			t.Errorf("seed %d draws %q and then %q; want the same, and something", seed, drawn, draw(seed))
		}
		if strings.Contains(drawn, "stale") && (strings.Contains(drawn, "before") || strings.Contains(drawn, "after")) {
			t.Errorf("seed %d draws crashes and lies", seed)
		}
		different[drawn] = true
	}
	if len(different) < 15 {
		t.Errorf("20 seeds draw only %d different things", len(different))
	}
}
