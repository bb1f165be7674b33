package thalassa

import (
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// forget begins to count anew.
func (t *servicesCluster) forget() {
	t.emulator.ResetCounters()
	t.patches.Store(0)
	t.protections.Store(0)
	t.compared.Store(0)
	t.reported.forget()
}

// counted are the calls since, without the token's.
func (t *servicesCluster) counted() (calls, writes int) {
	for operation, n := range t.emulator.Counters() {
		switch {
		case operation == "POST /oidc/token":
		case operation[:3] == http.MethodGet:
			calls += n
		default:
			calls, writes = calls+n, writes+n
		}
	}
	return calls, writes
}

// allWrites are the writes to cloud and Kubernetes, and the events.
func (t *servicesCluster) allWrites() float64 {
	_, writes := t.counted()
	return float64(writes) + float64(t.patches.Load()) + float64(t.reported.total())
}

// newLargeCluster is a cluster with everything in place, whose controller runs no more. Its Services have one port:
// half of the emulator's time goes into target groups.
func newLargeCluster(t *testing.T, services, nodes int) *servicesCluster {
	t.Helper()
	l := newLab(t, emulator.Config{})
	l.config.API.RequestsPerSecond, l.config.API.Burst = 100_000, 100_000
	l.restart()
	large := newPopulatedCluster(l, nodes)
	large.order(services, 1)
	large.settle()
	return large
}

// settle gives all Services their addresses within a minute. Then the process is another one, which does not run yet.
func (t *servicesCluster) settle() {
	t.Helper()
	stop := t.run(manyWorkers)
	<-time.After(time.Minute)
	stop()
	if missing := t.addressless(); missing > 0 {
		t.Fatalf("%d Services have no address: %v", missing, t.reported.seen())
	}
	t.restart()
	t.forget()
}

// manyWorkers is how many Services are worked on at a time, as by default.
const manyWorkers = 10

// TestBudgetsOfALargeCluster in which nothing happens: it costs a few lists, and no write, when the process starts,
// when everything is looked at, and in a quarter of an hour.
func TestBudgetsOfALargeCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := newLargeCluster(t, tierSize().largeSize, tierSize().largeSize)
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)
		calls, _ := large.counted()
		large.within("restart-calls", float64(calls))
		large.within("restart-writes", large.allWrites())

		large.forget()
		large.twin()
		<-time.After(time.Minute)
		if looked := large.compared.Load(); looked != int64(tierSize().largeSize) {
			t.Errorf("%d Services were looked at, want %d", looked, tierSize().largeSize)
		}
		calls, _ = large.counted()
		large.within("unchanged-calls", float64(calls))
		large.within("unchanged-writes", large.allWrites())

		large.forget()
		<-time.After(quietMinutes * time.Minute)
		if looked := large.compared.Load(); looked < int64(tierSize().largeSize)*quietMinutes/5 {
			t.Errorf("%d looks for drift, want %d", looked, tierSize().largeSize*quietMinutes/5)
		}
		calls, _ = large.counted()
		large.within("quiet-calls", float64(calls)/quietMinutes)
		large.within("quiet-writes", large.allWrites())
	})
}

// TestBudgetsOfNodes: however many join or leave within a second, each target group is written once.
func TestBudgetsOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := newLargeCluster(t, tierSize().largeSize, tierSize().largeSize)
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)
		for _, k := range []int{1, 50} {
			large.forget()
			large.join(k)
			<-time.After(time.Minute)
			large.retargeted()
		}
		large.forget()
		for _, object := range large.nodes.all()[:1] {
			large.nodes.remove(keyOf(object))
		}
		<-time.After(time.Minute)
		large.retargeted()
	})
}

// retargeted checks what a change of nodes has cost.
func (t *servicesCluster) retargeted() {
	t.Helper()
	const attach, machines = "POST /v1/loadbalancer-target-groups/{id}/attachments", "GET /v1/machines"
	counters := t.emulator.Counters()
	if written := counters[attach]; written < tierSize().largeSize {
		t.Errorf("%d target groups were written, want %d", written, tierSize().largeSize)
	}
	t.within("nodes-writes", float64(counters[attach])/float64(tierSize().largeSize))
	t.within("nodes-lists", float64(counters[machines]))
	delete(counters, attach)
	delete(counters, machines)
	delete(counters, "POST /oidc/token")
	if len(counters) > 0 {
		t.Errorf("calls besides: %v", counters)
	}
	if patches := t.patches.Load(); patches > 0 {
		t.Errorf("%d writes to Kubernetes", patches)
	}
}

