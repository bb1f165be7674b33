package emulator_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func newRequest(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
}

// apiRequest is a request with the default credentials.
func apiRequest(t *testing.T, url, method, path, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	return request
}

// serve lets a handler answer without any socket.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	return recorder
}

// call sends a request with the default credentials and returns what came back.
func (c *cloud) call(t *testing.T, method, path, body string) (status int, header http.Header, answer string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(apiRequest(t, c.url, method, path, body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(content)
}

func TestPathsAreForgiving(t *testing.T) {
	c := newCloud(t)
	for _, path := range []string{"/v1/vpcs", "/v1/vpcs/", "//v1//vpcs", "/api/v1/vpcs", "/api//v1/vpcs/",
		"/v1/vpcs/emulator", "/v1/vpcs/" + emulator.DefaultVPC} {
		status, header, body := c.call(t, "GET", path, "")
		if status != http.StatusOK || !strings.Contains(body, emulator.DefaultVPC) {
			t.Errorf("GET %s = %d %s", path, status, body)
		}
		if got := header.Get("Content-Type"); got != "application/json" {
			t.Errorf("GET %s: Content-Type %q, want application/json", path, got)
		}
	}
	if got := c.Counters()["GET /v1/vpcs"]; got != 5 {
		t.Errorf("the five spellings of one operation are counted as %d, want 5", got)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	c := newCloud(t)
	tests := map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"unknown object":   {"GET", "/v1/loadbalancers/lb-none", "", 404, `load balancer "lb-none" not found`},
		"unknown endpoint": {"GET", "/v1/dragons", "", 501, "does not serve GET /v1/dragons"},
		"unknown method":   {"PATCH", "/v1/vpcs", "", 501, "does not serve PATCH /v1/vpcs"},
		"no JSON":          {"POST", "/v1/loadbalancers", "{", 400, "not valid JSON"},
		"wrong type": {"POST", "/v1/loadbalancers", `{"name":7}`, 400,
			`field "name" must be of type string, not number`},
		"missing name": {"POST", "/v1/loadbalancers", `{"subnet":"` + emulator.DefaultSubnet + `"}`, 400,
			`field "name" must have 1 to 62 characters`},
		"long name": {"POST", "/v1/loadbalancers", `{"name":"` + strings.Repeat("a", 63) + `"}`,
			400, `has 63`},
		"long description": {"POST", "/v1/loadbalancers",
			`{"name":"a","description":"` + strings.Repeat("a", 256) + `"}`, 400, `at most 255 characters`},
		"empty label": {"POST", "/v1/loadbalancers", `{"name":"a","labels":{"":"x"}}`, 400,
			`field "labels" has an empty key`},
		"unknown subnet": {"POST", "/v1/loadbalancers", `{"name":"a","subnet":"s-x"}`, 400,
			`field "subnet": subnet "s-x" not found`},
		"security group": {"POST", "/v1/loadbalancers",
			`{"name":"a","subnet":"emulator","securityGroupAttachments":["sg-x"]}`, 400,
			`security group "sg-x" not found`},
		"reserved IP": {"POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","reservedIpId":"ip-x"}`,
			400, `reserved IP "ip-x" not found`},
		"unknown VPC": {"POST", "/v1/loadbalancer-target-groups",
			`{"name":"a","targetPort":80,"protocol":"tcp"}`, 400, `field "vpc"`},
		"port too large": {"POST", "/v1/loadbalancer-target-groups",
			`{"name":"a","vpc":"emulator","targetPort":65536,"protocol":"tcp"}`, 400,
			`field "targetPort" must be 1 to 65535, not 65536`},
		"protocol": {"POST", "/v1/loadbalancer-target-groups",
			`{"name":"a","vpc":"emulator","targetPort":80,"protocol":"http"}`, 400,
			`field "protocol" must be one of [tcp udp], not "http"`},
		"policy": {"POST", "/v1/loadbalancer-target-groups",
			`{"name":"a","vpc":"emulator","targetPort":80,"protocol":"tcp","loadbalancingPolicy":"LEAST"}`, 400,
			`field "loadbalancingPolicy"`},
		"health protocol": {"POST", "/v1/loadbalancer-target-groups",
			`{"name":"a","vpc":"emulator","targetPort":80,"protocol":"tcp","healthCheck":{"protocol":"icmp"}}`, 400,
			`field "healthCheck.protocol"`},
		"health period":       {"POST", "/v1/loadbalancer-target-groups", `{"name":"a","vpc":"emulator","targetPort":80,"protocol":"tcp","healthCheck":{"protocol":"tcp","port":80,"periodSeconds":1}}`, 400, `field "healthCheck.periodSeconds" must be 5 to 300, not 1`},
		"machine without all": {"POST", "/v1/machines", `{"name":"a"}`, 400, `are required`},
		"machine state": {"POST", "/v1/machines",
			`{"name":"a","subnet":"emulator","machineType":"pgp-small","state":"off"}`, 400, `field "state"`},
		"machine zone": {"POST", "/v1/machines",
			`{"name":"a","subnet":"emulator","machineType":"pgp-small","availabilityZone":"x"}`, 400, `zone "x"`},
		"machine type": {"POST", "/v1/machines", `{"name":"a","subnet":"emulator","machineType":"x"}`, 400,
			`machine type "x"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, header, body := c.call(t, test.method, test.path, test.body)
			var problem struct{ Message string }
			if err := json.Unmarshal([]byte(body), &problem); err != nil {
				t.Fatalf("body %q: %v", body, err)
			}
			if status != test.status || !strings.Contains(problem.Message, test.want) {
				t.Errorf("got %d %q, want %d with %q", status, problem.Message, test.status, test.want)
			}
			if got := header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type = %q, want application/json", got)
			}
		})
	}
}

