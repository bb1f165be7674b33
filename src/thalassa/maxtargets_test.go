package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// targetCount wants so many targets of all target groups, which are the same ones, and returns them.
func (l *lab) targetCount(what string, want int) []string {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil || len(groups) == 0 {
		l.Fatalf("%s: %d target groups, error %v", what, len(groups), err)
	}
	machines := l.machines(groups[0].Name)
	for _, group := range groups {
		if others := l.machines(group.Name); len(others) != want || !slices.Equal(others, machines) {
			l.Errorf("%s: the targets are %v and %v, want %d", what, machines, others, want)
		}
	}
	return machines
}

// TestMaxTargets of the cluster and of a Service: how many targets a load balancer has.
func TestMaxTargets(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster int
		apply   func(*corev1.Service)
		want    int
	}{
		"by default":               {0, annotated(), 5},
		"of the cluster":           {2, annotated(), 2},
		"of the Service":           {2, annotated("max-targets", "3"), 3},
		"more than there are":      {2, annotated("max-targets", "10000"), 5},
		"no limit for the Service": {2, annotated("max-targets", "0"), 5},
		"invalid":                  {2, annotated("max-targets", "many"), 2},
		"invalid, and no limit":    {0, annotated("max-targets", "many"), 5},
		"policy Local":             {2, func(s *corev1.Service) { local(s, true) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				l.config.LoadBalancer.MaxTargets = tt.cluster
				l.restart()
				l.settle(serviceWith(tt.apply), l.nodes("a", "b", "c", "d", "e"))
				l.targetCount(name, tt.want)
			})
		})
	}
}

// TestMaxTargetsOfTakenOverLoadBalancer: the limit of the cluster applies, although defaults of annotations do not. At
// most half of the targets leave at once.
func TestMaxTargetsOfTakenOverLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d", "e"), service("web", 80)
		setReady(nodes)
		l.plant(legacyOf(web, nil), nodes)
		l.settle(web, nodes)
		l.targetCount("without a limit", 5)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		for _, want := range []int{5, 3, 2, 2} {
			l.settle(web, nodes)
			l.targetCount("with a limit", want)
			<-time.After(untilSettled)
		}
	})
}

// untilSettled is the time without changes after which targets leave that others have replaced.
const untilSettled = 5 * time.Minute

// TestMaxTargetsChanges: a new limit keeps the targets that stay, and one that cannot be read removes none. Their
// number does not stay low after machines were missing for a while.
func TestMaxTargetsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		nodes, web := l.nodes("a", "b", "c", "d", "e"), service("web", 80)
		setReady(nodes)
		l.settle(web, nodes)
		two := l.targetCount("two", 2)
		annotated("max-targets", "3")(web)
		l.settle(web, nodes)
		three := l.targetCount("three", 3)
		if !slices.Contains(three, two[0]) || !slices.Contains(three, two[1]) {
			t.Errorf("%v became %v", two, three)
		}
		for _, pair := range [][]string{{"max-targets", "-1"}, {"max-target", "1"}} {
			l.warnings()
			annotated(pair...)(web)
			l.settle(web, nodes)
			if now := l.targetCount("invalid", 3); !slices.Equal(now, three) {
				t.Errorf("%v became %v because of an invalid annotation", three, now)
			}
			l.reported(pair[0], reasonAnnotation, "loadbalancer.k8s.thalassa.cloud/"+pair[0])
			delete(web.Annotations, "loadbalancer.k8s.thalassa.cloud/"+pair[0])
		}
		annotated("max-targets", "many")(web)
		l.settle(web, nodes)
		<-time.After(untilSettled)
		l.settle(web, nodes)
		l.targetCount("invalid for long", 3)
		l.settle(web, nodes[:1])
		l.targetCount("one node", 1)
		l.settle(web, nodes)
		l.targetCount("the nodes are back", 2)
	})
}

