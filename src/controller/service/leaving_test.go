package service

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/cloud-provider/service/helpers"
)

const otherClass = "example.com/theirs"

// becomes changes the type and the class of a Service.
func becomes(kind corev1.ServiceType, class string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type, s.Spec.LoadBalancerClass = kind, &class
		if kind != corev1.ServiceTypeLoadBalancer {
			s.Status.LoadBalancer = corev1.LoadBalancerStatus{} // as the API server does
		}
	}
}

// otherController writes its finalizer, address and condition into a Service of its class.
func otherController(s *corev1.Service) {
	if !helpers.HasLBFinalizer(s) {
		s.Finalizers = append(s.Finalizers, helpers.LoadBalancerCleanupFinalizer)
	}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: "example.com/Ready",
		Status: metav1.ConditionTrue})
}

// changes are made to a Service one after the other.
type changes = []func(*corev1.Service)

// moments are when a Service is changed.
func moments() map[string]func(r *rig, changes changes) {
	return map[string]func(r *rig, changes changes){
		"slowly": func(r *rig, changes changes) {
			for _, change := range changes {
				r.changeService("web", change)
				r.waitForSync()
			}
		},
		"at once": func(r *rig, changes changes) {
			r.changeService("web", func(s *corev1.Service) {
				for _, change := range changes {
					change(s)
				}
			})
		},
		"while no process runs": func(r *rig, changes changes) {
			r.stop()
			for _, change := range changes {
				r.changeService("web", change)
			}
			r.start(1)
		},
		"around a new leader": func(r *rig, changes changes) {
			for i, change := range changes {
				r.changeService("web", change)
				if i == 0 {
					r.stop()
				}
			}
			r.start(1)
		},
		"during an outage": func(r *rig, changes changes) {
			r.cloud.set(func(p *fakeCloud) { p.callErr, p.deleteErr = errUnavailable, errUnavailable })
			for _, change := range changes {
				r.changeService("web", change)
				r.waitForSync()
			}
			r.cloud.set(func(p *fakeCloud) { p.callErr, p.deleteErr = nil, nil })
		},
		"and the process stops before the last write": func(r *rig, changes changes) {
			crashed := false
			forbid := func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch, ok := action.(clienttesting.PatchAction)
				last := ok && (strings.Contains(string(patch.GetPatch()), "finalizers") ||
					strings.Contains(string(patch.GetPatch()), `"$patch":"delete"`))
				return last && !crashed, nil, errUnavailable
			}
			r.cluster.PrependReactor("patch", "services", forbid)
			for _, change := range changes {
				r.changeService("web", change)
				r.waitForSync()
			}
			r.stop()
			crashed = true
			r.start(1)
		},
	}
}

// TestServiceThatLeaves: however and whenever a Service stops to need a load balancer of this controller, a minute
// after its deletion neither the cloud nor the Service has anything of this controller. What another controller wrote
// stays.
func TestServiceThatLeaves(t *testing.T) {
	clusterIP := becomes(corev1.ServiceTypeClusterIP, "")
	classed := becomes(corev1.ServiceTypeLoadBalancer, otherClass)
	ways := map[string]struct {
		changes changes
		foreign bool // another controller has written to it in the end
	}{
		"deletion":               {},
		"type":                   {changes: changes{clusterIP}},
		"ExternalName":           {changes: changes{becomes(corev1.ServiceTypeExternalName, "")}},
		"class":                  {changes: changes{clusterIP, classed}},
		"class, another follows": {changes{clusterIP, classed, otherController}, true},
		"class and back to none": {changes: changes{clusterIP, classed, clusterIP}},
	}
	for way, one := range ways {
		for moment, change := range moments() {
			t.Run(way+", "+moment, func(t *testing.T) {
				inRig(t, func(r *rig) {
					r.startWithService(1)
					change(r, one.changes)
					if len(one.changes) > 0 {
						<-time.After(time.Minute)
						r.wantReleased(one.foreign)
					}
					r.deleteService("web")
					<-time.After(time.Minute)
					r.wantReleased(one.foreign)
				})
			})
		}
	}
}

// wantReleased fails the test unless neither the cloud nor the Service has anything of this controller, and another
// controller's entries are in the Service if it wrote any.
func (r *rig) wantReleased(foreign bool) {
	r.Helper()
	want(r, "load balancers", len(r.cloud.contents()), 0)
	service, err := r.cluster.CoreV1().Services("shop").Get(r.Context(), "web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !foreign {
		return
	}
	want(r, "has conditions", hasConditions(service), false)
	want(r, "has the finalizer", helpers.HasLBFinalizer(service), foreign)
	want(r, "has addresses", len(service.Status.LoadBalancer.Ingress) > 0, foreign)
	want(r, "has another's condition", len(service.Status.Conditions) > 0, foreign)
}

// TestConfiguredClassChanges: if only the configured class changes, nothing is deleted or released until the Service is
// deleted or gets another type, even if another controller serves it meanwhile.
func TestConfiguredClassChanges(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"deletion": func(r *rig) { r.deleteService("web") },
		"type": func(r *rig) {
			r.changeService("web", becomes(corev1.ServiceTypeClusterIP, ""))
			<-time.After(time.Minute)
			r.deleteService("web")
		},
	} {
		for _, foreign := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inRig(t, func(r *rig) {
					r.behaviour.Class = otherClass
					r.start(1)
					r.addService("web", becomes(corev1.ServiceTypeLoadBalancer, otherClass))
					r.waitForSync()
					r.stop()
					r.behaviour.Class = "example.com/new"
					r.start(1)
					r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
					if foreign {
						r.changeService("web", otherController)
					}
					r.takeKubernetesWrites()
					<-time.After(3 * driftPeriod)
					want(r, "load balancers", len(r.cloud.contents()), 1)
					wantList(r, "writes to Kubernetes", r.takeKubernetesWrites())
					end(r)
					<-time.After(time.Minute)
					r.wantReleased(foreign && name == "deletion")
				})
			})
		}
	}
}

