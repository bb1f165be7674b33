package thalassa

// The tests of the files defect*_test.go are named after defects of the CCM that this provider replaces, each with what
// it did and what happens instead. Their numbers are those of the list of its defects; what they say is what this
// provider promises.

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestDefect01_InternalIsSuccessWithoutAddress: the existing CCM waits 300 s for a public address that an internal load
// balancer never gets, and then calls it a success without any. Ours publishes the address of the subnet once it is
// there, and nothing before, of those that it makes and of those that were taken over.
func TestDefect01_InternalIsSuccessWithoutAddress(t *testing.T) {
	const making = 10 * time.Second
	for name, fresh := range map[string]bool{"ours": true, "taken over": false} {
		for _, switches := range []emulator.Switches{{}, {InternalAddressAlsoExternal: true}} {
			t.Run(fmt.Sprintf("%s, also external %t", name, switches.InternalAddressAlsoExternal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, emulator.Config{Switches: switches,
						Delays: emulator.Delays{LoadbalancerCreate: making}})
					nodes, web := l.nodes("a"), service("web", 80)
					annotated("internal", "true")(web)
					if !fresh {
						old := legacyOf(web, nil)
						old.balancer.InternalLoadbalancer = true
						l.plant(old, nodes)
					}
					if status, err := l.ensure(web, nodes); err == nil {
						t.Errorf("success with the status %+v, although there is no address yet", status)
					}
					<-time.After(making)
					status, err := l.ensure(web, nodes)
					if err != nil || len(status.Ingress) != 1 || !strings.HasPrefix(status.Ingress[0].IP, "10.") {
						t.Errorf("status %+v, error %v; want the internal address", status, err)
					}
					l.checkInternal(switches.InternalAddressAlsoExternal)
				})
			})
		}
	}
}

// checkInternal says that the load balancer has no address that others than the VPC reach.
func (l *lab) checkInternal(alsoExternal bool) {
	l.Helper()
	got := l.balancer()
	if len(got.InternalIpAddresses) != 1 || !alsoExternal && len(got.ExternalIpAddresses) > 0 || alsoExternal &&
		!slices.Equal(got.ExternalIpAddresses, got.InternalIpAddresses) {
		l.Errorf("addresses %v and, public, %v; want one of the subnet", got.InternalIpAddresses,
			got.ExternalIpAddresses)
	}
}

// TestDefect02_SlowIsSuccessWithoutAddress: the existing CCM gives up on a slow load balancer after 300 s, and its next
// sync is a success without an address, so nobody comes back. Ours comes back until there is one, and says once that it
// takes long.
func TestDefect02_SlowIsSuccessWithoutAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 8 * time.Minute}})
		nodes, web := l.nodes("a"), service("web", 80)
		began := time.Now()
		if status := l.settle(web, nodes); len(status.Ingress) != 1 || status.Ingress[0].IP == "" {
			t.Errorf("success with the status %+v, want an address", status)
		}
		if took := time.Since(began); took < 8*time.Minute || took > 8*time.Minute+time.Minute {
			t.Errorf("the address came after %s, want within a minute after 8m", took)
		}
		if event := l.nextEvent(); !strings.Contains(event,
			`LoadBalancerSlow Load balancer a0a1b2c3dweb is still "creating" after 5m0s`) {
			t.Errorf("event %q, want one that says it takes long", event)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("reported again: %q", event)
		}
	})
}

// TestDefect03_VanishingLoadBalancerPanics: the existing CCM dereferences a load balancer that somebody deletes while
// it is being made. Ours makes another one.
func TestDefect03_VanishingLoadBalancerPanics(t *testing.T) {
	const making = 30 * time.Second
	tests := map[string]struct{ deletion, notice time.Duration }{
		// What was just created may be missing in lists although it is there.
		"at once": {0, 90 * time.Second}, "slowly": {10 * time.Second, 20 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: making,
					LoadbalancerDelete: tt.deletion}})
				nodes, web := l.nodes("a"), service("web", 80)
				if _, err := l.ensure(web, nodes); !cloud.ReasonOf(err).Waits() {
					t.Fatalf("error = %v, want that it is not ready yet", err)
				}
				if err := l.api().DeleteLoadbalancer(t.Context(), l.balancer().Identity); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if status := l.settle(web, nodes); len(status.Ingress) != 1 ||
					status.Ingress[0].IP != l.balancer().ExternalIpAddresses[0] {
					t.Errorf("status = %+v, want the address of the new one", status)
				}
				if took, most := time.Since(began), tt.deletion+tt.notice+making; took > most {
					t.Errorf("the new one serves after %s, want at most %s", took, most)
				}
				if left := l.leftovers(); len(left) != 2 {
					t.Errorf("in the cloud: %v, want one load balancer and one target group", left)
				}
			})
		})
	}
}

