package ironcore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// refuse lets IronCore refuse all writes of a resource, for the reason.
func (r *rig) refuse(resource, reason string) {
	r.server.Fail(func(request simulator.Request) *metav1.Status {
		if request.Resource != resource || !request.IsWrite() {
			return nil
		}
		return statusOf(apierrors.NewForbidden(schema.GroupResource{Group: "networking.ironcore.dev",
			Resource: resource}, request.Name, errors.New(reason)))
	})
}

// TestQuota: if a quota of IronCore refuses the load balancer, an event on the Service says so, and what to do. When
// the quota is raised, the load balancer is created without a change of the Service.
func TestQuota(t *testing.T) {
	const exceeded = "exceeded quota: shoot, requested: count/loadbalancers.networking.ironcore.dev=1, " +
		"used: count/loadbalancers.networking.ironcore.dev=5, limited: count/loadbalancers.networking.ironcore.dev=5"
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(logr.Logger{}, node("a"))
		r.refuse("loadbalancers", exceeded)
		c.addService()
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		events := c.eventsWith("SyncLoadBalancerFailed")
		if len(events) == 0 || len(events) > 5 {
			t.Fatalf("got %d events, want one for each step of the back-off: %q", len(events), events)
		}
		wantText(r, "event", events[0], "Warning", "a quota in IronCore does not permit it", "delete Services",
			"raise the quota", exceeded)
		r.server.Fail(nil)
		workerpooltest.Pass(10 * time.Minute)
		want(r, "address", firstAddress(c.service().Status.LoadBalancer), "192.0.2.1")
	})
}

// TestForbiddenIsNoQuota: a permission that is missing is not reported as a quota.
func TestForbiddenIsNoQuota(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(logr.Logger{}, node("a"))
		r.refuse("loadbalancers", `User "ccm" cannot patch resource "loadbalancers"`)
		c.addService()
		events := c.eventsWith("SyncLoadBalancerFailed")
		if len(events) == 0 {
			t.Fatal("there is no event")
		}
		wantText(r, "event", events[0], `User "ccm" cannot patch`)
		want(r, "mentions a quota", strings.Contains(events[0], "quota"), false)
	})
}
