package service

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// addOrphan adds a load balancer to the cloud whose Service does not exist.
func (r *rig) addOrphan() {
	r.cloud.set(func(p *fakeCloud) {
		p.balancers["uid-lost"] = &fakeBalancer{owner: namespacedName("lost"), address: "192.0.2.200"}
	})
}

// startWithOrphan starts a process that deletes orphans, with one orphan and one Service.
func (r *rig) startWithOrphan() {
	r.Helper()
	r.behaviour.RemoveOrphans = true
	r.addService("web")
	r.start(1)
	r.addOrphan()
}

func namespacedName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// TestOrphans: orphans are reported once after two checks in a row found them, and are deleted only if that is
// configured.
func TestOrphans(t *testing.T) {
	for _, remove := range []bool{false, true} {
		inRig(t, func(r *rig) {
			r.behaviour.RemoveOrphans = remove
			r.start(1)
			r.addService("web")
			r.addOrphan()
			<-time.After(driftPeriod + time.Second)
			r.events()
			want(r, "after one resync", len(r.cloud.contents()), 2)
			<-time.After(driftPeriod)
			if events := r.events(); len(events) == 0 || events[0] != "Warning LoadBalancerOrphaned" {
				t.Errorf("events %q", events)
			}
			<-time.After(3 * driftPeriod)
			left := 2
			if remove {
				left = 1
			}
			want(r, "load balancers", len(r.cloud.contents()), left)
			for _, event := range r.events() {
				if event == "Warning LoadBalancerOrphaned" {
					t.Error("reported again")
				}
			}
			want(r, "that of the Service is there", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		})
	}
}

// TestOrphanIsNotDeletedBeforeTheServiceIsGone: an orphan is not deleted if the API server returns its Service or an
// error, because the cache may be older.
func TestOrphanIsNotDeletedBeforeTheServiceIsGone(t *testing.T) {
	answers := map[string]clienttesting.ReactionFunc{
		"its Service is there": func(clienttesting.Action) (bool, runtime.Object, error) {
			return true,
				&corev1.ServiceList{Items: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
					Name: "lost", UID: "uid-lost"}}}}, nil
		},
		"no answer": forbid,
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.behaviour.RemoveOrphans = true
				var asked, started atomic.Bool
				r.cluster.PrependReactor("list", "services",
					func(action clienttesting.Action) (bool, runtime.Object, error) {
						if !started.Load() { // the lists of the informer
							return false, nil, nil
						}
						asked.Store(true)
						return answer(action)
					})
				r.addService("web")
				r.start(1)
				started.Store(true)
				r.addOrphan()
				<-time.After(4 * driftPeriod)
				r.stop()
				want(r, "asked", asked.Load(), true)
				want(r, "load balancers", len(r.cloud.contents()), 2)
			})
		})
	}
}

// TestRetainedOrphanIsNotDeleted: the deletion policy of its Service was to retain it.
func TestRetainedOrphanIsNotDeleted(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithOrphan()
		r.cloud.set(func(p *fakeCloud) { p.balancers["uid-lost"].retained = true })
		<-time.After(4 * driftPeriod)
		want(r, "load balancers", len(r.cloud.contents()), 2)
		if events := strings.Join(r.fullEvents(), " "); !strings.Contains(events,
			"It is kept, because its Service had the annotation on-delete: keep.") {
			t.Errorf("events %s", events)
		}
	})
}

// TestOrphanWithoutANameIsNotDeleted: its labels do not tell of which Service it was.
func TestOrphanWithoutANameIsNotDeleted(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithOrphan()
		r.cloud.set(func(p *fakeCloud) { p.balancers["uid-lost"].owner.Name = "" })
		<-time.After(4 * driftPeriod)
		want(r, "load balancers", len(r.cloud.contents()), 2)
		if events := strings.Join(r.fullEvents(), " "); !strings.Contains(events, adviceHeld) {
			t.Errorf("events %s", events)
		}
	})
}

// TestOrphanDeletionIsRetried: a failed deletion is retried, but not while most objects are orphans.
func TestOrphanDeletionIsRetried(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithOrphan()
		r.cloud.set(func(p *fakeCloud) { p.writeErr = errUnavailable })
		<-time.After(3 * driftPeriod)
		r.cloud.set(func(p *fakeCloud) {
			for _, uid := range []types.UID{"uid-1", "uid-2", "uid-3"} {
				p.balancers[uid] = &fakeBalancer{owner: namespacedName(string(uid)), address: string(uid)}
			}
		})
		<-time.After(3 * driftPeriod)
		r.cloud.set(func(p *fakeCloud) { p.writeErr = nil })
		<-time.After(3 * driftPeriod)
		want(r, "load balancers", len(r.cloud.contents()), 5)
		r.cloud.set(func(p *fakeCloud) {
			for _, uid := range []types.UID{"uid-1", "uid-2", "uid-3"} {
				delete(p.balancers, uid)
			}
		})
		<-time.After(3 * driftPeriod)
		want(r, "load balancers when it is alone again", len(r.cloud.contents()), 1)
	})
}

// TestOrphanEventIfTheNamespaceIsEmpty: if the namespace may have been deleted, the event is about the namespace,
// because no event can be created in it.
func TestOrphanEventIfTheNamespaceIsEmpty(t *testing.T) {
	for about, services := range map[string][]string{"Namespace": nil, "Service": {"web"}} {
		inRig(t, func(r *rig) {
			r.process.Recorder.IncludeObject = true
			r.addOrphan()
			for _, name := range services {
				r.addService(name)
			}
			r.start(1)
			<-time.After(3 * driftPeriod)
			if events := r.warnings(); len(events) != 1 || !strings.Contains(events[0], reasonOrphaned) ||
				!strings.Contains(events[0], "involvedObject{kind="+about) {
				t.Errorf("events %q, want one about the %s", events, about)
			}
		})
	}
}
