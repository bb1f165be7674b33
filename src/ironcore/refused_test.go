package ironcore

import (
	"errors"
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

// TestRefusedLoadBalancer: if IronCore does not permit the load balancer, an event on the Service has its answer. When
// it does, the load balancer is created without a change of the Service. A quota is never the reason: IronCore counts
// machines, volumes and buckets, and refuses a ResourceQuota with the name of another resource, such as
// count/loadbalancers.networking.ironcore.dev ("must be a valid resource name").
func TestRefusedLoadBalancer(t *testing.T) {
	const reason = `User "ccm" cannot patch resource "loadbalancers"`
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(logr.Logger{}, node("a"))
		r.refuse("loadbalancers", reason)
		c.addService()
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		events := c.eventsWith("SyncLoadBalancerFailed")
		if len(events) == 0 || len(events) > 5 {
			t.Fatalf("got %d events, want one for each step of the back-off: %q", len(events), events)
		}
		wantText(r, "event", events[0], "Warning", reason)
		r.server.Fail(nil)
		workerpooltest.Pass(10 * time.Minute)
		want(r, "address", firstAddress(c.service().Status.LoadBalancer), "192.0.2.1")
	})
}
