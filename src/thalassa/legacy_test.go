package thalassa

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/formertest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// legacyOf is what the existing CCM leaves in the cloud for a Service.
func legacyOf(s *corev1.Service, additional map[string]string) formertest.Objects {
	return formertest.Of("k8s-test", s, additional)
}

// plant makes the objects in the cloud, with all nodes as targets, and resets the counters.
func (l *lab) plant(old formertest.Objects, nodes []*corev1.Node) {
	l.Helper()
	var machines []string
	for _, node := range nodes {
		machines = append(machines, machineOf(node))
	}
	old.Plant(l, l.api(), machines...)
	l.emulator.ResetCounters()
}

// annotated returns what puts annotations of this cloud, name and value in turn, on a Service.
func annotated(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for pair := range slices.Chunk(pairs, 2) {
			s.Annotations[label.AnnotationPrefix+pair[0]] = pair[1]
		}
	}
}

// TestTakeoverOfALeak: when its additional labels change, the existing CCM does not find its target groups any more,
// makes a second set and keeps the first for ever. And it never changes the labels of a load balancer.
func TestTakeoverOfALeak(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.config.AdditionalLabels = map[string]string{"team": "till"}
	l.restart()
	nodes, web := l.nodes("a"), service("web", 80)
	old := legacyOf(web, l.config.AdditionalLabels)
	old.Balancer.Labels = legacyOf(web, map[string]string{"team": "shop"}).Balancer.Labels
	old.Groups = append(old.Groups, legacyOf(web, map[string]string{"team": "shop"}).Groups...)
	l.plant(old, nodes)
	served := l.balancer().LoadbalancerListeners[0].TargetGroup.Identity
	if reason := l.reasonsOf(web,
		nodes)["delete target group"]; reason != "port 80/TCP has another target group, and nothing uses this one" {
		t.Errorf("the target group that was left over goes because %q", reason)
	}
	l.settle(web, nodes)
	if got := l.group().Identity; got != served {
		t.Errorf("target group %s is left, want %s, which the listener uses", got, served)
	}
	if got := l.balancer().Labels["team"]; got != "till" {
		t.Errorf("label team = %q, want the new one", got)
	}
	if writes := l.writes(); len(writes) != 2 {
		t.Errorf("writes = %v; want one for the labels and one for the group that was left over", writes)
	}
}

// reasonsOf are the reasons of the writes of the Service's next sync, by verb and kind.
func (l *lab) reasonsOf(s *corev1.Service, nodes []*corev1.Node) map[string]string {
	l.Helper()
	found, err := l.cloud.balancers.Diff(l.Context(), s, cloud.ChooseTargets(nodes, l.cloud.balancers.Identify), false)
	if err != nil {
		l.Fatal(err)
	}
	reasons := map[string]string{}
	for _, write := range found.Plan {
		reasons[string(write.Verb)+" "+write.Kind] = write.Why
	}
	return reasons
}
