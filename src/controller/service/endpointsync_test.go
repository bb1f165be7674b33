package service

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// forbidEndpoints has the API server refuse EndpointSlices to processes that begin from now on, until allow is called.
func (r *rig) forbidEndpoints() (allow func()) {
	var allowed atomic.Bool
	r.cluster.PrependWatchReactor("endpointslices", func(action clienttesting.Action) (bool, watch.Interface, error) {
		_, _, err := refuse(action)
		return !allowed.Load(), nil, err
	})
	r.cluster.PrependReactor("list", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, _, err := refuse(action)
		return !allowed.Load(), nil, err
	})
	return func() { allowed.Store(true) }
}

func near(service *corev1.Service) {
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

// TestEndpointsForbidden, as under the permissions of an older chart: every Service is served, but those with the
// policy Local keep their nodes. Their owners hear of it, and all is done that was left out as soon as it can be.
func TestEndpointsForbidden(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.setEndpoints("near", "a")
		r.addService("near", near)
		r.addService("gone", near)
		r.settle()
		allow := r.forbidEndpoints()
		r.stop()
		r.told()
		r.setEndpoints("near", "b")
		r.setEndpoints("next", "b")
		r.start(1)
		r.deleteService("gone")
		<-time.After(endpointsGrace)
		r.addService("web")
		r.addService("next", near)
		r.changeService("near", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		<-time.After(time.Minute)
		want(r, "a Service that needs no endpoints", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		want(r, "one that does keeps its nodes, and gets its port", r.cloud.has()["near"], "81/TCP to 30080 on vm-a")
		want(r, "a new one gets none", r.cloud.has()["next"], "80/TCP to 30080 on ")
		want(r, "one that was deleted", r.cloud.has()["gone"], "")
		for name, wanted := range map[string]string{"web": "True AsWanted", "near": "False EndpointsNotRead",
			"next": "False EndpointsNotRead"} {
			want(r, "condition of "+name, r.condition(name, "LoadBalancerTargetsComplete"), wanted)
		}
		warnings := slices.DeleteFunc(r.toldInFull(), func(one string) bool {
			return !strings.HasPrefix(one, "Warning")
		})
		want(r, "warnings", len(warnings), 2) // one for each
		if told := strings.Join(warnings, "\n"); !strings.Contains(told, "list and watch endpointslices") {
			t.Errorf("nobody says what is to be permitted:\n%s", told)
		}

		allow()
		<-time.After(2 * time.Minute) // client-go asks at least once a minute
		want(r, "where the endpoint is now", r.cloud.has()["near"], "81/TCP to 30080 on vm-b")
		want(r, "the new one", r.cloud.has()["next"], "80/TCP to 30080 on vm-b")
		want(r, "condition", r.condition("near", "LoadBalancerTargetsComplete"), "True AsWanted")
		r.setEndpoints("near", "a")
		r.settle()
		want(r, "and from now on", r.cloud.has()["near"], "81/TCP to 30080 on vm-a")
	})
}

// TestEndpointsTakeTime: for a moment nobody is told anything.
func TestEndpointsTakeTime(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.setEndpoints("near", "a")
		r.addService("near", near)
		r.settle()
		allow := r.forbidEndpoints()
		r.stop()
		r.told()
		r.setEndpoints("near", "b")
		r.start(1)
		allow()
		<-time.After(endpointsGrace)
		want(r, "it leads to", r.cloud.has()["near"], "80/TCP to 30080 on vm-b")
		wantList(r, "warnings", slices.DeleteFunc(r.told(), func(one string) bool {
			return !strings.HasPrefix(one, "Warning")
		}))
	})
}

// TestEndWithoutEndpoints: a process that cannot read them ends when it is told to, early and late.
func TestEndWithoutEndpoints(t *testing.T) {
	for _, after := range []time.Duration{endpointsGrace / 2, 2 * endpointsGrace} {
		inRig(t, func(r *rig) {
			r.forbidEndpoints()
			r.start(1)
			<-time.After(after)
			began := time.Now()
			r.stop()
			want(r, "it took", time.Since(began) < time.Second, true)
		})
	}
}
