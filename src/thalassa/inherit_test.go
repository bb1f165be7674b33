package thalassa

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// TestWhatWasSeenIsNotInherited: a process that has seen what there was takes no minute to believe that it is gone.
func TestWhatWasSeenIsNotInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := service("web", 80), l.nodes("a")
		web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		l.settle(web, nodes)
		l.restart()
		l.settle(web, nodes)
		began := time.Now()
		l.remove(web)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the deletion took %s", took)
		}
	})
}

// TestWhatTheLeaderBeforeMade a moment before it ended, and lists do not show yet: no second one is made, and the
// Service's finalizer stays until it is gone.
func TestWhatTheLeaderBeforeMade(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: time.Hour}})
			web, nodes := service("web", 80), l.nodes("a")
			web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
			// The cloud's past is known from when the rule is added.
			if _, err := l.emulator.Inject(fault.Rule{Operation: "GET *", From: time.Hour + time.Second,
				Until:  time.Hour + lagging,
				Effect: fault.Effect{Kind: fault.Stale, Delay: lagging}}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
			if _, err := l.ensure(service("web", 80), nodes); err == nil || len(l.writes()) != 3 {
				t.Fatalf("error %v, writes %v; want a load balancer in the making", err, l.writes())
			}
			<-time.After(time.Second)
			l.restart()
			if deleted {
				l.remove(web)
				<-time.After(2 * lagging) // until lists show what there is
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("left in the cloud: %v", left)
				}
				return
			}
			if _, err := l.ensure(web, nodes); err == nil {
				t.Fatal("it serves at once")
			}
			<-time.After(2 * time.Minute)
			_, _ = l.ensure(web, nodes)
			if made := l.creations(); len(made) != 1 {
				t.Errorf("made at %v, want one load balancer", made)
			}
		})
	}
}

// TestOwnFinalizerIsNotInherited: if the first creation for a new Service is refused, the next attempt does not wait
// for what a leader before may have made, although the Service has the finalizer by then.
func TestOwnFinalizerIsNotInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Faults: []fault.Rule{{Operation: "POST *", Count: 1,
			Effect: fault.Effect{Kind: fault.Quota}}}})
		web, nodes := service("web", 80), l.nodes("a")
		if _, err := l.ensure(web, nodes); err == nil || len(l.creations()) > 0 {
			t.Fatalf("error %v, made at %v; want a creation that is refused", err, l.creations())
		}
		web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		began := time.Now()
		l.settle(web, nodes)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the load balancer is there after %s", took)
		}
	})
}
