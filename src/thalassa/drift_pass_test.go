package thalassa

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// TestPassSharesLists on a real clock, on which no two looks are at the same moment: one list of each kind, however
// many Services and nodes there are.
func TestPassSharesLists(t *testing.T) {
	l := newLab(t, emulator.Config{}).overHTTP()
	nodes := l.nodes("a", "b", "c")
	for _, name := range []string{"one", "two", "three"} {
		if _, err := l.ensure(service(name, 80), nodes); err != nil {
			t.Fatal(err)
		}
	}
	l.emulator.ResetCounters()
	if err := l.cloud.balancers.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		found, err := l.cloud.balancers.Diff(t.Context(), service(name, 80),
			cloud.ChooseTargets(nodes, identify), false)
		if err != nil || len(found.Plan) > 0 || len(found.Balancer.Status.Ingress) != 1 {
			t.Errorf("plan %q, status %v, error %v; want nothing but an address", found.Plan,
				found.Balancer.Status, err)
		}
	}
	for _, operation := range []string{"GET /v1/machines", "GET /v1/loadbalancers",
		"GET /v1/loadbalancer-target-groups"} {
		if got := l.emulator.Counters()[operation]; got != 1 {
			t.Errorf("%s: %d times in one pass, want once", operation, got)
		}
	}
}

// TestNodeEventDoesNotHideDrift: the load balancer is gone when the nodes change, so there is nothing to give targets
// to.
func TestNodeEventDoesNotHideDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		cluster := l.watching(web)
		<-time.After(2 * time.Minute) // what was just created may be missing in lists
		l.removeByHand()
		if err := l.cloud.inventory.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.joins(cluster, "b"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * driftPeriod)
		if state := l.emulator.State().LoadBalancers; len(state) != 1 || len(state[0].Listeners[0].Targets) != 2 {
			t.Errorf("load balancers = %v, want one with both nodes", state)
		}
	})
}

// TestServingLoadBalancerFails: nothing differs from what the Service should have, but it does not serve any more.
func TestServingLoadBalancerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		l.watching(web)
		made := len(l.writes())
		if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, "failed"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * driftPeriod)
		if event := l.nextEvent(); !strings.HasPrefix(event, "Warning LoadBalancerFailed") {
			t.Errorf("event = %q, want one with %s", event, "LoadBalancerFailed")
		}
		if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, ""); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		if event := l.nextEvent(); event != "" {
			t.Errorf("it serves again; event %q", event)
		}
		if writes := l.writes(); len(writes) != made {
			t.Errorf("writes %v, want those of the creation only", writes)
		}
	})
}

// TestAddressChangesInTheCloud: the Service gets the new one, and its owner hears of it. A hostname is an address, too.
func TestAddressChangesInTheCloud(t *testing.T) {
	for _, hostname := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { addressChanges(t, hostname) })
	}
}

func addressChanges(t *testing.T, hostname bool) {
	t.Helper()
	l := newLab(t, emulator.Config{Switches: emulator.Switches{LoadbalancerHostnames: hostname}})
	good, old, next, moved := l.network, "", "203.0.113.99", atomic.Bool{}
	l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := good.RoundTrip(request)
		if err != nil || !moved.Load() {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		response.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(body), old, next)))
		return response, err
	})
	l.restart()
	web, nodes := service("web", 80), l.nodes("a")
	web.Status.LoadBalancer = *l.settle(web, nodes)
	if old = web.Status.LoadBalancer.Ingress[0].IP; hostname {
		old, next = web.Status.LoadBalancer.Ingress[0].Hostname, "moved.example"
	}
	cluster := l.watching(web)
	moved.Store(true)
	<-time.After(driftPeriod + time.Second)
	current, err := cluster.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if got := current.Status.LoadBalancer.Ingress; err != nil || len(got) != 1 ||
		!strings.Contains(got[0].IP+got[0].Hostname, next) {
		t.Errorf("status %v, error %v", current.Status.LoadBalancer, err)
	}
	if event := l.nextEvent(); !strings.HasPrefix(event, "Warning LoadBalancerRepaired") {
		t.Errorf("event = %q, want one with %s", event, "LoadBalancerRepaired")
	}
}

