package thalassa

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// balancer is the only load balancer in the cloud.
func (l *lab) balancer() iaas.VpcLoadbalancer {
	l.Helper()
	balancers, err := l.api().ListLoadbalancers(l.Context(), nil)
	if err != nil || len(balancers) != 1 {
		l.Fatalf("%d load balancers, error %v; want one", len(balancers), err)
	}
	return balancers[0]
}

func TestAdditionalLabels(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.config.AdditionalLabels = map[string]string{"team": "shop", label.Cluster: "somebody-else"}
	l.restart()
	web := service("web", 80)
	l.settle(web, l.nodes("a"))
	for what, labels := range map[string]iaas.Labels{"load balancer": l.balancer().Labels,
		"target group": l.group().Labels, "listener": l.balancer().LoadbalancerListeners[0].Labels} {
		if labels["team"] != "shop" || labels[label.Cluster] != "k8s-test" {
			t.Errorf("labels of the %s = %v; want the additional one, and ours not overridden", what, labels)
		}
	}
	// Changing them must not make the objects invisible, as it does with the existing CCM.
	l.config.AdditionalLabels = map[string]string{"team": "till"}
	l.restart()
	l.settle(web, l.nodes("b"))
	if got := l.balancer().Labels["team"]; got != "till" {
		t.Errorf("label team = %q, want the new one on the same load balancer", got)
	}
}

func TestServerThatIgnoresFilters(t *testing.T) {
	l := newLab(t, emulator.Config{Switches: emulator.Switches{IgnoredFilters: []string{"vpc", "matchLabels"}}})
	nodes, web := l.nodes("a"), service("web", 80)
	foreign := iaas.CreateLoadbalancer{Name: "theirs", Subnet: emulator.DefaultSubnet,
		Labels: iaas.Labels{label.Cluster: "k8s-other", label.Managed: "true", label.ServiceUID: string(web.UID)}}
	if _, err := l.api().CreateLoadbalancer(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	l.settle(web, nodes)
	if left := l.leftovers(); len(left) != 3 {
		t.Errorf("in the cloud: %v; want theirs, ours and our target group", left)
	}
}

func TestDeletedButStillShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerDelete: 10 * time.Second,
			LoadbalancerLinger: time.Hour}})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		began := time.Now()
		l.remove(web)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the deletion took %s: an object shown as deleted is gone", took)
		}
	})
}

// TestLostAnswerMakesNoSecondObject: the write happened, its answer did not arrive, and the same process goes on.
func TestLostAnswerMakesNoSecondObject(t *testing.T) {
	for _, behind := range []time.Duration{0, lagging} {
		for step := range 3 {
			t.Run(fmt.Sprintf("write %d, lists of %s ago", step, behind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { loseAnswer(t, step, behind) })
			})
		}
	}
}

// loseAnswer loses the answer to one of the writes that create a load balancer, in a cloud whose lists are old.
func loseAnswer(t *testing.T, step int, behind time.Duration) {
	t.Helper()
	l := newLab(t, emulator.Config{})
	flaky := &failing{next: l.network, writes: step, happened: true}
	l.network = flaky
	l.restart()
	web, nodes := service("web", 80), l.nodes("a")
	if behind > 0 {
		if _, err := l.emulator.Inject(fault.Rule{Operation: "GET /v1/loadbalancer*",
			Effect: fault.Effect{Kind: fault.Stale, Delay: behind}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.ensure(web, nodes); err == nil {
		t.Fatalf("write %d did not fail", step)
	}
	flaky.writes = 1000 // the network is back
	l.settle(web, nodes)
	<-time.After(behind)
	if left := l.leftovers(); len(left) != 2 {
		t.Errorf("%v in the cloud, want one load balancer and one target group", left)
	}
}

// TestSourceRangesOfAnOpenPort are applied, and reported only when they cannot be; the port then stays as it is.
func TestSourceRangesOfAnOpenPort(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	l.settle(web, nodes)
	for _, step := range []struct {
		ranges, want []string
		reported     int
	}{{[]string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}, 0}, {[]string{"10.0.0.0/8", "office"}, []string{"10.0.0.0/8"},
		1}, {nil, nil, 0}, {[]string{"office"}, nil, 1}} {
		web.Spec.LoadBalancerSourceRanges = step.ranges
		l.settle(web, nodes)
		if got := l.balancer().LoadbalancerListeners[0].AllowedSources; !slices.Equal(got, step.want) {
			t.Errorf("ranges %q: allowed sources %v, want %v", step.ranges, got, step.want)
		}
		if reported := l.eventsAbout(reasonAnnotation); len(reported) != step.reported || step.reported > 0 &&
			!strings.Contains(reported[0], "spec.loadBalancerSourceRanges") {
			t.Errorf("ranges %q: reported %q, want %d", step.ranges, reported, step.reported)
		}
	}
}

// TestManyMissingMachinesCostOneList: a pool was deleted, its nodes remain.
func TestManyMissingMachinesCostOneList(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	l.settle(web, nodes)
	for i := range 200 {
		nodes = append(nodes, named("gone", providerid.Of(fmt.Sprintf("vm-gone%d", i))))
	}
	l.emulator.ResetCounters()
	for range 10 {
		if err := l.library.UpdateLoadBalancer(t.Context(), "", web, nodes); err != nil {
			t.Fatal(err)
		}
	}
	if lists := l.emulator.Counters()["GET /v1/machines"]; lists > 1 {
		t.Errorf("200 nodes without a machine cost %d lists of all machines, want 1", lists)
	}
	if got := l.machines(l.group().Name); len(got) != 1 {
		t.Errorf("machines = %v, want the one that exists", got)
	}
}

// TestDeletedByOthersMeanwhile: "not found" on a deletion is believed when a list confirms it.
func TestDeletedByOthersMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		good := l.network
		l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodDelete &&
				strings.HasPrefix(request.URL.Path, "/v1/loadbalancer-target-groups/") {
				return refusal(request, http.StatusNotFound), nil
			}
			return good.RoundTrip(request)
		})
		l.restart()
		for range 3 {
			if err := l.library.EnsureLoadBalancerDeleted(t.Context(), "", web); err == nil {
				t.Fatal("the deletion ends well although the target group is still there")
			}
			<-time.After(10 * time.Second)
		}
		l.network = good
		l.restart()
		l.remove(web)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// TestTakeoverByTheController: the service controller of a cluster that the existing CCM served until now writes
// nothing to the cloud, gives nobody another address, and tells nobody anything.
func TestTakeoverByTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := service("web", 80, 443), l.nodes("a", "b")
		l.plant(legacyOf(web, nil), nodes)
		address := l.balancer().ExternalIpAddresses[0]
		web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		l.emulator.ResetCounters()
		cluster := l.watching(web)
		<-time.After(3 * driftPeriod)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes: %v", writes)
		}
		current, err := cluster.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || len(current.Status.LoadBalancer.Ingress) != 1 ||
			current.Status.LoadBalancer.Ingress[0].IP != address {
			t.Errorf("status %v, error %v; want the address %s", current.Status.LoadBalancer, err, address)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("event %q", event)
		}
	})
}
