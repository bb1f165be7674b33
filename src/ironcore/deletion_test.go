package ironcore

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDeletedOnce: while the watches are behind, neither a load balancer that a finalizer holds is deleted again, nor a
// routing that does not exist any more. Meanwhile, the watches report versions from before the deletion.
func TestDeletedOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.withoutGC(20 * time.Second)
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		pass(time.Minute)
		r.server.DelayEvents(10 * time.Second)
		r.touchObjects()
		pass(5 * time.Second)
		r.apply(c, service(), r.planDelete(c, service(), true).Plan)
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
		pass(time.Minute)
		r.server.DelayEvents(10 * time.Second)
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		want(r, "exists", r.planDelete(c, service(), true).Exists, false)
		pass(time.Minute)
		r.reconcile(c, service(), "a")
		for range 70 {
			want(r, "plan", r.diff(c, service(), "a").Plan.String(), "")
			pass(time.Second)
		}
	})
}

// deletions returns the deletions that were requested, in order.
func (r *rig) deletions() string {
	return strings.Join(slices.DeleteFunc(r.server.Writes(), func(write string) bool {
		return !strings.HasPrefix(write, "delete ")
	}), ", ")
}
