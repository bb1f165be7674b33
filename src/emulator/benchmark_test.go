package emulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// bench sends requests with the default credentials, without a network.
type bench struct {
	*testing.B
	cloud *emulator.Emulator
}

func newBench(b *testing.B) bench {
	b.Helper()
	e := bare(b)
	return bench{b, e}
}

func (b bench) do(method, path, body string) {
	b.Helper()
	b.send(&sink{header: http.Header{}}, method, path, body)
}

// create returns the identity of what a request made.
func (b bench) create(path, body string) string {
	b.Helper()
	var answer bytes.Buffer
	b.send(&sink{header: http.Header{}, copy: &answer}, "POST", path, body)
	var object struct{ Identity string }
	if err := json.Unmarshal(answer.Bytes(), &object); err != nil {
		b.Fatalf("POST %s: %v", path, err)
	}
	return object.Identity
}

func (b bench) send(into *sink, method, path, body string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, "http://cloud.test"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if b.cloud.ServeHTTP(into, request); into.status >= 300 {
		b.Fatalf("%s %s = %d", method, path, into.status)
	}
	b.SetBytes(into.size)
}

// sink is a response of which only the size counts.
type sink struct {
	header http.Header
	status int
	size   int64
	copy   *bytes.Buffer
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(content []byte) (int, error) {
	s.size += int64(len(content))
	if s.copy != nil {
		s.copy.Write(content)
	}
	return len(content), nil
}

// group creates a target group with targets.
func (b bench) group(i int, machines []string) string {
	b.Helper()
	var targets []string
	for _, machine := range machines {
		targets = append(targets, fmt.Sprintf(`{"serverIdentity":%q}`, machine))
	}
	group := b.create("/v1/loadbalancer-target-groups",
		fmt.Sprintf(`{"name":"tg-%d","vpc":"emulator","targetPort":80,"protocol":"tcp"}`, i))
	b.do("POST", "/v1/loadbalancer-target-groups/"+group+"/attachments",
		`{"attachments":[`+strings.Join(targets, ",")+`]}`)
	return group
}

// service creates what a Service with three ports needs.
func (b bench) service(i int, machines []string) {
	b.Helper()
	var listeners []string
	for port := range 3 {
		listeners = append(listeners, fmt.Sprintf(`{"name":"l","port":%d,"protocol":"tcp","targetGroup":%q}`, 80+port,
			b.group(3*i+port, machines)))
	}
	b.do("POST", "/v1/loadbalancers",
		fmt.Sprintf(`{"name":"lb-%d","subnet":"emulator","listeners":[%s]}`, i, strings.Join(listeners, ",")))
}

// largeCloud is the largest cloud that is promised to be served swiftly:
// 10,000 machines, and 2,000 load balancers with 3 listeners, each of which has
// a target group with 50 machines.
func largeCloud(b *testing.B) (cloud bench, machines []string) {
	b.Helper()
	cloud = newBench(b)
	machines, err := cloud.cloud.AddMachines(10_000)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		first := i * 50 % len(machines)
		cloud.service(i, machines[first:first+50])
	}
	return cloud, machines
}

func BenchmarkLargeCloud(b *testing.B) {
	cloud, machines := largeCloud(b)
	all := cloud.group(6000, machines)
	lb := cloud.create("/v1/loadbalancers", `{"name":"one","subnet":"emulator"}`)
	for _, request := range []struct{ name, method, path, body string }{
		{"machines", "GET", "/v1/machines", ""},
		{"loadbalancers", "GET", "/v1/loadbalancers", ""},
		{"target groups", "GET", "/v1/loadbalancer-target-groups", ""},
		{"filtered", "GET", "/v1/machines?name=machine-00001", ""},
		{"group of all", "GET", "/v1/loadbalancer-target-groups/" + all, ""},
		{"one machine", "GET", "/v1/machines/machine-05000", ""},
		{"one loadbalancer", "GET", "/v1/loadbalancers/lb-1000", ""},
		{"put loadbalancer", "PUT", "/v1/loadbalancers/" + lb, `{"name":"one"}`},
		{"put machine", "PUT", "/v1/machines/machine-05000", `{"name":"machine-05000"}`},
	} {
		b.Run(request.name, func(b *testing.B) {
			cloud := bench{b, cloud.cloud}
			for b.Loop() {
				cloud.do(request.method, request.path, request.body)
			}
		})
	}
	b.Run("create and delete group", func(b *testing.B) {
		cloud := bench{b, cloud.cloud}
		for b.Loop() {
			cloud.do("DELETE", "/v1/loadbalancer-target-groups/"+
				cloud.create("/v1/loadbalancer-target-groups",
					`{"name":"x","vpc":"emulator","targetPort":80,"protocol":"tcp"}`), "")
		}
	})
	b.Run("create and delete machine", func(b *testing.B) {
		cloud := bench{b, cloud.cloud}
		for b.Loop() {
			cloud.do("DELETE", "/v1/machines/"+
				cloud.create("/v1/machines", `{"name":"x","subnet":"emulator","machineType":"pgp-small"}`), "")
		}
	})
}
