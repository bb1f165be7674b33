package emulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// answer is what a client gets for a call.
type answer struct {
	status  int
	header  http.Header
	body    string
	err     error // of the call
	reading error // of the body
}

// ask sends a request through a transport.
func ask(t *testing.T, through http.RoundTripper, url, method, path, body string) answer {
	t.Helper()
	client := &http.Client{Transport: through, Timeout: time.Second}
	// On a connection that was used before, Go's client repeats what failed.
	defer client.CloseIdleConnections()
	response, err := client.Do(apiRequest(t, url, method, path, body))
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(content), nil, err}
}

// kindTest is a call that meets a kind of fault.
type kindTest struct {
	effect             fault.Effect
	method, path, body string
	check              func(answer) bool
	// happened reports whether the cloud handled the call.
	happened bool
}

func kindTests() map[fault.Kind]kindTest {
	const machines, one = "/v1/machines", "/v1/machines/one"
	const create = `{"name":"new","subnet":"emulator","machineType":"pgp-small"}`
	message := func(status int, text string) func(answer) bool {
		return func(a answer) bool { return a.status == status && strings.Contains(a.body, text) }
	}
	return map[fault.Kind]kindTest{
		fault.Latency: {fault.Effect{Delay: time.Millisecond}, "POST", machines, create, message(201, "new"), true},
		fault.Hang: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			var e timeout
			return errors.As(a.err, &e) && e.Timeout()
		}, false},
		fault.Refuse: {fault.Effect{Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond}, "POST",
			machines, create, func(a answer) bool {
				return a.status == 429 && a.header.Get("Retry-After") == "2" &&
					strings.Contains(a.body, `{"message":"slow down"}`)
			}, false},
		fault.Unauthorised: {fault.Effect{}, "POST", machines, create, message(401, "message"), false},
		fault.Forbidden:    {fault.Effect{}, "POST", machines, create, message(403, "message"), false},
		fault.Quota:        {fault.Effect{}, "POST", machines, create, message(403, `{"message":"quota `), false},
		fault.Reset: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return errors.Is(a.err, syscall.ECONNRESET)
		}, false},
		fault.NotJSON: {fault.Effect{}, "POST", machines, create, message(200, "<html>"), false},
		fault.Drop: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return errors.Is(a.err, io.EOF)
		}, true},
		fault.Truncate: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return a.status == 201 && errors.Is(a.reading, io.ErrUnexpectedEOF) &&
				strings.HasPrefix(a.body, `{"identity"`)
		}, true},
		fault.Malformed: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return a.status == 200 && !json.Valid([]byte(a.body)) && a.header.Get("Content-Type") == "application/json"
		}, true},
		fault.Empty: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return a.status == 200 && a.body == "" && a.reading == nil &&
				a.header.Get("Content-Type") == "application/json"
		}, true},
		fault.NoContent: {fault.Effect{}, "POST", machines, create, func(a answer) bool {
			return a.status == 204 && a.body == ""
		}, true},
		fault.Partial: {fault.Effect{}, "GET", machines, "",
			func(a answer) bool { return strings.Count(a.body, `"machineType"`) == 1 }, true},
		fault.Stale: {fault.Effect{Delay: time.Hour}, "GET", machines, "", func(a answer) bool {
			return strings.Count(a.body, `"machineType"`) == 2 && strings.Contains(a.body, `"two"`)
		}, true},
		fault.DeleteLag: {fault.Effect{Delay: time.Hour}, "DELETE", one, "", func(a answer) bool {
			return a.status == 204
		}, false},
	}
}

// timeout is what timeouts are.
type timeout interface {
	error
	Timeout() bool
}

func TestEveryKindOfFault(t *testing.T) {
	tests := kindTests()
	for _, kind := range fault.Kinds() {
		for _, inProcess := range []bool{true, false} {
			name := string(kind) + " over a connection"
			if inProcess {
				name = string(kind) + " in process"
			}
			t.Run(name, func(t *testing.T) {
				test := tests[kind]
				test.effect.Kind = kind
				testKind(t, test, inProcess)
			})
		}
	}
}

