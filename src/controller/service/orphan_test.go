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

// orphan leaves a load balancer behind whose Service nobody knows.
func (r *rig) orphan() {
	r.cloud.set(func(p *plain) {
		p.balancers["uid-lost"] = &plainBalancer{owner: namespaced("lost"), address: "192.0.2.200"}
	})
}

// beginWithOrphan begins a process that removes orphans, when there is one beside the load balancer of a Service.
func (r *rig) beginWithOrphan() {
	r.Helper()
	r.behaviour.RemoveOrphans = true
	r.addService("web")
	r.start(1)
	r.orphan()
}

func namespaced(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// TestOrphans are reported once, when two looks in a row have found them, and removed only when that is configured.
func TestOrphans(t *testing.T) {
	for _, remove := range []bool{false, true} {
		inRig(t, func(r *rig) {
			r.behaviour.RemoveOrphans = remove
			r.start(1)
			r.addService("web")
			r.orphan()
			<-time.After(driftPeriod + time.Second)
			r.told()
			want(r, "after one look", len(r.cloud.has()), 2)
			<-time.After(driftPeriod)
			if told := r.told(); len(told) == 0 || told[0] != "Warning LoadBalancerOrphaned" {
				t.Errorf("events %q", told)
			}
			<-time.After(3 * driftPeriod)
			left := 2
			if remove {
				left = 1
			}
			want(r, "load balancers", len(r.cloud.has()), left)
			for _, event := range r.told() {
				if event == "Warning LoadBalancerOrphaned" {
					t.Error("reported again")
				}
			}
			want(r, "that of the Service is there", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		})
	}
}

// TestOrphanIsKept while the API server, which knows better than the cache, says that its Service is there, or does not
// say anything.
func TestOrphanIsKept(t *testing.T) {
	answers := map[string]clienttesting.ReactionFunc{
		"its Service is there": func(clienttesting.Action) (bool, runtime.Object, error) {
			return true,
				&corev1.ServiceList{Items: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
					Name: "lost", UID: "uid-lost"}}}}, nil
		},
		"nobody answers": refuse,
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.behaviour.RemoveOrphans = true
				var asked, started atomic.Bool
				r.cluster.PrependReactor("list", "services",
					func(action clienttesting.Action) (bool, runtime.Object, error) {
						if !started.Load() { // those are the informer's
							return false, nil, nil
						}
						asked.Store(true)
						return answer(action)
					})
				r.addService("web")
				r.start(1)
				started.Store(true)
				r.orphan()
				<-time.After(4 * driftPeriod)
				r.stop()
				want(r, "asked", asked.Load(), true)
				want(r, "load balancers", len(r.cloud.has()), 2)
			})
		})
	}
}

// TestMostAreOrphans: then it is rather the cluster that is another one, or was restored.
func TestMostAreOrphans(t *testing.T) {
	inRig(t, func(r *rig) {
		r.beginWithOrphan()
		r.cloud.set(func(p *plain) {
			p.balancers["uid-more"] = &plainBalancer{owner: namespaced("more"), address: "192.0.2.201"}
		})
		<-time.After(4 * driftPeriod)
		want(r, "load balancers", len(r.cloud.has()), 3)
	})
}

// TestKeptOrphan stays, because its Service asked for that when it was there.
func TestKeptOrphan(t *testing.T) {
	inRig(t, func(r *rig) {
		r.beginWithOrphan()
		r.cloud.set(func(p *plain) { p.balancers["uid-lost"].kept = true })
		<-time.After(4 * driftPeriod)
		want(r, "load balancers", len(r.cloud.has()), 2)
		if told := strings.Join(r.toldInFull(), " "); !strings.Contains(told,
			"It is kept, because its Service had the annotation on-delete: keep.") {
			t.Errorf("told %s", told)
		}
	})
}

// TestLargeOrphan goes at the pace of a deletion: what one look may write does not make the next one wait.
func TestLargeOrphan(t *testing.T) {
	inRig(t, func(r *rig) {
		r.beginWithOrphan()
		r.cloud.set(func(p *plain) { p.balancers["uid-lost"].parts = 10 * maxWrites })
		<-time.After(2 * driftPeriod)
		r.settle()
		want(r, "load balancers", len(r.cloud.has()), 1)
		wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer",
			"Warning LoadBalancerOrphaned",
			"Normal DeletingLoadBalancer", "Normal DeletedLoadBalancer")
		<-time.After(3 * driftPeriod)
		wantList(r, "events afterwards", r.told())
	})
}

// TestOrphanThatFailsToGo is tried again, and no more once it does not count as one: most of what there is may be
// orphans by then.
func TestOrphanThatFailsToGo(t *testing.T) {
	inRig(t, func(r *rig) {
		r.beginWithOrphan()
		r.cloud.set(func(p *plain) { p.refusing = errAway })
		<-time.After(3 * driftPeriod)
		r.cloud.set(func(p *plain) {
			for _, uid := range []types.UID{"uid-1", "uid-2", "uid-3"} {
				p.balancers[uid] = &plainBalancer{owner: namespaced(string(uid)), address: string(uid)}
			}
		})
		<-time.After(3 * driftPeriod)
		r.cloud.set(func(p *plain) { p.refusing = nil })
		<-time.After(3 * driftPeriod)
		want(r, "load balancers", len(r.cloud.has()), 5)
		r.cloud.set(func(p *plain) {
			for _, uid := range []types.UID{"uid-1", "uid-2", "uid-3"} {
				delete(p.balancers, uid)
			}
		})
		<-time.After(3 * driftPeriod)
		want(r, "load balancers when it is alone again", len(r.cloud.has()), 1)
	})
}

// TestOrphanWithoutNamespace: nothing can be said in a namespace that may be gone, so it is said about the namespace.
func TestOrphanWithoutNamespace(t *testing.T) {
	for _, inhabited := range []bool{false, true} {
		inRig(t, func(r *rig) {
			r.start(1)
			r.stop()
			r.recorder = true
			r.orphan()
			about, where := "Namespace shop", "default"
			if inhabited {
				r.addService("web")
				about, where = "Service lost", "shop"
			}
			r.start(1)
			<-time.After(3 * driftPeriod)
			events, err := r.cluster.CoreV1().Events(where).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, event := range events.Items {
				if event.Reason == reasonOrphaned {
					found = append(found, event.InvolvedObject.Kind+" "+event.InvolvedObject.Name)
				}
			}
			wantList(r, "events in namespace "+where, found, about)
		})
	}
}