// TestMaxTargetsOfExcludedNodes: other nodes take the places of nodes that may receive no traffic.
func TestMaxTargetsOfExcludedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		before := l.targetCount("before", 2)
		for _, node := range nodes {
			if node.Spec.ProviderID == providerid.Of(before[0]) || node.Spec.ProviderID == providerid.Of(before[1]) {
				node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
			}
		}
		l.settle(web, nodes)
		if after := l.targetCount("without the excluded ones", 2); slices.Contains(after, before[0]) ||
			slices.Contains(after, before[1]) {
			t.Errorf("%v became %v although these nodes are excluded", before, after)
		}
	})
}

// TestMaxTargetsWithPolicyLocal: an event says that the annotation has no effect.
func TestMaxTargetsWithPolicyLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		l.reported("policy Cluster")
		local(web, true)
		l.settle(web, nodes)
		l.targetCount("policy Local", 3)
		l.reported("policy Local", reasonUnsupported, "max-targets has no effect while spec.externalTrafficPolicy is "+
			"Local")
	})
}

// TestMaxTargetsReplacesMachines: the place of a machine that does not exist any more is taken, by one write for
// each port, also while its Node exists.
func TestMaxTargetsReplacesMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		before := l.targetCount("before", 2)
		if err := l.emulator.DeleteMachine(before[0]); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * driftPeriod)
		if err := l.cloud.inventory.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.emulator.ResetCounters()
		l.settle(web, nodes)
		after := l.targetCount("after", 2)
		if !slices.Contains(after, before[1]) || slices.Contains(after, before[0]) {
			t.Errorf("%v became %v, want that only %s is replaced", before, after, before[0])
		}
		if writes := l.writes(); len(writes) != 2 {
			t.Errorf("the writes are %v, want one for each port", writes)
		}
	})
}

// setReady sets the condition Ready of the nodes.
func setReady(nodes []*corev1.Node) {
	for _, node := range nodes {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
}

// machinesWithout returns the machines of the nodes that are not in the list, sorted.
func machinesWithout(nodes []*corev1.Node, machines []string) []string {
	var others []string
	for _, node := range nodes {
		if machine, _ := identify(node); !slices.Contains(machines, machine) {
			others = append(others, machine)
		}
	}
	slices.Sort(others)
	return others
}

// TestMaxTargetsAndNodesLeftOut: a node whose machine does not exist is reported for the Services that it would be a
// target of, and for no others.
func TestMaxTargetsAndNodesLeftOut(t *testing.T) {
	for name, selected := range map[string]bool{"a target": true, "another node": false, "a target, ready": true,
		"another node, ready": false} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes, web := l.nodes("a", "b", "c", "d"), serviceWith(annotated("max-targets", "2"))
			if strings.Contains(name, "ready") {
				setReady(nodes)
			}
			l.settle(web, nodes)
			before := l.targetCount("before", 2)
			gone := before[0]
			if !selected {
				gone = machinesWithout(nodes, before)[0]
			}
			l.watching(web)
			if err := l.emulator.DeleteMachine(gone); err != nil {
				t.Fatal(err)
			}
			l.warnings()
			<-time.After(time.Hour)
			after := l.targetCount(name, 2)
			if slices.Contains(after, gone) || !selected && !slices.Equal(after, before) {
				t.Errorf("%s: %v became %v without %s", name, before, after, gone)
			}
			if messages := l.reportedLeftOut(); len(messages) > 0 != selected {
				t.Errorf("%s: reported are %v", name, messages)
			}
		})
	}
}

// preferredFirst returns the machines of the nodes in the order in which they take places of the Service.
func preferredFirst(nodes []*corev1.Node, service *corev1.Service) []string {
	ready := make([]*corev1.Node, len(nodes))
	for i, node := range nodes {
		ready[i] = node.DeepCopy()
	}
	setReady(ready)
	return balancer.NewCandidates(cloud.ChooseTargets(ready, identify)).Choose(string(service.UID), len(nodes))
}

// machineOf returns the machine of a node.
func machineOf(node *corev1.Node) string {
	machine, _ := identify(node)
	return machine
}