func testKind(t *testing.T, test kindTest, inProcess bool) {
	t.Helper()
	c := newCloud(t)
	c.machine(t, "one")
	c.machine(t, "two")
	id, err := c.Inject(fault.Rule{Effect: test.effect})
	if err != nil {
		t.Fatal(err)
	}
	if test.effect.Kind == fault.Stale {
		if err := c.DeleteMachine("two"); err != nil {
			t.Fatal(err)
		}
	}
	var through http.RoundTripper = &http.Transport{}
	if inProcess {
		through = c.Transport()
	}
	if got := ask(t, through, c.url, test.method, test.path, test.body); !test.check(got) {
		t.Errorf("%s %s: %+v", test.method, test.path, got)
	}
	if got := c.Faults()[0]; got.Rule.ID != id || got.Matched != 1 || got.Fired != 1 {
		t.Errorf("Faults = %+v, want one call", got)
	}
	c.ClearFaults(id)
	if test.method == "GET" {
		return
	}
	_, _, machines := c.call(t, "GET", "/v1/machines", "")
	if n := strings.Count(machines, `"machineType"`); (n == 3) != test.happened {
		t.Errorf("%d machines afterwards, want 3: %t", n, test.happened)
	}
	counted := 0
	for operation, n := range c.Counters() {
		if strings.HasPrefix(operation, test.method) {
			counted += n
		}
	}
	if counted != 1 {
		t.Errorf("%d calls were counted, want 1", counted)
	}
	logged := test.happened || test.effect.Kind == fault.DeleteLag
	if writes := c.Writes(); (len(writes) == 1) != logged || logged && (writes[0].Fault != test.effect.Kind ||
		writes[0].Status >= 300 || writes[0].Identity == "") {
		t.Errorf("Writes = %+v, want what happened: %t", writes, logged)
	}
}

func TestFaultsFromTheStart(t *testing.T) {
	rules := []fault.Rule{{ID: "first", Effect: fault.Effect{Kind: fault.Refuse, Status: 503}, Count: 1}}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.Faults = rules })
	for _, want := range []int{503, 200} {
		if status, _, body := c.call(t, "GET", "/v1/vpcs", ""); status != want {
			t.Errorf("status %d %s, want %d", status, body, want)
		}
	}
	if diff := cmp.Diff([]fault.Status{{Rule: rules[0], Matched: 2, Fired: 1, Spent: true}}, c.Faults()); diff != "" {
		t.Errorf("Faults (-want +got):\n%s", diff)
	}
	_, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Faults: []fault.Rule{{}}})
	if err == nil || !strings.Contains(err.Error(), "effect.kind is missing") {
		t.Errorf("a rule without a kind: %v", err)
	}
}

func TestInjectKnowsTheOperations(t *testing.T) {
	c := newCloud(t)
	hang := fault.Effect{Kind: fault.Hang}
	for operation, want := range map[string]string{
		"POST /v1/loadbalancr":     `did you mean "POST /v1/loadbalancers"?`,
		"GET /v1/machines/vm-1234": `did you mean "GET /v1/machines/{id}"?`,
		"everything":               `write it like "POST *"`,
	} {
		if _, err := c.Inject(fault.Rule{Operation: operation, Effect: hang}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("operation %q: %v, want %s", operation, err, want)
		}
	}
	for _, operation := range []string{"", "*", "* /v1/machines/{id}", "POST /oidc/token", "unknown"} {
		if _, err := c.Inject(fault.Rule{Operation: operation, Effect: hang}); err != nil {
			t.Errorf("operation %q: %v", operation, err)
		}
	}
}

func TestQuotaIsForCreations(t *testing.T) {
	c := newCloud(t)
	c.machine(t, "one")
	c.group(t, "web", 80)
	if _, err := c.Inject(fault.Rule{Effect: fault.Effect{Kind: fault.Quota, Status: 422, Message: "no more"}}); err !=
		nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/v1/machines": 422, "/v1/loadbalancers": 422, "/v1/loadbalancers/x/listeners": 422,
		"/v1/loadbalancer-target-groups": 422,
		"/v1/machines/one/stop":          204, "/v1/loadbalancer-target-groups/web/attachments": 204,
		"/oidc/token": 400,
	} {
		sent := `{"attachments":[]}`
		if strings.HasSuffix(path, "/stop") {
			sent = ""
		}
		if status, _, body := c.call(t, "POST", path, sent); status != want {
			t.Errorf("POST %s = %d %s, want %d", path, status, body, want)
		}
	}
}

// Lists have different shapes of paths; single objects are no lists.
func TestPartialIsForLists(t *testing.T) {
	c := newCloud(t)
	lb := c.loadbalancer(t, "lb")
	c.listener(t, lb.Identity, c.group(t, "tg", 80).Identity, 80)
	c.object(t, "POST", "/v1/vpc-firewall-rules/emulator",
		`{"name":"x","protocols":{"any":true},"direction":"inbound","action":"drop","priority":1}`, 201)
	if _, err := c.Inject(fault.Rule{Effect: fault.Effect{Kind: fault.Partial}}); err != nil {
		t.Fatal(err)
	}
	// Of a list of one nothing is left.
	for path, want := range map[string]string{
		"/v1/vpc-firewall-rules/emulator": "[]", "/v1/loadbalancers/lb/listeners": "[]", "/v1/vpcs": "[]",
		"/v1/vpcs/emulator": `{"identity"`, "/v1/loadbalancers/lb": `{"identity"`,
	} {
		if _, _, body := c.call(t, "GET", path, ""); !strings.HasPrefix(body, want) {
			t.Errorf("%s = %s, want %s", path, body, want)
		}
	}
	if got := c.Faults()[0].Matched; got != 3 {
		t.Errorf("%d calls matched, want the lists", got)
	}
}

