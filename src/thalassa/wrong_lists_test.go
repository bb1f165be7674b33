package thalassa

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// wrongLists are faults of lists that look like true answers, from a while after they were injected.
func wrongLists(operation string) map[string]fault.Rule {
	const since = 3 * time.Minute
	return map[string]fault.Rule{
		"partial once":  {Operation: operation, From: since, Count: 1, Effect: fault.Effect{Kind: fault.Partial}},
		"partial often": {Operation: operation, From: since, Count: 4, Effect: fault.Effect{Kind: fault.Partial}},
		// As it was in the beginning, when there was nothing.
		"stale": {Operation: operation, From: since, Count: 2, Effect: fault.Effect{Kind: fault.Stale,
			Delay: time.Hour}},
	}
}

// TestListThatLacksItMakesNoSecondOne: while nothing changes, what a list leaves out is asked for by its identity
// before it counts as gone.
func TestListThatLacksItMakesNoSecondOne(t *testing.T) {
	for _, operation := range []string{"GET /v1/loadbalancers", "GET /v1/loadbalancer-target-groups",
		"GET /v1/loadbalancer*s"} {
		for name, rule := range wrongLists(operation) {
			t.Run(name+" "+strings.TrimPrefix(operation, "GET /v1/"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { listLacksIt(t, rule) })
			})
		}
	}
}

func listLacksIt(t *testing.T, rule fault.Rule) {
	t.Helper()
	l := newLab(t, emulator.Config{})
	if _, err := l.emulator.Inject(rule); err != nil {
		t.Fatal(err)
	}
	web := service("web", 80)
	web.Status.LoadBalancer = *l.settle(web, l.nodes("a"))
	l.watching(web)
	l.emulator.ResetCounters()
	const passes = 5
	<-time.After(passes*driftPeriod + time.Second)
	if writes := l.writes(); len(writes) > 0 {
		t.Errorf("writes because of a list: %v", writes)
	}
	if calls, least, most := l.calls(), 3*passes+1, 3*passes+rule.Count+1; calls < least || calls > most {
		t.Errorf("%d calls, want at most one for each list that lacks something, %d in all: %v", calls, most,
			l.emulator.Counters())
	}
	if event := l.nextEvent(); event != "" {
		t.Errorf("event %q", event)
	}
}

// TestFirstListLacksIt: a process that just started knows from the Service's addresses that there was one, and from the
// load balancer's record that there was a security group, and lists once more.
func TestFirstListLacksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := service("web", 80), l.nodes("a")
		web.Annotations[label.AnnotationPrefix+nameCreateGroup] = "true"
		web.Status.LoadBalancer = *l.settle(web, nodes)
		l.restart()
		for _, operation := range []string{"GET /v1/loadbalancers", "GET /v1/loadbalancer-target-groups",
			"GET /v1/security-groups"} {
			if _, err := l.emulator.Inject(wrongLists(operation)["partial once"]); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(5 * time.Minute)
		l.emulator.ResetCounters()
		l.settle(web, nodes)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes because of the first list: %v", writes)
		}

		// When there really is none, one list more is enough to know.
		l.removeByHand()
		l.restart()
		l.emulator.ResetCounters()
		l.settle(web, nodes)
		if lists := l.emulator.Counters()["GET /v1/loadbalancers"]; lists != 2 || len(l.creations()) != 1 {
			t.Errorf("%d lists, created %v; want 2 and one load balancer", lists, l.creations())
		}
	})
}

// TestFirstListsLackAGroupInUse: a process that just started makes no second target group for a listener, however many
// lists lack the first one, and deletes the first one with its Service. Life 31001392 found it.
func TestFirstListsLackAGroupInUse(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			web, nodes := service("web", 80), l.nodes("a")
			web.Status.LoadBalancer = *l.settle(web, nodes)
			l.restart()
			rule := wrongLists("GET /v1/loadbalancer-target-groups")["partial often"]
			if _, err := l.emulator.Inject(rule); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Minute)
			l.emulator.ResetCounters()
			if deleted {
				l.remove(web)
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("left in the cloud: %v", left)
				}
				return
			}
			l.settle(web, nodes)
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("writes because of the first lists: %v", writes)
			}
		})
	}
}

// TestUnknownIsNotGone: what a list leaves out and nobody says anything about is not made again.
func TestUnknownIsNotGone(t *testing.T) {
	for _, answer := range []*http.Response{
		{StatusCode: http.StatusUnauthorized, Body: http.NoBody},
		{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("<html>not here</html>"))},
		{StatusCode: http.StatusNoContent, Body: http.NoBody},
		{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader("{}"))},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			good := l.network
			l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
				if strings.HasPrefix(request.URL.Path, "/v1/loadbalancers/") {
					return answer, nil
				}
				return good.RoundTrip(request)
			})
			l.restart()
			if _, err := l.emulator.Inject(wrongLists("GET /v1/loadbalancers")["partial once"]); err != nil {
				t.Fatal(err)
			}
			web, nodes := service("web", 80), l.nodes("a")
			l.settle(web, nodes)
			<-time.After(inventory.BalancerAge + time.Second)
			l.emulator.ResetCounters()
			if _, err := l.ensure(web, nodes); err == nil || !strings.Contains(err.Error(), "which the list lacks") {
				t.Errorf("HTTP %d: error %v, want one about what is not known", answer.StatusCode, err)
			}
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("HTTP %d: writes %v", answer.StatusCode, writes)
			}
		})
	}
}
