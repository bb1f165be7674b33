package ironcore

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// faults are the answers that a request can get instead of its own.
func faults() map[string]*metav1.Status {
	resource := schema.GroupResource{Group: "networking.ironcore.dev", Resource: "test"}
	return map[string]*metav1.Status{
		"unreachable":   simulator.Fault(simulator.Unreachable),
		"response lost": simulator.Fault(simulator.ResponseLost),
		"conflict":      statusOf(apierrors.NewConflict(resource, "test", errors.New("modified"))),
		"forbidden":     statusOf(apierrors.NewForbidden(resource, "test", errors.New("quota exceeded"))),
		"unavailable":   statusOf(apierrors.NewServiceUnavailable("overloaded")),
		"internal":      statusOf(apierrors.NewInternalError(errors.New("storage"))),
		"timeout":       statusOf(apierrors.NewTimeoutError("slow", 0)),
	}
}

func statusOf(err *apierrors.StatusError) *metav1.Status { return &err.ErrStatus }

// failAt lets the request with this number fail, from 0. Watches do not count. It returns whether it has.
func (r *rig) failAt(number int, fault *metav1.Status) (failed func() bool) {
	var count atomic.Int64
	r.server.Fail(func(request simulator.Request) *metav1.Status {
		if request.Verb == "watch" {
			return nil
		}
		if count.Add(1) == int64(number)+1 {
			return fault
		}
		return nil
	})
	return func() bool { return count.Load() > int64(number) }
}

// withoutGC replaces IronCore by one that collects no garbage.
func (r *rig) withoutGC(deletion time.Duration) {
	r.server = simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork,
		Provision: provision, Deletion: deletion, NoGC: true})
}

// eachFault runs a sequence of actions with each of the faults at each of its requests, after others that do not fail.
// Load balancers are removed some time after they are deleted. IronCore collects no garbage.
func eachFault(t *testing.T, deletion time.Duration, prepare, test func(r *rig)) {
	t.Helper()
	for name, fault := range faults() {
		for number, more := 0, true; more; number++ {
			t.Run(fmt.Sprintf("%s at %d", name, number), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					r.withoutGC(deletion)
					r.addMachine("a")
					r.addMachine("b")
					prepare(r)
					failed := r.failAt(number, fault)
					test(r)
					more = failed()
				})
			})
		}
	}
}

// startLate returns a cloud whose watches report later than a retry comes.
func (r *rig) startLate() *Cloud {
	r.Helper()
	c := r.start()
	r.server.DelayEvents(1500 * time.Millisecond)
	return c
}

// persist compares and writes until nothing differs, as a controller does: after an error, it tries again later.
func (r *rig) persist(c *Cloud, service *corev1.Service, nodes ...string) {
	r.Helper()
	for range 6 {
		found, err := c.balancers.Diff(r.ctx, service, targets(c, nodes...), false)
		if err == nil && len(found.Plan) == 0 && found.Refused == nil {
			return
		}
		if err == nil {
			_, _ = c.balancers.Apply(r.ctx, service, found.Plan) // the next comparison decides
		}
		pass(time.Second)
	}
	r.Fatal("the plans do not become empty")
}

// persistDelete deletes until nothing exists.
func (r *rig) persistDelete(c *Cloud, service *corev1.Service) {
	r.Helper()
	written := false
	for range 6 {
		found, err := c.balancers.PlanDelete(r.ctx, service, written)
		if err == nil && !found.Exists {
			return
		}
		if err == nil && len(found.Plan) > 0 {
			_, err = c.balancers.Apply(r.ctx, service, found.Plan)
		}
		written = err == nil
		pass(time.Minute)
	}
	r.Fatal("the load balancer is not deleted")
}

// TestFaultAtEachCall: whatever request fails, and how, the next comparisons complete what was begun, and a deletion
// leaves nothing.
func TestFaultAtEachCall(t *testing.T) {
	eachFault(t, provision, func(*rig) {}, func(r *rig) {
		c := r.startLate()
		r.persist(c, service(), "a")
		pass(time.Minute)
		address := r.balancer().Status.IPs[0]
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
		r.persist(c, service(setPort(443)), "a", "b")
		want(r, "port", r.balancer().Spec.Ports[0].Port, 443)
		want(r, "address", r.balancer().Status.IPs[0], address)
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		routing, _ := r.server.LoadBalancerRouting(serviceName)
		want(r, "owner", routing.OwnerReferences[0].UID, r.balancer().UID)
		r.persist(c, service(internalService("true")), "b")
		r.persistDelete(c, service())
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		want(r, "routings", len(r.server.LoadBalancerRoutings()), 0)
	})
}

// TestFaultAtEachRoute: the same holds for routes.
func TestFaultAtEachRoute(t *testing.T) {
	eachFault(t, provision, func(r *rig) { r.setPrefixes(interfaceOf("a"), ephemeral()) }, func(r *rig) {
		c := r.startLate()
		routes := c.offer().Routes
		try := func(write func() error) {
			for range 5 {
				if write() == nil {
					return
				}
				pass(time.Second)
			}
			r.Fatal("the route is not written")
		}
		try(func() error { return routes.Create(r.ctx, testNetwork, podsOf(1)) })
		want(r, "prefixes", r.prefixes(interfaceOf("a")), "ephemeral 10.244.1.0/24")
		moved := podsOf(1)
		moved.Gateway = podsOf(2).Gateway
		try(func() error {
			return routes.Change(r.ctx, testNetwork, cloud.ActualRoute{Destination: moved.Destination,
				Handle: interfaceOf("a")}, moved)
		})
		want(r, "prefixes of a", r.prefixes(interfaceOf("a")), "ephemeral")
		want(r, "prefixes of b", r.prefixes(interfaceOf("b")), "10.244.1.0/24")
		pass(2 * time.Second)
		for _, route := range r.routes(c) {
			try(func() error { return routes.Delete(r.ctx, testNetwork, route) })
		}
		want(r, "prefixes of b", r.prefixes(interfaceOf("b")), "")
	})
}

// TestFaultAtEachDeletion: a deletion leaves nothing, also if IronCore removes the load balancer at once, and its name
// does not contain the whole UID of the Service.
func TestFaultAtEachDeletion(t *testing.T) {
	eachFault(t, 0, func(r *rig) { r.former().ensure(legacyName, service(), "a") }, func(r *rig) {
		r.persistDelete(r.startLate(), service())
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		want(r, "routings", len(r.server.LoadBalancerRoutings()), 0)
	})
}

// TestRoutingIsLeft: a routing whose load balancer somebody has deleted is deleted with its Service.
func TestRoutingIsLeft(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.withoutGC(0)
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		r.server.Delete("LoadBalancer", serviceName)
		pass(time.Second)
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		want(r, "exists", r.planDelete(c, service(), false).Exists, true)
		r.persistDelete(c, service())
		want(r, "routings", len(r.server.LoadBalancerRoutings()), 0)
	})
}
