package service

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// drains returns an endpoint on a node that is terminating, and serves.
func drains(node string) discoveryv1.Endpoint { return endpoint(node, "Rst") }

// ready returns a ready endpoint on a node.
func ready(node string) discoveryv1.Endpoint { return endpoint(node, "rs") }

// inLocalRig runs a test in a rig with the nodes a, b and c, and a Service with the policy Local and a ready endpoint
// on node a, which is its target.
func inLocalRig(t *testing.T, test func(*rig)) {
	t.Helper()
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.start(2)
		r.setSlice("web", ready("a"))
		r.addService("web", localPolicy)
		r.waitForSync()
		want(r, "targets at first", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		r.cloud.takeWrites()
		test(r)
	})
}

// The writes when the only endpoint moves from node a to node b.
const (
	bComes  = "update load balancer web: [vm-a] becomes [vm-a vm-b]"
	aLeaves = "update load balancer web: [vm-a vm-b] becomes [vm-b]"
)

// setAndTake sets the endpoints of the Service, and returns the writes that follow.
func (r *rig) setAndTake(all ...discoveryv1.Endpoint) []string {
	r.Helper()
	r.setSlice("web", all...)
	r.waitForSync()
	return r.cloud.takeWrites()
}

// TestRollingUpdateOfLocal: a node stays a target until its last endpoint does not serve any more. One write adds the
// next node, one removes the node before.
func TestRollingUpdateOfLocal(t *testing.T) {
	for name, steps := range map[string][][]discoveryv1.Endpoint{
		"the next one is ready before": {{ready("a"), ready("b")}, {drains("a"), ready("b")}, {ready("b")}},
		"the next one is ready after":  {{drains("a")}, {drains("a"), ready("b")}, {ready("b")}},
		"both at once":                 {{drains("a"), ready("b")}, {endpoint("a", "RSt"), ready("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			inLocalRig(t, func(r *rig) {
				var writes []string
				for _, step := range steps {
					writes = append(writes, r.setAndTake(step...)...)
				}
				wantList(r, "writes", writes, bComes, aLeaves)
				want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
				for _, one := range r.events() {
					if one == "Warning LoadBalancerDrifted" {
						t.Errorf("event %s", one)
					}
				}
			})
		})
	}
}

// TestDrainingNodeStaysOverARestart: the targets in the cloud are enough to keep it, so a take-over writes nothing.
func TestDrainingNodeStaysOverARestart(t *testing.T) {
	inLocalRig(t, func(r *rig) {
		r.setAndTake(drains("a"), ready("b"))
		r.stop()
		r.start(2)
		r.waitForSync()
		wantList(r, "writes of the next process", r.cloud.takeWrites())
		wantList(r, "writes at the end", r.setAndTake(ready("b")), aLeaves)
	})
}
