package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// noticed is how soon after the end of a deletion that others asked for a new load balancer follows.
const noticed = 20 * time.Second

// creations are when load balancers were asked for, since the counters were reset.
func (l *lab) creations() (at []time.Time) {
	for _, write := range l.emulator.Writes() {
		if write.Operation == "POST /v1/loadbalancers" {
			at = append(at, write.Time)
		}
	}
	return at
}

// deleteByHand deletes the only load balancer without the provider, which takes the cloud its time.
func (l *lab) deleteByHand() {
	l.Helper()
	if err := l.api().DeleteLoadbalancer(l.Context(), l.balancer().Identity); err != nil {
		l.Fatal(err)
	}
	l.emulator.ResetCounters()
}

// syncing repeats syncs as the service controller does until the Service is as it should be, in the background.
func (l *lab) syncing(web *corev1.Service, nodes []*corev1.Node) <-chan error {
	done := make(chan error, 1)
	go func() { done <- attempt(l.Context(), l.process().ensuring(web, nodes)) }()
	return done
}

// TestFailedOneIsDeletedAsAdvised by the event about it: a new one is then created automatically.
func TestFailedOneIsDeletedAsAdvised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deletion = 10 * time.Second
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: time.Second,
			LoadbalancerDelete: deletion}})
		nodes, web := l.nodes("a"), service("web", 80)
		if _, err := l.ensure(web, nodes); err == nil {
			t.Fatal("it serves at once")
		}
		if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, "failed"); err != nil {
			t.Fatal(err)
		}
		done := l.syncing(web, nodes)
		<-time.After(10 * time.Minute) // by now it is looked at once a minute
		if event := l.nextEvent(); !strings.Contains(event,
			"delete it in the cloud: a new one is then created automatically") {
			t.Errorf("event %q, want the advice to delete it", event)
		}
		began := time.Now()
		l.deleteByHand()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if at := l.creations(); len(at) != 1 || at[0].Sub(began) > deletion+time.Minute+noticed {
			t.Errorf("created at %v; want one soon after %v", at, began)
		}
	})
}

// TestStuckDeletionCostsASyncLittle: it is looked at ever more rarely.
func TestStuckDeletionCostsASyncLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerDelete: 2 * time.Hour}})
		nodes, web := l.nodes("a"), service("web", 80)
		l.settle(web, nodes)
		l.deleteByHand()
		<-time.After(2 * time.Minute)
		l.restart()
		done := l.syncing(web, nodes)
		<-time.After(time.Hour)
		if lists, most := l.emulator.Counters()["GET /v1/loadbalancers"], 70; lists > most {
			t.Errorf("%d lists in an hour, want at most %d", lists, most)
		}
		<-time.After(time.Hour)
		began := time.Now()
		if err := <-done; err != nil || len(l.creations()) != 1 || time.Since(began) > time.Minute {
			t.Errorf("error %v, created %v; want one within a minute after the deletion, %v", err, l.creations(), began)
		}
	})
}