func TestQuotaFaultsLookLikeQuotas(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Switches.QuotaStatus = 429
		cfg.Faults = []fault.Rule{{Effect: fault.Effect{Kind: fault.Quota}}}
	})
	if status, _, body := c.call(t, "POST", "/v1/projects", `{"name":"x"}`); status != 429 ||
		!strings.Contains(body, "quota") {
		t.Errorf("got %d %s, want the status of quotas", status, body)
	}
}

func TestFaultsOfTheToken(t *testing.T) {
	c := newCloud(t)
	if _, err := c.Inject(fault.Rule{Operation: "POST /oidc/token", Effect: fault.Effect{Kind: fault.Refuse,
		Status: 503}}); err != nil {
		t.Fatal(err)
	}
	if status, _, body := c.call(t, "POST", "/oidc/token", ""); status != 503 {
		t.Errorf("token = %d %s, want 503", status, body)
	}
	if status, _, body := c.call(t, "GET", "/v1/vpcs", ""); status != 200 {
		t.Errorf("VPCs = %d %s, want 200", status, body)
	}
}

func TestFaultsAdminAPI(t *testing.T) {
	c := newCloud(t)
	const rule = `{"operation":"GET *","skip":1,"effect":{"kind":"latency","delay":"1ms"}}`
	status, _, body := c.call(t, "POST", "/_emulator/faults", rule)
	if want := `{"rule":{"id":"fault-1",` + rule[1:] + `,"matched":0,"fired":0,"spent":false}`; status != 201 ||
		strings.TrimSpace(body) != want {
		t.Errorf("POST = %d %s, want %s", status, body, want)
	}
	c.call(t, "POST", "/_emulator/faults", `{"id":"mine","effect":{"kind":"status","status":503},"operation":"PUT *"}`)
	c.call(t, "GET", "/v1/vpcs", "")
	c.call(t, "GET", "/v1/vpcs", "")
	c.call(t, "POST", "/_emulator/faults", `{"operation":"POST *","effect":{"kind":"latency","delay":"1ns"}}`)
	c.call(t, "POST", "/v1/loadbalancers", `{}`)
	if _, _, body = c.call(t, "GET", "/_emulator/writes", ""); !strings.Contains(body,
		`"status":400,"fault":"latency"`) {
		t.Errorf("writes = %s, want the fault that one met", body)
	}
	c.ClearFaults("fault-2")
	if _, _, body = c.call(t, "GET", "/_emulator/faults", ""); !strings.Contains(body, `"matched":2,"fired":1`) ||
		!strings.Contains(body, `"mine"`) {
		t.Errorf("GET = %s, want both rules", body)
	}
	for path, want := range map[string]int{"/_emulator/faults/fault-1": 204, "/_emulator/faults/fault-2": 404} {
		if status, _, body = c.call(t, "DELETE", path, ""); status != want {
			t.Errorf("DELETE %s = %d %s, want %d", path, status, body, want)
		}
	}
	if got := c.Faults(); len(got) != 1 || got[0].Rule.ID != "mine" {
		t.Errorf("Faults = %+v, want one", got)
	}
	if status, _, _ = c.call(t, "DELETE", "/_emulator/faults", ""); status != 204 || len(c.Faults()) != 0 {
		t.Errorf("DELETE = %d, leaving %+v", status, c.Faults())
	}
}

func TestFaultsAdminAPIRefuses(t *testing.T) {
	c := newCloud(t)
	for body, want := range map[string]string{
		`{`:                            "reading the request body",
		``:                             "effect.kind is missing",
		`{"effct":{"kind":"hang"}}`:    `unknown key \"effct\": did you mean \"effect\"?`,
		`{"effect":{"kind":"hagn"}}`:   `did you mean \"hang\"?`,
		`{"effect":{"kind":"status"}}`: "effect.status is missing",
		`{"operation":"GET /v1/machine","effect":{"kind":"hang"}}`: `did you mean \"GET /v1/machines\"?`,
	} {
		if status, _, answer := c.call(t, "POST", "/_emulator/faults", body); status != 400 ||
			!strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %s", body, status, answer, want)
		}
	}
	if got := c.Faults(); len(got) != 0 {
		t.Errorf("Faults = %+v, want none", got)
	}
}

// Close must not leave anybody hanging.
func TestCloseEndsHangingCalls(t *testing.T) {
	c := newCloud(t)
	if _, err := c.Inject(fault.Rule{Operation: "GET /v1/vpcs", Effect: fault.Effect{Kind: fault.Hang}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	request := apiRequest(t, "http://cloud.test", "GET", "/v1/vpcs", "")
	go func() {
		response, err := c.Transport().RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		done <- err
	}()
	traffictest.Eventually(t, "the call hangs", func() bool { return c.Faults()[0].Fired == 1 })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("the call ended with %v, want a dropped connection", err)
	}
}
