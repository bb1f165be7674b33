package emulator_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/page"
)

// full is a cloud with an object of every kind that an overview describes.
func full(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	vm, group, lb := c.machine(t, "worker-1"), c.group(t, "web", 8080), c.loadbalancer(t, "shop")
	c.listener(t, lb.Identity, group.Identity, 80)
	for _, one := range []struct{ method, path, body string }{
		{"POST", "/v1/loadbalancer-target-groups/" + group.Identity + "/attachments",
			`{"attachments": [{"serverIdentity": "` + vm + `"}]}`},
		{"PUT", "/v1/loadbalancer-target-groups/" + group.Identity, `{"name": "web",
			"targetPort": 8080, "protocol": "tcp",
			"healthCheck": {"protocol": "tcp", "port": 8080, "periodSeconds": 5, "timeoutSeconds": 3,
			"unhealthyThreshold": 2,
			"healthyThreshold": 1}}`},
		{"POST", "/v1/route-tables", `{"name": "pods", "vpcIdentity": "emulator"}`},
		{"POST", "/v1/route-tables/pods/routes",
			`{"destinationCidrBlock": "10.244.0.0/24", "gatewayAddress": "10.0.0.2"}`},
		{"POST", "/v1/volumes",
			`{"name": "data", "size": 10, "cloudRegionIdentity": "nl-01", "volumeTypeIdentity": "block"}`},
		{"POST", "/v1/volumes/data/attach",
			`{"resourceType": "cloud_virtual_machine", "resourceIdentity": "` + vm + `"}`},
		{"POST", "/v1/reserved-ips", `{"name": "ingress", "region": "nl-01"}`},
	} {
		if status, _, body := c.call(t, one.method, one.path, one.body); status >= 300 {
			t.Fatalf("%s %s = %d %s", one.method, one.path, status, body)
		}
	}
	if _, err := c.Inject(fault.Rule{Effect: fault.Effect{Kind: fault.Latency, Delay: time.Nanosecond}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// missing are the fields of a value, and of the first item of each list in it, that are empty.
func missing(path string, v reflect.Value) (fields []string) {
	if list := v.Kind() == reflect.Slice; list && v.Len() > 0 {
		return missing(path, v.Index(0))
	} else if list || v.IsZero() {
		return []string{path}
	}
	if v.Kind() == reflect.Struct {
		for field, value := range v.Fields() {
			fields = append(fields, missing(path+"."+field.Name, value)...)
		}
	}
	return fields
}

func TestOverviewIsComplete(t *testing.T) {
	c := full(t)
	status, _, body := c.call(t, "GET", "/_emulator/overview", "")
	var got emulator.Overview
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil || status != http.StatusOK {
		t.Fatalf("overview = %d %s: %v", status, body, err)
	}
	// The default route table is the first, and has no routes.
	tables := got.VPCs[0].RouteTables
	if len(tables) != 2 || !tables[0].Default || len(tables[1].Routes) != 1 ||
		tables[1].Routes[0].Target != "10.0.0.2" {
		t.Errorf("the route tables are %+v", tables)
	}
	got.VPCs[0].RouteTables = tables[1:]
	got.Faults = nil // it is a type of its own, with a test of its own
	if got := missing("overview", reflect.ValueOf(got)); !reflect.DeepEqual(got, []string{
		"overview.VPCs.RouteTables.Default", "overview.LoadBalancers.Internal",
		"overview.LoadBalancers.Listeners.Healthy", "overview.LoadBalancers.Listeners.Unhealthy",
		"overview.LoadBalancers.Listeners.Problem", "overview.LoadBalancers.Listeners.Counters",
		"overview.TargetGroups.Policy", "overview.ReservedIPs.AttachedTo", "overview.Faults", "overview.Network",
	}) {
		t.Errorf("without a data plane, these are empty: %q\n%s", got, body)
	}
}

func TestOverviewOfNothing(t *testing.T) {
	e, err := emulator.NewDescribed(t, emulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	body := serve(e, newRequest(t, "GET", "/_emulator/overview", "")).Body.String()
	if strings.Contains(body, "null") {
		t.Errorf("lists are null: %s", body)
	}
}

func TestLoadBalancerAlone(t *testing.T) {
	c := full(t)
	for _, ref := range []string{"shop", c.State().LoadBalancers[0].Identity} {
		status, _, body := c.call(t, "GET", "/_emulator/loadbalancers/"+ref, "")
		if status != http.StatusOK || !strings.Contains(body, `"health":"unchecked"`) {
			t.Errorf("load balancer %s = %d %s, want its targets", ref, status, body)
		}
	}
	if status, _, body := c.call(t, "GET", "/_emulator/loadbalancers/none", ""); status != http.StatusNotFound {
		t.Errorf("a load balancer that does not exist = %d %s", status, body)
	}
}

func TestLastWrites(t *testing.T) {
	c := newCloud(t)
	c.group(t, "first", 80)
	c.loadbalancer(t, "second")
	for query, want := range map[string]int{"": 2, "?last=1": 1, "?last=5": 2, "?last=0": 0} {
		_, _, body := c.call(t, "GET", "/_emulator/writes"+query, "")
		var writes []emulator.Write
		if err := json.Unmarshal([]byte(body), &writes); err != nil || len(writes) != want {
			t.Errorf("%q: %d writes, want %d (%v)", query, len(writes), want, err)
		}
		if want == 1 && writes[0].Operation != "POST /v1/loadbalancers" {
			t.Errorf("the last write is %+v", writes[0])
		}
	}
	if status, _, body := c.call(t, "GET", "/_emulator/writes?last=x", ""); status != http.StatusBadRequest {
		t.Errorf("last=x: %d %s", status, body)
	}
}

// events reads the stream of events: those of a name, decoded, until it ends.
func (c *cloud) events(t *testing.T, name string) <-chan event.Call {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/_emulator/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, found := make(chan error), make(chan event.Call, 100)
	go func() {
		defer close(found)
		answer, err := http.DefaultClient.Do(request)
		begun <- err
		if err != nil {
			return
		}
		defer answer.Body.Close()
		decode(answer.Body, name, found)
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	return found
}

// decode decodes the events of a name. What is not a call leaves it empty.
func decode(stream io.Reader, name string, into chan<- event.Call) {
	matching := false
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData && matching {
			var call event.Call
			_ = json.Unmarshal([]byte(data), &call)
			into <- call
		}
		matching = lines.Text() == "event: "+name
	}
}

func TestCallsAreStreamed(t *testing.T) {
	c := newCloud(t)
	calls := c.events(t, "call")
	for _, rule := range []fault.Rule{
		{Operation: "GET /v1/vpcs", Effect: fault.Effect{Kind: fault.Refuse, Status: 503}},
		{Operation: "GET /v1/subnets", Effect: fault.Effect{Kind: fault.Drop}},
		{Operation: "GET /v1/images", Effect: fault.Effect{Kind: fault.Latency, Delay: time.Nanosecond}},
	} {
		if _, err := c.Inject(rule); err != nil {
			t.Fatal(err)
		}
	}
	const who = "personal-access-token"
	for _, want := range []event.Call{
		{Method: "GET", Path: "/v1/machines/none", Operation: "GET /v1/machines/{id}", Subject: who, Status: 404},
		{Method: "POST", Path: "/v1/projects", Operation: "POST /v1/projects", Subject: who, Status: 201},
		{Method: "GET", Path: "/v1/vpcs", Operation: "GET /v1/vpcs", Status: 503, Fault: fault.Refuse},
		{Method: "DELETE", Path: "/v1/dragons", Operation: "unknown", Status: 501},
		{Method: "GET", Path: "/v1/images", Operation: "GET /v1/images", Subject: who, Status: 200,
			Fault: fault.Latency},
		{Method: "HEAD", Path: "/v1/subnets", Operation: "GET /v1/subnets", Subject: who, Fault: fault.Drop},
	} {
		response, err := http.DefaultClient.Do(apiRequest(t, c.url, want.Method, want.Path, `{"name": "shop"}`))
		if dropped := err != nil; dropped != (want.Status == 0) {
			t.Fatalf("%s %s: %v", want.Method, want.Path, err)
		}
		if err == nil {
			_ = response.Body.Close()
		}
		got := <-calls
		if got.Seconds <= 0 || time.Since(got.Time) > time.Minute {
			t.Errorf("%s %s took %v seconds at %v", got.Method, got.Path, got.Seconds, got.Time)
		}
		if got.Time, got.Seconds = want.Time, 0; got != want {
			t.Errorf("the call is %+v, want %+v", got, want)
		}
	}
}

// TestChangesAreStreamed checks that every way to change the cloud is announced, and that the overview is not older.
func TestChangesAreStreamed(t *testing.T) {
	c := newCloud(t)
	changes := c.events(t, "change")
	<-changes
	for name, change := range map[string]func() error{
		"API": func() error {
			_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a",
				Subnet: emulator.DefaultSubnet})
			return err
		},
		"Go": func() error { _, err := c.AddMachine(emulator.MachineSpec{Name: "a"}); return err },
		"fault": func() error {
			_, err := c.Inject(fault.Rule{Operation: "GET /v1/vpcs", Effect: fault.Effect{Kind: fault.Hang}})
			return err
		},
		"end":   func() error { c.ClearFaults(); return nil },
		"quota": func() error { return c.SetQuota("", "machines", 10) },
	} {
		before := c.Overview().Revision
		if err := change(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changes:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the change is not announced", name)
		}
		if after := c.Overview().Revision; after <= before {
			t.Errorf("%s: the revision was %d, and is %d", name, before, after)
		}
	}
}

func TestEventsEnd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	// A client that cannot stream gets what there is, until the emulator ends.
	ended := make(chan int)
	go func() { ended <- serve(e, newRequest(t, "GET", "/_emulator/events", "")).Code }()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != http.StatusOK {
		t.Errorf("the stream ends with status %d", got)
	}
}

func TestOtherSitesMayNotWrite(t *testing.T) {
	c := newCloud(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(c.url, "http://"), ":")
	named, evil := "localhost:"+port, "evil.example:"+port
	for name, tt := range map[string]struct {
		method, path, host, site, origin string
		want                             int
	}{
		"no browser":                {"POST", "/_emulator/faults", "", "", "", 201},
		"the page":                  {"POST", "/_emulator/faults", "", "same-origin", c.url, 201},
		"the page by name":          {"POST", "/_emulator/faults", named, "", "http://" + named, 201},
		"another site":              {"POST", "/_emulator/faults", "", "cross-site", "https://evil.example", 403},
		"another port":              {"POST", "/_emulator/faults", "", "same-site", "http://127.0.0.1:1", 403},
		"an old browser":            {"POST", "/_emulator/faults", "", "", "https://evil.example", 403},
		"deletion":                  {"DELETE", "/_emulator/faults", "", "cross-site", "https://evil.example", 403},
		"a doubled slash":           {"DELETE", "//_emulator//faults", "", "cross-site", "https://evil.example", 403},
		"a name for this machine":   {"POST", "/_emulator/faults", evil, "", "http://" + evil, 403},
		"reading from another site": {"GET", "/_emulator/faults", "", "cross-site", "https://evil.example", 200},
		"a link to the page":        {"GET", "/_emulator/", "", "cross-site", "", 200},
		"the API needs credentials": {"POST", "/v1/projects", "", "cross-site", "https://evil.example", 401},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, c.url+tt.path,
				strings.NewReader(`{"effect": {"kind": "reset"}, "operation": "GET /v1/tfs"}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Host = tt.host
			for header, value := range map[string]string{"Sec-Fetch-Site": tt.site, "Origin": tt.origin} {
				if value != "" {
					request.Header.Set(header, value)
				}
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != tt.want || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("status %d, headers %v; want %d", answer.StatusCode, answer.Header, tt.want)
			}
		})
	}
}

// A web site can lead its name to an emulator behind a port of Docker, too, where the address is no loopback address.
// Its page is then of the same origin as the admin API.
func TestPagesOfNamesThatWereLedHereAreRefused(t *testing.T) {
	e := newEmulator(t)
	const evil, service = "evil.example:7443", "emulator:8080"
	for name, tt := range map[string]struct {
		method, path, host, header, value string
		want                              int
	}{
		"a fault":               {"DELETE", "/_emulator/faults", evil, "Origin", "http://" + evil, 403},
		"a token":               {"POST", "/_emulator/subject-tokens", evil, "Origin", "http://" + evil, 403},
		"with TLS":              {"GET", "/_emulator/state", evil, "Sec-Fetch-Site", "same-origin", 403},
		"reading":               {"GET", "/_emulator/state", evil, "Accept-Language", "en", 403},
		"reading without any":   {"GET", "/_emulator/writes", evil, "Accept-Language", "", 403},
		"the page":              {"GET", "/_emulator/", evil, "Accept-Language", "en", 403},
		"the API":               {"GET", "/v1/machines", evil, "Accept-Language", "en", 403},
		"a write to the API":    {"POST", "/api/v1/projects", evil, "Origin", "http://" + evil, 403},
		"an API token":          {"POST", "/oidc/token", evil, "Sec-Fetch-Site", "same-origin", 403},
		"the document":          {"GET", "/openapi.json", evil, "Accept-Language", "en", 403},
		"the API for programs":  {"GET", "/v1/machines", evil, "", "", 200},
		"the API at an address": {"GET", "/v1/machines", "192.0.2.1:7443", "Accept-Language", "en", 200},
		"a program":             {"POST", "/_emulator/subject-tokens", "host.docker.internal:7443", "", "", 201},
		"a program that reads":  {"GET", "/_emulator/state", "docker.example.com:7443", "", "", 200},
		"the page of a service": {"POST", "/_emulator/subject-tokens", service, "Origin", "http://" + service,
			201},
		"the page at an address": {"GET", "/_emulator/state", "192.0.2.1:7443", "Accept-Language", "en", 200},
	} {
		t.Run(name, func(t *testing.T) {
			request := newRequest(t, tt.method, tt.path, "")
			request.Host = tt.host
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			if tt.header != "" {
				request.Header.Set(tt.header, tt.value)
			}
			inContainer := context.WithValue(t.Context(), http.LocalAddrContextKey,
				&net.TCPAddr{IP: net.IPv4(172, 17, 0, 2), Port: 8080})
			if got := serve(e, request.WithContext(inContainer)); got.Code != tt.want {
				t.Errorf("status %d %s, want %d", got.Code, got.Body, tt.want)
			}
		})
	}
}

// The seed has secrets, and reading it needs no credentials: no web site may lead its name to an emulator to read them.
func TestSeedIsOnlyReadAtNamesThatNoSiteHas(t *testing.T) {
	c := newCloud(t)
	for host, want := range map[string]int{"": 200, "192.0.2.1:7443": 200, "[2001:db8::1]:7443": 200, "localhost": 200,
		"a.localhost:7443": 200, "emulator:7443": 200, "evil.example": 403, "evil.example:7443": 403, "evil.": 403,
		"localhost.evil.example": 403} {
		request := newRequest(t, "GET", c.url+"/_emulator/seed", "")
		request.RequestURI, request.Host = "", host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("host %q: status %d, want %d", host, answer.StatusCode, want)
		}
	}
}

func TestPageIsServed(t *testing.T) {
	c := newCloud(t)
	for path, want := range map[string]string{"/_emulator": "<!DOCTYPE html>", "/_emulator/": "<!DOCTYPE html>",
		page.Folder + "page.js": "'use strict'"} {
		status, _, body := c.call(t, "GET", path, "")
		if status != http.StatusOK || !strings.HasPrefix(body, want) {
			t.Errorf("%s = %d %.40s", path, status, body)
		}
	}
	if n := len(c.Counters()); n > 0 {
		t.Errorf("%d operations were counted for the page", n)
	}
}

func BenchmarkOverview(b *testing.B) {
	e := bare(b)
	if _, err := e.AddMachines(5000); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got := len(e.Overview().Machines); got != 5000 {
			b.Fatal(fmt.Errorf("%d machines", got))
		}
	}
}
