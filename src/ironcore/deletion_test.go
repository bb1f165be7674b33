package ironcore

import (
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// TestDeletedOnce: while the watches are behind, neither a load balancer that a finalizer holds is deleted again, nor a
// routing that does not exist any more. Meanwhile, the watches report versions from before the deletion.
func TestDeletedOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.withoutGC(20 * time.Second)
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		r.removeSelector(serviceName)
		pass(time.Minute)
		r.server.DelayEvents(10 * time.Second)
		r.touchObjects()
		pass(5 * time.Second)
		observed, err := c.balancers.read(r.ctx, service()) // the store is behind
		want(r, "error", err, nil)
		found := balancer.PlanDelete(c.balancers.config, service(), observed)
		r.apply(c, service(), found.Plan)
		want(r, "routings", len(r.server.LoadBalancerRoutings()), 0)
		for range 40 {
			found := r.planDelete(c, service(), false)
			want(r, "plan", found.Plan.String(), "")
			if len(r.server.LoadBalancers()) > 0 {
				want(r, "exists", found.Exists, true)
			}
			pass(time.Second)
		}
		want(r, "exists at the end", r.planDelete(c, service(), false).Exists, false)
		want(r, "deletions", r.deletions(), "delete loadbalancerroutings/"+serviceName+", delete loadbalancers/"+
			serviceName)
	})
}

// TestCreatedAfterDeletion: a load balancer that is created again while the watches report the former one exists.
func TestCreatedAfterDeletion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.withoutGC(0)
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		r.removeSelector(serviceName)
		pass(time.Minute)
		r.server.DelayEvents(10 * time.Second)
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		want(r, "exists until the watch reports the end", r.planDelete(c, service(), true).Exists, true)
		pass(time.Minute)
		want(r, "exists", r.planDelete(c, service(), false).Exists, false)
		r.reconcile(c, service(), "a")
		for range 70 {
			want(r, "plan", r.diff(c, service(), "a").Plan.String(), "")
			pass(time.Second)
		}
	})
}

// removeSelector makes the load balancer one that was created before those without targets of IronCore had a selector:
// its routing is deleted by this program.
func (r *rig) removeSelector(name string) {
	r.Helper()
	r.server.ChangeLoadBalancer(name, func(l *networkingv1alpha1.LoadBalancer) {
		l.Spec.NetworkInterfaceSelector = nil
	})
}

// TestDeletionWaitsWithoutRequests: while a finalizer keeps a load balancer, and when the watch reports that it is
// gone, nothing is read.
func TestDeletionWaitsWithoutRequests(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		pass(time.Minute)
		r.server.ForgetRequests()
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		want(r, "exists after the writes", r.planDelete(c, service(), true).Exists, true)
		pass(provision / 2)
		want(r, "exists", r.planDelete(c, service(), false).Exists, true)
		pass(provision)
		want(r, "exists at the end", r.planDelete(c, service(), false).Exists, false)
		want(r, "reads", r.reads(), 0)
		want(r, "writes", len(r.server.Writes()), 1)
		pass(2 * time.Minute) // longer than the process remembers that the watch has reported the deletion
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.Unreachable) })
		_, err := c.balancers.PlanDelete(r.ctx, service(), true)
		want(r, "an error if it cannot be read", err != nil, true)
	})
}

// TestLostCreationAfterDeletion: a load balancer that may have been created after the deletion of the former one is
// looked for, although the watch has reported that deletion.
func TestLostCreationAfterDeletion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		pass(time.Minute)
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		pass(provision + time.Second)
		want(r, "exists", r.planDelete(c, service(), false).Exists, false)
		r.server.DelayEvents(time.Minute)
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if request.IsWrite() {
				return simulator.Fault(simulator.ResponseLost)
			}
			return nil
		})
		_, err := c.balancers.Apply(r.ctx, service(), r.diff(c, service(), "a").Plan)
		want(r, "the answer is lost", err != nil, true)
		r.server.Fail(nil)
		want(r, "load balancers", len(r.server.LoadBalancers()), 1)
		want(r, "exists", r.planDelete(c, service(), false).Exists, true)
	})
}

// deletions returns the deletions that were requested, in order.
func (r *rig) deletions() string {
	return strings.Join(slices.DeleteFunc(r.server.Writes(), func(write string) bool {
		return !strings.HasPrefix(write, "delete ")
	}), ", ")
}
