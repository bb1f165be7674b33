package emulator_test

import (
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
	e, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		b.Fatal(err)
	}
	return bench{b, e}
}

func (b bench) do(method, path, body string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, "http://cloud.test"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if answer := serve(b.cloud, request); answer.Code >= 300 {
		b.Fatalf("%s %s = %d %s", method, path, answer.Code, answer.Body)
	}
}

// service creates what a Service with one port needs, with all machines.
func (b bench) service(i int, machines []string) {
	b.Helper()
	var targets []string
	for _, machine := range machines {
		targets = append(targets, fmt.Sprintf(`{"serverIdentity":%q}`, machine))
	}
	b.do("POST", "/v1/loadbalancer-target-groups", fmt.Sprintf(`{"name":"tg-%d","vpc":"emulator","targetPort":80,"protocol":"tcp"}`, i))
	writes := b.cloud.Writes()
	group := writes[len(writes)-1].Identity
	b.do("POST", "/v1/loadbalancer-target-groups/"+group+"/attachments", `{"attachments":[`+strings.Join(targets, ",")+`]}`)
	b.do("POST", "/v1/loadbalancers", fmt.Sprintf(`{"name":"lb-%d","subnet":"emulator","listeners":[{"name":"l","port":80,"protocol":"tcp","targetGroup":%q}]}`, i, group))
}

func BenchmarkListMachines(b *testing.B) {
	cloud := newBench(b)
	if _, err := cloud.cloud.AddMachines(10_000); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cloud.do("GET", "/v1/machines", "")
	}
}

// 100 Services on 1,000 machines.
func BenchmarkLists(b *testing.B) {
	cloud := newBench(b)
	machines, err := cloud.cloud.AddMachines(1000)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		cloud.service(i, machines)
	}
	for _, path := range []string{"/v1/loadbalancers", "/v1/loadbalancer-target-groups"} {
		b.Run(path[len("/v1/"):], func(b *testing.B) {
			for b.Loop() {
				cloud.do("GET", path, "")
			}
		})
	}
}

func BenchmarkReplaceAttachments(b *testing.B) {
	cloud := newBench(b)
	machines, err := cloud.cloud.AddMachines(1000)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		cloud.service(i, machines)
	}
}