// TestForeignFinalizer: a finalizer of another controller, which has the same name, stays in a Service that this
// controller never managed, before and after a restart, also while it is not certain that the cloud has no objects of
// the Service, and during an outage, and there is no event. If the cloud has objects of the Service, as after the
// change from a controller without conditions, they are deleted, and the finalizer is removed, also if the first lists
// of the process lack them.
func TestForeignFinalizer(t *testing.T) {
	for name, tt := range map[string]struct{ exists, late, uncertain, outage bool }{
		"it has nothing": {}, "it has nothing after a minute": {uncertain: true}, "an outage": {outage: true},
		"it has objects": {exists: true}, "it has objects, which are listed late": {exists: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				web := r.addService("web", func(s *corev1.Service) {
					s.Spec.Type = corev1.ServiceTypeClusterIP
					s.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
				})
				r.addService("other")
				left := map[types.UID]*fakeBalancer{web.UID: {address: "192.0.2.9", owner: types.NamespacedName{
					Namespace: web.Namespace, Name: web.Name}}}
				if tt.exists && !tt.late {
					maps.Copy(r.cloud.balancers, left)
				}
				if tt.uncertain {
					r.cloud.confirmed = time.Now().Add(time.Minute)
				}
				if tt.outage {
					r.cloud.deleteErr = errUnavailable
				}
				r.start(1)
				if tt.late {
					r.cloud.set(func(p *fakeCloud) { maps.Copy(p.balancers, left) })
				}
				<-time.After(3 * driftPeriod)
				r.cloud.set(func(p *fakeCloud) { p.deleteErr = nil })
				r.stop()
				r.start(1)
				want(r, "load balancers", len(r.cloud.contents()), 1)
				want(r, "has the finalizer", helpers.HasLBFinalizer(r.service("web")), !tt.exists)
				want(r, "has conditions", hasConditions(r.service("web")), false)
				wantList(r, "warnings", r.warnings())
			})
		})
	}
}

// TestAddressesAreRecordedWithoutAnAnswer: if the cloud is away at the first reconciliation after the upgrade from an
// older version, the addresses in the status are recorded as those of this controller.
func TestAddressesAreRecordedWithoutAnAnswer(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.stop()
		r.changeService("web", func(s *corev1.Service) {
			meta.RemoveStatusCondition(&s.Status.Conditions, conditionManaged)
			s.Spec.Ports[0].Port = 81
		})
		r.cloud.set(func(p *fakeCloud) { p.writeErr = errors.New("quota exceeded") })
		r.start(1)
		managed, _ := findCondition(r.service("web").Status.Conditions, conditionManaged)
		want(r, "recorded", managed.Message, `Class: "". Addresses: "192.0.2.1"`)
	})
}

// TestDeletedByHandAfterAnotherClass: a Service that is not managed any more because of the configuration, and whose
// load balancer was deleted in the cloud, can be deleted.
func TestDeletedByHandAfterAnotherClass(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.stop()
		r.behaviour.Class, r.behaviour.OnlyClass = otherClass, true
		r.start(1)
		r.cloud.set(func(p *fakeCloud) { clear(p.balancers) })
		r.deleteService("web")
		<-time.After(time.Minute)
		r.wantReleased(false)
	})
}

// TestServiceVanishesBeforeItIsClaimed: if the finalizer is removed by hand at the moment of the claim, the load
// balancer is deleted nevertheless.
func TestServiceVanishesBeforeItIsClaimed(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.addService("web", becomes(corev1.ServiceTypeClusterIP, ""), func(s *corev1.Service) {
			s.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		})
		r.cloud.balancers[web.UID] = &fakeBalancer{address: "192.0.2.9"}
		vanish := func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.Join(apierrors.NewNotFound(corev1.Resource("services"), "web"),
				r.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), "shop", "web"))
		}
		r.cluster.PrependReactor("patch", "services", vanish)
		r.start(1)
		want(r, "load balancers", len(r.cloud.contents()), 0)
	})
}

// TestServicesOfAnOlderVersion: an older version recorded neither class nor addresses. A Service of another class that
// it left with the finalizer and its other conditions is released when it is deleted.
func TestServicesOfAnOlderVersion(t *testing.T) {
	now := metav1.Now()
	for name, exists := range map[string]bool{"nothing left": false, "its address": true} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				made := becomes(corev1.ServiceTypeLoadBalancer, otherClass)
				web := r.addService("web", made, func(s *corev1.Service) {
					s.Finalizers, s.DeletionTimestamp = []string{helpers.LoadBalancerCleanupFinalizer}, &now
					s.Status.Conditions = []metav1.Condition{{Type: conditionProvisioned, Status: metav1.ConditionTrue,
						Reason: reasonProvisioned}}
					if exists {
						s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.9"}}
					}
				})
				if exists {
					r.cloud.balancers[web.UID] = &fakeBalancer{address: "192.0.2.9"}
				}
				r.start(1)
				<-time.After(time.Minute)
				r.wantReleased(false)
			})
		})
	}
}
