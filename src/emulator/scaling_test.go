package emulator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// town is a cloud with n machines, n load balancers, and as many target groups,
// each with ten machines.
func town(t *testing.T, n int) *emulator.Emulator {
	t.Helper()
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, e, n)
	return e
}

// bare is a cloud whose answers are not compared with the OpenAPI document, for tests that count allocations.
func bare(tb testing.TB) *emulator.Emulator {
	tb.Helper()
	e, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// fill makes n machines, n load balancers, and as many target groups, each with ten machines.
func fill(t *testing.T, e *emulator.Emulator, n int) {
	t.Helper()
	machines, err := e.AddMachines(n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		var targets []string
		for j := range 10 {
			targets = append(targets, fmt.Sprintf(`{"serverIdentity":%q}`, machines[(i+j)%n]))
		}
		name := fmt.Sprintf("g-%d", i)
		post(t, e, "/v1/loadbalancer-target-groups",
			fmt.Sprintf(`{"name":%q,"vpc":"emulator","targetPort":80,"protocol":"tcp"}`, name))
		post(t, e, "/v1/loadbalancer-target-groups/"+name+"/attachments",
			`{"attachments":[`+strings.Join(targets, ",")+`]}`)
		writes := e.Writes()
		post(t, e, "/v1/loadbalancers", fmt.Sprintf(`{"name":"lb-%d","subnet":"emulator","listeners":[{"name":"l","port":80,"protocol":"tcp","targetGroup":%q}]}`,
			i, writes[len(writes)-1].Identity))
	}
}

func post(t *testing.T, h http.Handler, path, body string) {
	t.Helper()
	if answer := serve(h, apiRequest(t, "", "POST", path, body)); answer.Code >= 300 {
		t.Fatalf("POST %s = %d %s", path, answer.Code, answer.Body)
	}
}

// null drops what is written to it.
type null struct{ header http.Header }

func (n null) Header() http.Header             { return n.header }
func (null) WriteHeader(int)                   {}
func (null) Write(content []byte) (int, error) { return len(content), nil }

// The cost of lists is a few allocations per item: nested objects cost nothing.
// (Time is not asserted; see BenchmarkLargeCloud.)
func TestListsAreLinear(t *testing.T) {
	const few, many = 20, 200
	small, large := bare(t), bare(t)
	fill(t, small, few)
	fill(t, large, many)
	for path, perItem := range map[string]float64{
		"/v1/machines": 8, "/v1/loadbalancers": 12, "/v1/loadbalancer-target-groups": 20,
		"/v1/machines?vpc=emulator": 12,
	} {
		cost := func(e *emulator.Emulator) float64 {
			request := apiRequest(t, "", "GET", path, "")
			return testing.AllocsPerRun(5, func() { e.ServeHTTP(null{http.Header{}}, request) })
		}
		if extra := (cost(large) - cost(small)) / (many - few); extra > perItem {
			t.Errorf("GET %s: %.1f allocations per item, want at most %.0f", path, extra, perItem)
		}
	}
}

// What lists share while they are made must not change what they say.
func TestListsSayWhatSingleReadsSay(t *testing.T) {
	e := town(t, 20)
	post(t, e, "/v1/projects", `{"name":"p"}`)
	post(t, e, "/v1/tfs", `{"name":"f","size":1,"cloudRegionIdentity":"nl-01","vpcIdentity":"emulator","subnetIdentity":"emulator"}`)
	for _, path := range []string{
		"/v1/regions", "/v1/vpcs", "/v1/subnets", "/v1/machine-types", "/v1/images", "/v1/machines",
		"/v1/loadbalancers",
		"/v1/loadbalancers/lb-3/listeners", "/v1/loadbalancer-target-groups", "/v1/projects", "/v1/tfs", "/v1/quotas",
	} {
		var items []json.RawMessage
		if err := json.Unmarshal(serve(e, apiRequest(t, "", "GET", path, "")).Body.Bytes(), &items); err != nil ||
			len(items) == 0 {
			t.Fatalf("GET %s: %d items, %v", path, len(items), err)
		}
		for _, item := range items {
			var named struct{ Identity, Name string }
			if err := json.Unmarshal(item, &named); err != nil {
				t.Fatal(err)
			}
			ref := named.Identity
			if ref == "" {
				ref = named.Name
			}
			if one := strings.TrimSpace(serve(e, apiRequest(t, "", "GET", path+"/"+ref, "")).Body.String()); one !=
				string(item) {
				t.Fatalf("GET %s/%s: %s, in the list: %s", path, ref, one, item)
			}
		}
	}
}

// A write is seen by the next read, also in what other objects nest.
func TestNestedObjectsAreFresh(t *testing.T) {
	e := town(t, 5)
	for i := range 5 {
		list := serve(e, apiRequest(t, "", "GET", "/v1/machines", "")).Body.String()
		want := fmt.Sprintf(`"v4usingIPs":%d,`, 5+i)
		if strings.Count(list, want) != 5+i {
			t.Errorf("after %d writes, not all machines say %s", i, want)
		}
		post(t, e, "/v1/machines", fmt.Sprintf(`{"name":"new-%d","subnet":"emulator","machineType":"pgp-small"}`, i))
	}
}

// Lists are encoded while others write.
func TestListsDuringWrites(t *testing.T) {
	e, rounds := town(t, 20), tier.Pick(10, 20)
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for j := range rounds {
				name := fmt.Sprintf("m-%d-%d", i, j)
				post(t, e, "/v1/machines",
					fmt.Sprintf(`{"name":%q,"subnet":"emulator","machineType":"pgp-small","labels":{"a":"b"}}`, name))
				serve(e,
					apiRequest(t, "", "PUT", "/v1/machines/"+name, fmt.Sprintf(`{"name":%q,"labels":{"a":"c"}}`, name)))
				serve(e, apiRequest(t, "", "PUT", fmt.Sprintf("/v1/loadbalancer-target-groups/g-%d", j),
					fmt.Sprintf(`{"name":"g-%d","targetPort":81,"protocol":"tcp"}`, j)))
				serve(e, apiRequest(t, "", "DELETE", "/v1/machines/"+name, ""))
			}
		})
	}
	for _, path := range []string{"/v1/machines", "/v1/loadbalancers", "/v1/loadbalancer-target-groups", "/v1/quotas"} {
		running.Go(func() {
			for range rounds {
				if answer := serve(e, apiRequest(t, "", "GET", path, "")); !json.Valid(answer.Body.Bytes()) {
					t.Errorf("GET %s: not JSON", path)
				}
			}
		})
	}
	running.Wait()
}
