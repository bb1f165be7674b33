package faulttest

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
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// TestFailureModes describes every failure mode by what a client sees of the creation of a load balancer, and whether
// the cloud has it then.
func TestFailureModes(t *testing.T) {
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
		"slow": {status: 201, kind: "application/json", body: "identity", happens: true,
			takes: 5 * time.Second},
		"reset": {end: syscall.ECONNRESET},
		"lost":  {end: io.EOF, happens: true},
		"truncated": {status: 201, kind: "application/json", body: `{"identity`, end: io.ErrUnexpectedEOF,
			happens: true},
		"malformed":  {status: 200, kind: "application/json", body: "{,", happens: true},
		"empty":      {status: 200, kind: "application/json", happens: true},
		"page":       {status: 200, kind: "text/html", body: "<html>"},
		"quota":      {status: 403, kind: "application/json", body: "quota exceeded"},
		"no-content": {status: 204, happens: true},
		// These three are about other calls.
		"delete-lag":        {status: 201, kind: "application/json", body: "identity", happens: true},
		"stale":             {status: 201, kind: "application/json", body: "identity", happens: true},
		"partial":           {status: 201, kind: "application/json", body: "identity", happens: true},
		"partial-otherwise": {status: 201, kind: "application/json", body: "identity", happens: true},
		"before":            {end: errDied},
		"after":             {end: errDied, happens: true},
	}
	for _, m := range append(failureModes(), deaths()...) {
		t.Run(m.name, func(t *testing.T) {
			test, described := tests[m.name]
			if !described {
				t.Fatal("nothing says what this failure mode is")
			}
			synctest.Test(t, func(t *testing.T) {
				cloud, p := disturbed(t, m)
				began := time.Now()
				got, err := post(t, p)
				if !errors.Is(err, test.end) || err != nil && test.end == nil {
					t.Errorf("error = %v, want %v", err, test.end)
				}
				if took := time.Since(began); took != test.takes {
					t.Errorf("it took %s, want %s", took, test.takes)
				}
				if got.status != test.status || !strings.HasPrefix(got.header.Get("Content-Type"), test.kind) ||
					!strings.Contains(got.body, test.body) {
					t.Errorf("answer %+v, want %+v", got, test)
				}
				if happened := len(cloud.Writes()) > 0; happened != test.happens {
					t.Errorf("the cloud heard of it: %v, want %v", happened, test.happens)
				}
			})
		})
	}
}

