package thalassa

import (
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestDrainingTarget: one write adds the next node of a Service with the policy Local, and another removes the node
// before when that has drained. A limit of targets makes no difference.
func TestDrainingTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		annotated("max-targets", "1")(web)
		web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31000
		nodes := l.nodes("a", "b")
		l.settle(web, nodes[:1])
		id := func(node int) string { machine, _ := identify(nodes[node]); return machine }
		both := []string{id(0), id(1)}
		slices.Sort(both)
		type names = map[string]bool
		for _, step := range []struct {
			ready, draining names
			writes          int
			machines        []string
		}{
			{nil, names{"a": true}, 0, []string{id(0)}}, {names{"b": true}, names{"a": true}, 1, both},
			{names{"b": true}, names{"a": true}, 0, both}, {names{"b": true}, nil, 1, []string{id(1)}},
		} {
			targets := cloud.ChooseTargets(nodes, identify).On(step.ready, step.draining)
			plan := l.compare(web, targets).Plan
			if len(plan) != step.writes {
				t.Errorf("ready %v, draining %v: plan %v, want %d writes", step.ready, step.draining, plan, step.writes)
			}
			if _, err := l.cloud.balancers.Apply(t.Context(), web, plan); err != nil {
				t.Fatal(err)
			}
			if got := l.machines("a0a1b2c3dweb-p80"); !slices.Equal(got, step.machines) {
				t.Errorf("ready %v, draining %v: machines %v, want %v", step.ready, step.draining, got, step.machines)
			}
		}
	})
}
