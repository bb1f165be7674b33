package service

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// forbidEndpoints lets the API server forbid EndpointSlices for later processes, until allow is called.
func (r *rig) forbidEndpoints() (allow func()) {
	var allowed atomic.Bool
	r.cluster.PrependWatchReactor("endpointslices", func(action clienttesting.Action) (bool, watch.Interface, error) {
		_, _, err := forbid(action)
		return !allowed.Load(), nil, err
	})
	r.cluster.PrependReactor("list", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, _, err := forbid(action)
		return !allowed.Load(), nil, err
	})
	return func() { allowed.Store(true) }
}

func localPolicy(service *corev1.Service) {
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

// TestEndpointsForbidden: if the permissions are those of an older chart, every Service is reconciled, but the targets
// of Services with the policy Local do not change. Events report it, and the targets are updated as soon as
// EndpointSlices can be read.
func TestEndpointsForbidden(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.setEndpoints("near", "a")
		r.addService("near", localPolicy)
		r.addService("gone", localPolicy)
		r.waitForSync()
		allow := r.forbidEndpoints()
		r.stop()
		r.events()
		r.setEndpoints("near", "b")
		r.setEndpoints("next", "b")
		r.start(1)
		r.deleteService("gone")
		<-time.After(endpointsTimeout)
		r.addService("web")
		r.addService("next", localPolicy)
		r.changeService("near", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		<-time.After(time.Minute)
		want(r, "a Service that needs no endpoints", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		want(r, "one that does keeps its nodes, and gets its port", r.cloud.contents()["near"],
			"81/TCP to 30080 on vm-a")
		want(r, "a new one gets none", r.cloud.contents()["next"], "80/TCP to 30080 on ")
		want(r, "one that was deleted", r.cloud.contents()["gone"], "")
		for name, wanted := range map[string]string{"web": "True AsWanted", "near": "False EndpointsNotRead",
			"next": "False EndpointsNotRead"} {
			want(r, "condition of "+name, r.condition(name, "LoadBalancerTargetsComplete"), wanted)
		}
		warnings := r.warnings()
		want(r, "warnings", len(warnings), 2) // one for each Service
		if text := strings.Join(warnings, "\n"); !strings.Contains(text, "list and watch endpointslices") {
			t.Errorf("no text says what is to be permitted:\n%s", text)
		}

		allow()
		<-time.After(2 * time.Minute) // client-go retries at least once a minute
		want(r, "where the endpoint is now", r.cloud.contents()["near"], "81/TCP to 30080 on vm-b")
		want(r, "the new one", r.cloud.contents()["next"], "80/TCP to 30080 on vm-b")
		want(r, "condition", r.condition("near", "LoadBalancerTargetsComplete"), "True AsWanted")
		r.setEndpoints("near", "a")
		r.waitForSync()
		want(r, "and from now on", r.cloud.contents()["near"], "81/TCP to 30080 on vm-a")
	})
}

// TestNoWarningWhileEndpointsAreListed: a short delay causes no event.
func TestNoWarningWhileEndpointsAreListed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.setEndpoints("near", "a")
		r.addService("near", localPolicy)
		r.waitForSync()
		allow := r.forbidEndpoints()
		r.stop()
		r.events()
		r.setEndpoints("near", "b")
		r.start(1)
		allow()
		<-time.After(endpointsTimeout)
		want(r, "it leads to", r.cloud.contents()["near"], "80/TCP to 30080 on vm-b")
		wantList(r, "warnings", r.warnings())
	})
}

// TestStopWithoutEndpoints: a process that cannot read EndpointSlices stops at once, before and after endpointsTimeout.
func TestStopWithoutEndpoints(t *testing.T) {
	for _, after := range []time.Duration{endpointsTimeout / 2, 2 * endpointsTimeout} {
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