// disturbed is a process whose first call meets a failure mode.
func disturbed(t *testing.T, m *failureMode) (*emulator.Emulator, *process) {
	t.Helper()
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(), Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	n := &network{cloud: cloud.Transport(), earlier: map[string]answer{}, disturb: func(n int, _ call) *failureMode {
		if n == 1 {
			return m
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

// known is a failure mode by its name.
func known(t *testing.T, name string) *failureMode {
	t.Helper()
	all := failureModes()
	i := slices.IndexFunc(all, func(m *failureMode) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("there is no failure mode %q", name)
	}
	return all[i]
}

func TestThrottlingNamesATime(t *testing.T) {
	_, p := disturbed(t, known(t, "throttled"))
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
	stale := known(t, "stale")
	p.disturb = func(n int, c call) *failureMode {
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
	if !p.calls[2].again || p.calls[0].again || p.calls[2].failureMode != "stale" {
		t.Errorf("calls = %+v; want the second list known as asked again, and as stale", p.calls)
	}
}

// TestRepeated: a reader can tell an answer to an earlier request from one that was made for its own.
func TestRepeated(t *testing.T) {
	_, p := disturbed(t, nil)
	stale := known(t, "stale")
	p.disturb = func(n int, _ call) *failureMode {
		if n == 2 {
			return stale
		}
		return nil
	}
	for n, want := range []bool{false, true, false} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cloud.test"+balancers, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
		response, err := p.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := Repeated(response); response.StatusCode != http.StatusOK || got != want {
			t.Errorf("answer %d has status %d, repeated %t; want %t", n+1, response.StatusCode, got, want)
		}
	}
}

func TestFaultsApplyToCallsTheyMatterTo(t *testing.T) {
	var names []string
	const one = balancers + "/lb-0123456789abcdefghij"
	calls := []call{
		{method: "GET", path: balancers, size: 2}, {method: "GET", path: balancers, size: 2, again: true},
		{method: "DELETE", path: one},
		{method: "POST", path: balancers, status: 201}, {method: "POST", path: one + "/verb", status: 204},
		{method: "POST", path: "/oidc/token", status: 201}, {method: "GET", path: one, again: true},
	}
	for _, d := range faults(calls) {
		names = append(names, d.name)
	}
	for name, want := range map[string]bool{
		"conflict-01-GET_v1_loadbalancers": false, "conflict-03-DELETE_v1_loadbalancers_ID": true,
		"stale-01-GET_v1_loadbalancers": false, "stale-02-GET_v1_loadbalancers": true,
		"empty-01-GET_v1_loadbalancers": true, "empty-03-DELETE_v1_loadbalancers_ID": false,
		"lost-repeatedly-03-DELETE_v1_loadbalancers_ID": true, "slow-repeatedly-03-DELETE_v1_loadbalancers_ID": true,
		"delete-lag-03-DELETE_v1_loadbalancers_ID": true, "delete-lag-01-GET_v1_loadbalancers": false,
		"quota-04-POST_v1_loadbalancers": true, "quota-05-POST_v1_loadbalancers_ID_verb": false,
		"quota-06-POST_oidc_token":        false,
		"partial-01-GET_v1_loadbalancers": false, "partial-02-GET_v1_loadbalancers": true,
		"partial-07-GET_v1_loadbalancers_ID": false,
	} {
		if slices.Contains(names, name) != want {
			t.Errorf("trial %s: got %v, want %v", name, !want, want)
		}
	}
	single := faults(calls)[1] // the second of each two lasts
	for n, want := range []bool{false, true, true, true, false} {
		if got := single.at(n, call{}) != nil; got != want {
			t.Errorf("%s at call %d: %v, want %v", single.name, n, got, want)
		}
	}
}

// What a failure mode is about is decided by the call that it meets, too: of three in a row some may be others.
func TestFailureModesApplyToTheirOwnCalls(t *testing.T) {
	cloud, p := disturbed(t, nil)
	p.disturb = func(int, call) *failureMode { return known(t, "conflict") }
	s := &shop{network: p}
	if _, err := s.list(t.Context(), balancers); err != nil || p.hits != 0 || p.calls[0].failureMode != "" {
		t.Errorf("a read: error %v, %d hits; want none of a write's", err, p.hits)
	}
	if err := s.create(t.Context(), balancers, "shop"); err == nil || p.hits != 1 || len(cloud.Writes()) > 0 {
		t.Errorf("a write: error %v, %d hits; want a conflict", err, p.hits)
	}
}

// Between the two of them, partial lists lack either of two objects.
func TestPartialListsDiffer(t *testing.T) {
	cloud, p := disturbed(t, nil)
	otherOwner(t, cloud)
	if err := (&shop{network: cloud.Transport()}).create(t.Context(), balancers, "shop"); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	s := &shop{network: p}
	if _, err := s.list(t.Context(), balancers); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"partial", "partial-otherwise"} {
		p.disturb = func(int, call) *failureMode { return known(t, name) }
		all, err := s.list(t.Context(), balancers)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v, want one of two", name, all, err)
		}
		missing[all[0].Labels["owner"]] = true
	}
	if len(missing) != 2 {
		t.Errorf("only %v are ever left", missing)
	}
}

func TestSample(t *testing.T) {
	calls := []call{{method: "GET", path: balancers, size: 2}, {method: "POST", path: balancers, status: 201}}
	all := faults(calls)
	names := func(some []disturbance) string {
		var b strings.Builder
		for _, d := range some {
			b.WriteString(d.name + " ")
		}
		return b.String()
	}
	one := names(sample(all, 10, 1))
	if one != names(sample(all, 10, 1)) || one == names(sample(all, 10, 2)) {
		t.Errorf("the seed does not decide: %s", one)
	}
	if strings.Count(one, " ") != 10 || names(sample(all, 1000, 1)) != names(all) {
		t.Errorf("10 of %d are %s, and 1000 are not all", len(all), one)
	}
	drawn := map[string]bool{}
	for seed := range uint64(100) {
		for _, d := range sample(all, 10, seed) {
			drawn[d.name] = true
		}
	}
	if len(drawn) != len(all) {
		t.Errorf("100 seeds draw %d of %d", len(drawn), len(all))
	}
}

func TestSeedsRepeat(t *testing.T) {
	draw := func(seed uint64) string {
		at, drawn := anything(seed, false), ""
		for n := 1; n <= chaosCalls+50; n++ {
			m := at(n, call{})
			if m == nil {
				continue
			}
			if n > chaosCalls {
				t.Errorf("seed %d: call %d is disturbed; the work could never end", seed, n)
			}
			drawn += m.name + " "
		}
		return drawn
	}
	different, lies := map[string]bool{}, false
	for seed := range uint64(20) {
		drawn := draw(seed)
		if drawn == "" || drawn != draw(seed) {
			t.Errorf("seed %d draws %q and then %q; want the same, and something", seed, drawn, draw(seed))
		}
		lies = lies || strings.Contains(drawn, "partial") && strings.Contains(drawn, "after ")
		different[drawn] = true
	}
	if len(different) < 15 {
		t.Errorf("20 seeds draw only %d different things", len(different))
	}
	if !lies {
		t.Error("20 seeds never draw a crash and a list that lacks something")
	}
}

// TestOvertaken ends the process at once; the cloud does the write when the next process is at work.
func TestOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, heard := time.Now(), make(chan time.Duration, 1)
		forward := func(request *http.Request) (answer, error) {
			body, err := io.ReadAll(request.Body)
			if err != nil || string(body) != "write" || request.Context().Err() != nil {
				t.Errorf("body %q, error %v, context %v", body, err, request.Context().Err())
			}
			heard <- time.Since(began)
			return answer{}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud.test/",
			strings.NewReader("write"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := overtaking().apply(request, nil, forward); !Overtaken(err) || time.Since(began) != 0 {
			t.Errorf("the process: error %v after %s", err, time.Since(began))
		}
		cancel()
		if after := <-heard; after != slowness {
			t.Errorf("the cloud hears of it after %s, want %s", after, slowness)
		}
	})
}

// TestEveryFailureModeIsDrawn counts in how many of some seeds each way to disturb a write occurs, so that none
// disappears.
func TestEveryFailureModeIsDrawn(t *testing.T) {
	const seeds, least = 200, 50
	for _, overlap := range []bool{false, true} {
		drawn := map[string]int{}
		for seed := range uint64(seeds) {
			at, seen := anything(seed, overlap), map[string]bool{}
			for n := 1; n <= chaosCalls; n++ {
				if m := at(n, call{method: http.MethodPost}); m != nil && !seen[m.name] {
					seen[m.name] = true
					drawn[m.name]++
				}
			}
		}
		all := append(append(failureModes(), deaths()...), relief())
		if overlap {
			all = append(all, overtaking())
		}
		for _, m := range all {
			if drawn[m.name] < least {
				t.Errorf("overlap %t: %s is drawn by %d of %d seeds, want %d", overlap, m.name, drawn[m.name], seeds,
					least)
			}
		}
		if len(drawn) != len(all) {
			t.Errorf("overlap %t: %d of %d are drawn", overlap, len(drawn), len(all))
		}
	}
}

// TestShare tries some of all disturbances, and never none.
func TestShare(t *testing.T) {
	all := make([]disturbance, 17)
	for share, want := range map[int]int{0: 17, 1: 17, 8: 3, 17: 1, 100: 1} {
		if got := len((Scenario{Share: share}).share(all)); got != want {
			t.Errorf("a share of 1 in %d is %d of %d, want %d", share, got, len(all), want)
		}
	}
}