// TestBudgetOfCreation, also where the cloud ignores or refuses listeners at creation.
func TestBudgetOfCreation(t *testing.T) {
	for name, tt := range map[string]struct {
		listeners emulator.InlineListeners
		defaults  map[string]string
		budget    string
	}{
		"accepted": {emulator.AcceptListeners, nil, "create-writes"}, "ignored": {emulator.IgnoreListeners, nil,
			"create-separately-writes"},
		"refused": {emulator.RefuseListeners, nil, "create-separately-writes"},
		"with a security group": {emulator.AcceptListeners, map[string]string{nameCreateGroup: "true"},
			"create-group-writes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: emulator.Switches{InlineListeners: tt.listeners}})
				l.config.LoadBalancer.Defaults = tt.defaults
				l.restart()
				small := newPopulatedCluster(l, 3)
				defer small.run(manyWorkers)()
				small.order(1, 2)
				<-time.After(time.Minute)
				small.forget() // the refusal is learned from the first one
				small.order(1, 2)
				<-time.After(time.Minute)
				if missing := small.addressless(); missing > 0 {
					t.Errorf("%d Services have no address: %v", missing, small.reported.seen())
				}
				_, writes := small.counted()
				small.within(tt.budget, float64(writes))
				small.within("create-protections", float64(small.protections.Load()))
			})
		})
	}
}

// TestBudgetOfARush: 200 Services at once, each of which the cloud takes 30 seconds for.
func TestBudgetOfARush(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{50, 10} {
		synctest.Test(t, func(t *testing.T) {
			c := emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 30 * time.Second}}
			if rate == 10 {
				c.Switches.RequestsPerSecond = rate
			}
			l := newLab(t, c)
			refused := &refusals{next: l.network}
			l.network = refused
			if rate == 10 {
				l.config.API.RequestsPerSecond, l.config.API.Burst = rate, rate
			}
			l.restart()
			small := newPopulatedCluster(l, 10)
			defer small.run(manyWorkers)()
			began := time.Now()
			small.order(200, 1)
			for small.addressless() > 0 && time.Since(began) < 10*time.Minute {
				<-time.After(time.Second)
			}
			took := time.Since(began)
			t.Logf("at %d requests a second all addresses are there after %s; calls %v", rate, took,
				l.emulator.Counters())
			if small.addressless() > 0 {
				t.Errorf("%d Services have no address: %v", small.addressless(), small.reported.seen())
			}
			if rate == 50 {
				small.within("rush-seconds", took.Seconds())
			}
			small.within("rush-refusals", float64(refused.counted.Load()))
		})
	}
}

// TestBudgetOfDeletions: 20 Services are deleted at once. That nothing is left of each is seen in lists that began
// after its last deletion.
func TestBudgetOfDeletions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := emulator.Delays{LoadbalancerDelete: 3 * time.Second}
		small := newPopulatedCluster(newLab(t, emulator.Config{Delays: delays}), 10)
		defer small.run(manyWorkers)()
		small.order(20, 2)
		<-time.After(time.Minute)
		small.forget()
		small.deleteAll()
		<-time.After(time.Minute)
		if left := small.protected(); left > 0 {
			t.Errorf("%d Services have a finalizer: %v", left, small.reported.seen())
		}
		calls, writes := small.counted()
		small.within("delete-reads", float64(calls-writes))
	})
}

// deleteAll asks for the deletion of all Services, as kubectl does.
func (t *servicesCluster) deleteAll() {
	for _, object := range t.services.all() {
		if one, ok := object.(*corev1.Service); ok {
			deleted, now := one.DeepCopy(), metav1.Now()
			deleted.DeletionTimestamp = &now
			t.services.put(deleted)
		}
	}
}

// protected is how many Services have a finalizer.
func (t *servicesCluster) protected() int {
	with := 0
	for _, object := range t.services.all() {
		if one, ok := object.(*corev1.Service); ok && len(one.Finalizers) > 0 {
			with++
		}
	}
	return with
}

// refusals counts answers that ask for fewer requests.
type refusals struct {
	next    http.RoundTripper
	counted atomic.Int64
}

func (r *refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		r.counted.Add(1)
	}
	return response, err
}

// forget begins to count anew.
func (t *tally) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = nil
}

// seen are the events by type and reason.
func (t *tally) seen() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.events)
}
