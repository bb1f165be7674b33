package emulator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// past is a cloud in virtual time.
type past struct {
	*testing.T
	*emulator.Emulator
}

func withPast(t *testing.T, cfg emulator.Config, test func(p past)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Seed = emulator.DefaultSeed()
		e, err := emulator.NewDescribed(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		test(past{t, e})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// send is a request without a connection.
func (p past) send(method, path, body string) (int, string) {
	p.Helper()
	got := ask(p.T, p.Transport(), "http://cloud.test", method, path, body)
	if got.err != nil || got.reading != nil {
		p.Fatalf("%s %s: %v, %v", method, path, got.err, got.reading)
	}
	return got.status, got.body
}

// change is a write that must succeed.
func (p past) change(method, path, body string) {
	p.Helper()
	if status, answer := p.send(method, path, body); status >= 300 {
		p.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
}

// names are those of the load balancers that a list has, with their status.
func (p past) names(query string) string {
	p.Helper()
	var items []struct{ Name, Status string }
	if status, body := p.send("GET", "/v1/loadbalancers"+query, ""); status != 200 ||
		json.Unmarshal([]byte(body), &items) != nil {
		p.Fatalf("list: %d %s", status, body)
	}
	var out []string
	for _, item := range items {
		out = append(out, item.Name+" "+item.Status)
	}
	return strings.Join(out, ", ")
}

func (p past) inject(rule fault.Rule) {
	p.Helper()
	if _, err := p.Inject(rule); err != nil {
		p.Fatal(err)
	}
}

func stale(by time.Duration) fault.Rule {
	return fault.Rule{Effect: fault.Effect{Kind: fault.Stale, Delay: by}}
}

func TestStaleReads(t *testing.T) {
	delays := emulator.Delays{LoadbalancerCreate: 3 * time.Second, LoadbalancerDelete: 2 * time.Second}
	withPast(t, emulator.Config{Delays: delays}, func(p past) {
		start := time.Now()
		// at does something at a second, and then looks at a list.
		at := func(second int, do func(), query, want string) {
			p.Helper()
			<-time.After(time.Until(start.Add(time.Duration(second) * time.Second)))
			if do != nil {
				do()
			}
			if got := p.names(query); got != want {
				p.Errorf("at %ds, list%s = %q, want %q", second, query, got, want)
			}
		}
		p.change("POST", "/v1/loadbalancers", `{"name":"old","subnet":"emulator"}`)
		p.inject(stale(10 * time.Second))
		// The oldest that is known is what was there when the rule was added.
		at(5, nil, "", "old creating")
		at(6, func() { p.change("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","labels":{"x":"1"}}`) },
			"", "old creating")
		if status, _ := p.send("GET", "/v1/loadbalancers/a", ""); status != 404 {
			p.Errorf("a new object = %d, want 404", status)
		}
		at(14, nil, "", "old ready")
		at(16, nil, "", "old ready, a creating")
		at(17, func() { p.change("PUT", "/v1/loadbalancers/a", `{"name":"b","labels":{"x":"2"}}`) },
			"?matchLabels[x]=1", "a creating")
		at(18, nil, "?matchLabels[x]=2", "")
		at(18, nil, "?name=b", "")
		at(20, func() { p.change("DELETE", "/v1/loadbalancers/a", "") }, "?status=ready", "old ready, a ready")
		at(27, nil, "?matchLabels[x]=2", "b ready")
		at(30, nil, "", "old ready, b deleting")
		at(31, nil, "?status=deleting", "b deleting")
		at(32, nil, "", "old ready")
		p.ClearFaults()
		at(33, func() { p.change("DELETE", "/v1/loadbalancers/old", "") }, "", "old deleting")
	})
}

func TestStaleIsAboutEverything(t *testing.T) {
	withPast(t, emulator.Config{}, func(p past) {
		p.inject(stale(time.Minute))
		machine, err := p.AddMachine(emulator.MachineSpec{Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		p.change("POST", "/v1/loadbalancer-target-groups",
			`{"name":"tg","vpc":"emulator","targetPort":80,"protocol":"tcp"}`)
		<-time.After(time.Minute - 1)
		if _, body := p.send("GET", "/v1/machines", ""); !strings.Contains(body, machine) {
			t.Errorf("a machine that was added without the API is not in %s", body)
		}
		<-time.After(1)
		p.change("POST", "/v1/loadbalancer-target-groups/tg/attach", fmt.Sprintf(`{"serverIdentity":%q}`, machine))
		if err := p.StopMachine("one"); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/v1/loadbalancer-target-groups": `Attachments":[]`, "/v1/loadbalancer-target-groups/tg": `Attachments":[]`,
			"/v1/machines": `"state":"running"`, "/v1/machines?status=running": machine, "/v1/regions": "nl-01",
			"/v1/me/organisation-memberships": emulator.DefaultOrganisation, "/v1/subnets": emulator.DefaultSubnet,
		} {
			if _, body := p.send("GET", path, ""); !strings.Contains(body, want) {
				t.Errorf("%s: %s, want %s", path, body, want)
			}
		}
		<-time.After(time.Minute)
		if _, body := p.send("GET", "/v1/loadbalancer-target-groups/tg", ""); !strings.Contains(body, machine) ||
			!strings.Contains(body, "stopped") {
			t.Errorf("a minute later: %s, want the attachment", body)
		}
	})
}

// Whatever happens, a stale list is the fresh one of some time ago.
func TestStaleListsAreOldLists(t *testing.T) {
	const lag = 7
	delays := emulator.Delays{LoadbalancerCreate: 2500 * time.Millisecond, LoadbalancerDelete: 1500 * time.Millisecond,
		LoadbalancerLinger: time.Second}
	for seed := range tier.Pick[uint64](2, 5) {
		withPast(t, emulator.Config{Delays: delays}, func(p past) {
			random := rand.New(rand.NewPCG(seed, 0))
			p.inject(stale(lag * time.Second))
			p.inject(fault.Rule{Probability: 0.5, Seed: seed, Effect: fault.Effect{Kind: fault.DeleteLag,
				Delay: 2 * time.Second}})
			var fresh []string
			for second := range 80 {
				name := fmt.Sprintf("lb-%d", random.IntN(4))
				switch random.IntN(6) {
				case 0, 1:
					p.send("POST", "/v1/loadbalancers", fmt.Sprintf(`{"name":%q,"subnet":"emulator"}`, name))
				case 2:
					p.send("DELETE", "/v1/loadbalancers/"+name, "")
				case 3:
					p.send("PUT", "/v1/loadbalancers/"+name, fmt.Sprintf(`{"name":"renamed-%d"}`, second))
				}
				fresh = append(fresh, summary(p.State()))
				if got, want := p.names(""), fresh[max(0, second-lag)]; got != want && second >= lag {
					p.Errorf("seed %d, at %ds: %q, want %q", seed, second, got, want)
				}
				<-time.After(time.Second)
			}
			if slices.Max(fresh) == "" {
				p.Error("nothing happened")
			}
		})
	}
}

// summary is what names says about a fresh list.
func summary(state emulator.State) string {
	var out []string
	for _, lb := range state.LoadBalancers {
		out = append(out, lb.Name+" "+lb.Status)
	}
	return strings.Join(out, ", ")
}

// What belongs to a project is found there, in the past and later.
func TestHistoryOfProjects(t *testing.T) {
	withPast(t, emulator.Config{}, func(p past) {
		p.change("POST", "/v1/projects", `{"name":"shop"}`)
		p.change("POST", "/v1/cloudinits?project=shop", `{"name":"old","content":"c"}`)
		p.inject(stale(time.Minute))
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.DeleteLag, Delay: time.Minute}})
		expect := func(path, want string) {
			p.Helper()
			if _, body := p.send("GET", path, ""); !strings.Contains(body, want) {
				p.Errorf("%s: %s, want %s", path, body, want)
			}
		}
		p.change("POST", "/v1/cloudinits?project=shop", `{"name":"new","content":"c"}`)
		p.change("POST", "/v1/projects", `{"name":"later"}`)
		p.change("DELETE", "/v1/cloudinits/old?project=shop", "")
		for path, want := range map[string]string{
			"/v1/cloudinits/old?project=shop": `"old"`, "/v1/cloudinits/new?project=shop": "not found",
			"/v1/cloudinits/old": "not found", "/v1/cloudinits?project=later": "does not exist",
			"/v1/projects/later": "not found",
		} {
			expect(path, want)
		}
		<-time.After(time.Minute)
		expect("/v1/cloudinits/new?project=shop", `"new"`)
		expect("/v1/cloudinits/old?project=shop", `"old"`)
		<-time.After(time.Minute)
		expect("/v1/cloudinits/old?project=shop", "not found")
	})
}

func TestStaleQuotas(t *testing.T) {
	withPast(t, emulator.Config{}, func(p past) {
		p.inject(stale(time.Minute))
		if err := p.SetQuota("", "machines", 3); err != nil {
			t.Fatal(err)
		}
		if _, body := p.send("GET", "/v1/quotas/machines", ""); strings.Contains(body, `"maxUsage":3,`) {
			t.Errorf("at once: %s, want the limit before", body)
		}
		<-time.After(time.Minute)
		if _, body := p.send("GET", "/v1/quotas/machines", ""); !strings.Contains(body, `"maxUsage":3,`) {
			t.Errorf("later: %s, want the new limit", body)
		}
	})
}

func TestDeleteLag(t *testing.T) {
	const groups = "/v1/loadbalancer-target-groups"
	withPast(t, emulator.Config{}, func(p past) {
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.DeleteLag, Delay: 10 * time.Second}})
		expect := func(when, path string, want int) {
			p.Helper()
			if status, body := p.send("GET", path, ""); status != want {
				p.Errorf("%s: %s = %d %s, want %d", when, path, status, body, want)
			}
		}
		create := func(name string) { p.change("POST", groups, groupNamed(name)) }
		create("one")
		create("two")
		if status, _ := p.send("DELETE", groups+"/none", ""); status != http.StatusNotFound {
			p.Errorf("deleting what is not there = %d, want 404", status)
		}
		p.change("DELETE", groups+"/one", "")
		expect("at once", groups+"/one", 200)
		<-time.After(5 * time.Second)
		p.change("DELETE", groups+"/one", "")
		p.change("DELETE", groups+"/two", "")
		<-time.After(5*time.Second - 1)
		expect("just before", groups+"/one", 200)
		<-time.After(1)
		expect("when due", groups+"/one", 404)
		expect("when due", groups+"/two", 200)
		// What takes the name of the deleted one must outlive its second deletion.
		create("three")
		p.ClearFaults()
		<-time.After(time.Hour)
		expect("an hour later", groups+"/two", 404)
		expect("an hour later", groups+"/three", 200)
	})
}

func groupNamed(name string) string {
	return fmt.Sprintf(`{"name":%q,"vpc":"emulator","targetPort":80,"protocol":"tcp"}`, name)
}

// A deletion that became impossible meanwhile does not happen, and one that is
// impossible from the start is refused as always.
func TestDeleteLagOfWhatIsInUse(t *testing.T) {
	const groups, listeners = "/v1/loadbalancer-target-groups", "/v1/loadbalancers/lb/listeners"
	withPast(t, emulator.Config{}, func(p past) {
		p.change("POST", "/v1/loadbalancers", `{"name":"lb","subnet":"emulator"}`)
		_, body := p.send("POST", groups, groupNamed("tg"))
		var group struct{ Identity string }
		if err := json.Unmarshal([]byte(body), &group); err != nil {
			t.Fatal(err)
		}
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.DeleteLag, Delay: time.Minute}})
		p.change("DELETE", groups+"/tg", "")
		p.change("POST", listeners,
			fmt.Sprintf(`{"name":"l","port":80,"protocol":"tcp","targetGroup":%q}`, group.Identity))
		if status, _ := p.send("DELETE", groups+"/tg", ""); status != http.StatusConflict {
			t.Errorf("deleting a group in use = %d, want 409", status)
		}
		<-time.After(time.Minute)
		if status, _ := p.send("GET", groups+"/tg", ""); status != 200 {
			t.Errorf("the group in use = %d, want it to stay", status)
		}
	})
}

// The data plane is called without any further request.
func TestDeleteLagOfTraffic(t *testing.T) {
	plane := &recorder{}
	withPast(t, emulator.Config{DataPlane: plane}, func(p past) {
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.DeleteLag, Delay: time.Minute}})
		for _, name := range []string{"one", "two"} {
			p.change("POST", "/v1/loadbalancers", fmt.Sprintf(`{"name":%q,"subnet":"emulator"}`, name))
			p.change("DELETE", "/v1/loadbalancers/"+name, "")
			<-time.After(time.Second)
		}
		plane.take()
		<-time.After(58 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"remove"}, plane.take()); diff != "" {
			t.Errorf("after a minute (-want +got):\n%s", diff)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"remove"}, plane.take()); diff != "" {
			t.Errorf("a second later (-want +got):\n%s", diff)
		}
	})
}

func TestLatencyInVirtualTime(t *testing.T) {
	withPast(t, emulator.Config{}, func(p past) {
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.Latency, Delay: 500 * time.Millisecond}})
		start := time.Now()
		p.send("GET", "/v1/vpcs", "")
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("the call took %s, want 500ms", took)
		}
		p.inject(fault.Rule{Effect: fault.Effect{Kind: fault.Hang}})
		if got := ask(p.T, p.Transport(), "http://cloud.test", "GET", "/v1/vpcs", ""); got.err == nil ||
			time.Since(start) != 1500*time.Millisecond {
			t.Errorf("a call that hangs: %+v after %s, want its client's timeout", got, time.Since(start))
		}
	})
}
