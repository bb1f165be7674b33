package ironcore

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestDrainingTarget: the machine of a Node whose last endpoints are terminating stays a destination until they end,
// and becomes none.
func TestDrainingTarget(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		c := r.start()
		web := service(func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		r.reconcile(c, web, "a")
		before := r.destinations(serviceName)
		onB, draining := map[string]bool{"b": true}, map[string]bool{"a": true}
		move := func(draining map[string]bool) cloud.Plan {
			found, err := c.balancers.Diff(r.ctx, web, targets(c, "a", "b").On(onB, draining), false)
			want(r, "error", err, nil)
			r.apply(c, web, found.Plan)
			return found.Plan
		}
		want(r, "writes that add the next one", len(move(draining)), 1)
		want(r, "destinations", r.destinations(serviceName), before+" 10.0.0.2")
		want(r, "writes while it drains", len(move(draining)), 0)
		want(r, "writes that remove the one before", len(move(nil)), 1)
		want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
		want(r, "writes if it drains again", len(move(draining)), 0)
	})
}