// TestDefect06_WhatOutlivesItsLoadBalancerLeaks: the existing CCM says that nothing exists once the load balancer is
// gone, and then the service controller never asks it to delete the rest. Ours says so when nothing is left.
func TestDefect06_WhatOutlivesItsLoadBalancerLeaks(t *testing.T) {
	removals := map[string]func(*lab, *corev1.Service){
		"the process died while creating": func(l *lab, web *corev1.Service) {
			l.dying(1, func() { _, _ = l.ensure(web, l.nodes("b")) })
		},
		"the process died while deleting": func(l *lab, web *corev1.Service) {
			l.settle(web, l.nodes("b"))
			l.dying(1, func() { _ = l.library.EnsureLoadBalancerDeleted(l.Context(), "", web) })
		},
		"the load balancer was deleted by hand": func(l *lab, web *corev1.Service) {
			l.settle(web, l.nodes("b"))
			if err := l.api().DeleteLoadbalancer(l.Context(), l.balancer().Identity); err != nil {
				l.Fatal(err)
			}
		},
	}
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, slowCloud)
				web := service("web", 80)
				remove(l, web)
				<-time.After(time.Minute) // by then no load balancer is left
				if left := l.leftovers(); len(left) != 1 || !strings.HasPrefix(left[0], "target group") {
					t.Fatalf("in the cloud: %v, want the target group alone", left)
				}
				if _, exists, err := l.library.GetLoadBalancer(t.Context(), "", web); !exists || err != nil {
					t.Errorf("GetLoadBalancer with a target group left = %v, %v; want that something exists", exists,
						err)
				}
				l.remove(web)
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("left in the cloud: %v", left)
				}
			})
		})
	}
}

// dying lets the process make some writes while it does something, and then die and start again.
func (l *lab) dying(writes int, do func()) {
	l.Helper()
	good := l.network
	l.network = &failing{next: good, writes: writes}
	l.restart()
	do()
	l.network = good
	l.restart()
}

// TestDefect11_DeletedServiceIsWrittenByNodeEvents: the existing CCM's second path does not look at deletion
// timestamps, races with the deletion, and drops errors.
func TestDefect11_DeletedServiceIsWrittenByNodeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		line := &cutLine{next: l.network}
		l.network = line
		l.restart()
		nodes, web := l.nodes("a"), service("web", 80)
		l.settle(web, nodes)
		more := append(slices.Clone(nodes), l.nodes("b")...)
		update := func() error { return l.library.UpdateLoadBalancer(t.Context(), "", web, more) }

		line.cut.Store(true)
		if err := update(); err == nil {
			t.Error("a node event during an outage is a success; nobody would come back")
		}
		line.cut.Store(false)

		web.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		l.emulator.ResetCounters()
		if err := update(); err != nil || len(l.writes()) > 0 {
			t.Errorf("error %v, writes %v; want neither", err, l.writes())
		}
	})
}

// TestDefect11_NodeEventsRaceWithTheDeletion: whichever comes first, nothing is left, and nothing is made again.
func TestDefect11_NodeEventsRaceWithTheDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, slowCloud)
		nodes, web := l.nodes("a"), service("web", 80, 443)
		l.settle(web, nodes)
		more := append(slices.Clone(nodes), l.nodes("b", "c")...)
		var events sync.WaitGroup
		for i := range 20 {
			events.Go(func() {
				<-time.After(time.Duration(i) * time.Second)
				// The Service as the node event knows it is not deleted yet. A group may go meanwhile, which is an
				// error to come back for.
				_ = l.library.UpdateLoadBalancer(t.Context(), "", web, more[:1+i%3])
			})
		}
		l.remove(web)
		events.Wait()
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left in the cloud: %v", left)
		}
	})
}

// TestDefect13_OldTargetGroupStaysBehind: the existing CCM keeps a target group that the cloud does not let go of yet,
// and says that all is well. With ours a sync is a success when it is gone.
func TestDefect13_OldTargetGroupStaysBehind(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	l.settle(web, nodes)
	before := l.group().Identity
	web.Spec.Ports[0].NodePort = 31000
	l.settle(web, nodes)
	if group := l.group(); group.Identity != before || group.TargetPort != 31000 {
		t.Errorf("another node port made target group %s with port %d of %s; want the same one", group.Identity,
			group.TargetPort, before)
	}

	tap := l.tap()
	tap.refuse = refusing("DELETE /v1/loadbalancer-target-groups/", http.StatusConflict, 2)
	web.Spec.Ports[0].Port = 8080
	for attempt := range 2 {
		if _, err := l.ensure(web, nodes); err == nil ||
			!strings.Contains(err.Error(), "delete target group a0a1b2c3dweb-p80") {
			t.Errorf("attempt %d: %v; want an error while the old target group is there", attempt, err)
		}
	}
	l.settle(web, nodes)
	if left := l.leftovers(); len(left) != 2 {
		t.Errorf("in the cloud: %v, want one load balancer and one target group", left)
	}
}

// TestDefect14_DeletionSkipsBusyTargetGroups: the existing CCM does not delete target groups that still show listeners,
// and says that nothing is left.
func TestDefect14_DeletionSkipsBusyTargetGroups(t *testing.T) {
	clouds := map[string]emulator.Config{
		"listeners go at once":    slowCloud,
		"listeners go at the end": {Delays: slowCloud.Delays, Switches: emulator.Switches{LateRelease: true}},
		"the load balancer stays shown": {Delays: emulator.Delays{LoadbalancerDelete: 10 * time.Second,
			LoadbalancerLinger: time.Hour}},
	}
	for name, cloud := range clouds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, cloud)
				web := service("web", 80, 443)
				l.settle(web, l.nodes("a"))
				tap := l.tap()
				tap.refuse = refusing("DELETE /v1/loadbalancer-target-groups/", http.StatusConflict, 3)
				removed := func() error { return l.library.EnsureLoadBalancerDeleted(t.Context(), "", web) }
				for attempt := 0; removed() != nil; attempt++ {
					if attempt == 20 {
						t.Fatal("the deletion does not end")
					}
					<-time.After(5 * time.Second)
				}
				groups, err := l.api().ListTargetGroups(t.Context(), nil)
				if err != nil || len(groups) > 0 {
					t.Errorf("the deletion was a success with %d target groups left, error %v", len(groups), err)
				}
			})
		})
	}
}