// TestNewServiceDoesNotWaitForAnotherList: the list of target groups that a check for drift reads takes long.
func TestNewServiceDoesNotWaitForAnotherList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good, reading := l.network, atomic.Bool{}
		l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && request.URL.Path == "/v1/loadbalancer-target-groups" {
				reading.Store(true)
				<-time.After(20 * time.Second)
				reading.Store(false)
			}
			return good.RoundTrip(request)
		})
		l.restart()
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		cluster := l.watching(web)
		<-time.After(time.Minute) // the first check has ended
		for !reading.Load() {
			<-time.After(time.Second)
		}
		services := cluster.CoreV1().Services("shop")
		if _, err := services.Create(t.Context(), service("new", 80), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		now, err := services.Get(t.Context(), "new", metav1.GetOptions{})
		if err != nil || len(now.Status.LoadBalancer.Ingress) == 0 || !reading.Load() {
			t.Errorf("status %v, error %v, the list is being read: %t; want an address before the list",
				now.Status.LoadBalancer, err, reading.Load())
		}
		<-time.After(time.Minute) // the list ends
	})
}

// TestGoneMachineCostsNoSecondList: the list of a pass is enough to see that a node's machine is still missing.
func TestGoneMachineCostsNoSecondList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.allNodes = append(l.nodes("a"), named("gone", providerid.Of("vm-gone")),
			named("late", providerid.Of(serverID("l"))))
		web, other := service("web", 80), service("other", 80)
		l.settle(web, l.allNodes)
		l.settle(other, l.allNodes)
		l.watching(web, other)
		l.emulator.ResetCounters()
		const passes = 12
		<-time.After(passes*driftPeriod + time.Second)
		const early = 5 // looks for machines that may only be late, after 5, 5, 10, 20, 40 … seconds
		if lists := l.emulator.Counters()["GET /v1/machines"]; lists < passes || lists > passes+early {
			t.Errorf("%d lists of all machines in %d passes", lists, passes)
		}

		// One that comes into being after all is a target from the next pass on.
		if _, err := l.emulator.AddMachine(emulator.MachineSpec{Name: "late", Identity: serverID("l"),
			Subnet: emulator.DefaultSubnet}); err != nil {
			t.Fatal(err)
		}
		<-time.After(driftPeriod)
		for _, group := range l.emulator.State().TargetGroups {
			if group.Labels[label.ServiceUID] == string(web.UID) && len(group.Machines) != 2 {
				t.Errorf("machines %v, want two", group.Machines)
			}
		}
	})
}

// TestHopelessLoadBalancerIsLookedAtEverMoreRarely: one that failed, or takes for ever, costs a list a minute in the
// long run, and is found to serve within a minute.
func TestHopelessLoadBalancerIsLookedAtEverMoreRarely(t *testing.T) {
	config := cloudconfig.Default().LoadBalancer
	for status, patient := range map[string]time.Duration{"failed": 0,
		"creating": seconds(config.CreationPollTimeout)} {
		t.Run(status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: time.Second}})
				web, nodes := service("web", 80), l.nodes("a")
				if _, err := l.ensure(web, nodes); err == nil {
					t.Fatal("it serves at once")
				}
				if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, status); err != nil {
					t.Fatal(err)
				}
				l.emulator.ResetCounters()
				done := make(chan error, 1)
				go func() { done <- attempt(t.Context(), l.process().ensuring(web, nodes)) }()
				<-time.After(patient + time.Hour)
				const doubling = 6 // 5, 5, 10, 20, 40 seconds, and a minute from then on
				const early = 5    // more than with the longest interval, in the first 20 seconds
				most := int(patient/config.PollInterval()) + early + doubling + int(time.Hour/time.Minute)
				lists := l.emulator.Counters()["GET /v1/loadbalancers"]
				if lists > most || lists < most-early-doubling {
					t.Errorf("%d lists, want about %d", lists, most)
				}
				if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, ""); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute + time.Second)
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("a minute after it serves nobody has seen it")
				}
			})
		})
	}
}
