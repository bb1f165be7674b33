package thalassa

import (
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
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestEndOfDeletionIsConfirmed: a look that does not know of the last write, as one after an error, does not conclude
// from older lists that nothing is left.
func TestEndOfDeletionIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		var confirmed bool
		for range 10 {
			found, err := l.cloud.balancers.PlanDelete(t.Context(), web, false)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !found.Exists && !confirmed:
				t.Fatal("nothing is left at once after the last write")
			case !found.Exists:
				return
			case found.Wait != nil && found.Wait.Within == deletionWindow:
				confirmed = true
				<-time.After(deletionWindow)
			case len(found.Plan) == 0:
				<-time.After(time.Minute)
			}
			if _, err := l.cloud.balancers.Apply(t.Context(), web, found.Plan); err != nil {
				t.Fatal(err)
			}
		}
		t.Error("the deletion does not end")
	})
}

// TestKeepIsRemembered by the load balancer: whoever finds it without its Service knows that it is not to be removed.
func TestKeepIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(nil)
		for i, value := range []string{"", onDeleteKeep, "neither", onDeleteDelete, onDeleteKeep, ""} {
			web.Annotations[label.AnnotationPrefix+"on-delete"] = value
			if value == "" {
				delete(web.Annotations, label.AnnotationPrefix+"on-delete")
			}
			l.settle(web, nodes)
			owned, err := l.cloud.balancers.ListManaged(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.ContainsFunc(owned, func(one cloud.ManagedObject) bool { return one.Retained })
			if want := value == onDeleteKeep || value == "neither"; kept != want {
				t.Errorf("change %d, to %q: kept %v, want %v", i, value, kept, want)
			}
			if l.emulator.ResetCounters(); i > 0 {
				l.settle(web, nodes)
			}
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("change %d: written again: %v", i, writes)
			}
		}
	})
}

// TestTargetGroupOutlivesItsLoadBalancer: the existing CCM says that nothing exists once the load balancer is gone,
// and then the service controller never asks it to delete the rest. Ours says so when nothing is left.
func TestTargetGroupOutlivesItsLoadBalancer(t *testing.T) {
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

// TestNodeEventsOfADeletedService: the existing CCM's second path does not look at deletion timestamps, races with the
// deletion, and drops errors.
func TestNodeEventsOfADeletedService(t *testing.T) {
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

// TestNodeEventsRaceWithTheDeletion: whichever comes first, nothing is left, and nothing is made again.
func TestNodeEventsRaceWithTheDeletion(t *testing.T) {
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

// TestTargetGroupOfAClosedPort: the existing CCM keeps a target group that the cloud does not let go of yet, and says
// that all is well. With ours a sync is a success when it is gone.
func TestTargetGroupOfAClosedPort(t *testing.T) {
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

// TestBusyTargetGroupsAreDeleted: the existing CCM does not delete target groups that still show listeners, and says
// that nothing is left.
func TestBusyTargetGroupsAreDeleted(t *testing.T) {
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