func TestRequestsMayBeSloppy(t *testing.T) {
	c := newCloud(t)
	body := `{"name":"a","subnet":"emulator","labels":null,"annotations":null,"listeners":null,"TargetGroupID":"x","unknown":{"a":1}}`
	if status, _, answer := c.call(t, "POST", "/v1/loadbalancers", body); status != http.StatusCreated {
		t.Errorf("got %d %s, want 201", status, answer)
	}
}

func TestCountersAndWrites(t *testing.T) {
	c := newCloud(t)
	lb := c.loadbalancer(t, "a")
	c.call(t, "POST", "/v1/loadbalancers", "{")
	if _, err := c.api.GetLoadbalancer(t.Context(), lb.Identity); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"POST /v1/loadbalancers": 2, "GET /v1/loadbalancers/{id}": 1}
	if diff := cmp.Diff(want, c.Counters()); diff != "" {
		t.Errorf("Counters (-want +got):\n%s", diff)
	}
	writes := c.Writes()
	if len(writes) != 2 || writes[0].Identity != lb.Identity || writes[0].Status != 201 || writes[1].Status != 400 {
		t.Errorf("Writes = %+v, want one that created %s and one that failed", writes, lb.Identity)
	}
	if writes[0].Operation != "POST /v1/loadbalancers" || writes[0].Path != "/v1/loadbalancers" ||
		writes[0].Time.IsZero() {
		t.Errorf("Writes[0] = %+v, want operation, path and time", writes[0])
	}
	c.ResetCounters()
	if len(c.Counters()) != 0 || len(c.Writes()) != 0 {
		t.Error("ResetCounters left something")
	}
}

// TestWritesSayWhoSentThem: the log distinguishes clients, service accounts and refused credentials, without what is
// secret about them.
func TestWritesSayWhoSentThem(t *testing.T) {
	c := newCloud(t)
	_, exchanged := askToken(t, c, exchangeForm(c.subjectToken(t, "", "", 0)))
	for _, authorization := range []string{
		"Token " + emulator.DefaultToken, "Basic " + base64.StdEncoding.EncodeToString([]byte(emulator.DefaultClientID+
			":"+emulator.DefaultClientSecret)),
		"Bearer " + exchanged.AccessToken, "Token wrong",
	} {
		request := newRequest(t, "POST", "/v1/projects", "{")
		request.Header.Set("Authorization", authorization)
		serve(c, request)
	}
	var subjects []string
	for _, write := range c.Writes() {
		subjects = append(subjects, write.Subject)
	}
	want := []string{"personal-access-token", emulator.DefaultClientID, emulator.DefaultServiceAccount, ""}
	if diff := cmp.Diff(want, subjects); diff != "" {
		t.Errorf("who wrote (-want +got):\n%s", diff)
	}
}

func TestAdminAPI(t *testing.T) {
	c := newCloud(t)
	lb := c.loadbalancer(t, "web")
	group := c.group(t, "web", 8080)
	c.listener(t, lb.Identity, group.Identity, 80)
	status, _, body := c.call(t, "GET", "/_emulator/healthz", "")
	if status != http.StatusOK {
		t.Errorf("healthz = %d %s", status, body)
	}
	if _, _, body = c.call(t, "GET", "/_emulator/counters", ""); !strings.Contains(body, `"POST /v1/loadbalancers":1`) {
		t.Errorf("counters = %s", body)
	}
	if _, _, body = c.call(t, "GET", "/_emulator/writes", ""); !strings.Contains(body, lb.Identity) {
		t.Errorf("writes = %s", body)
	}
	var state emulator.State
	_, _, body = c.call(t, "GET", "/_emulator/state", "")
	if err := json.Unmarshal([]byte(body), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.LoadBalancers) != 1 || state.LoadBalancers[0].Listeners[0].Port != 80 ||
		len(state.LoadBalancers[0].Addresses) != 1 {
		t.Errorf("state = %s, want one load balancer with an address and a listener on 80", body)
	}
	if status, _, _ = c.call(t, "POST", "/_emulator/counters/reset", ""); status != http.StatusNoContent ||
		len(c.Counters()) != 0 {
		t.Errorf("counters/reset = %d, leaving %v", status, c.Counters())
	}
}
