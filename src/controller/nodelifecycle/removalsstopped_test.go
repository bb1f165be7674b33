package nodelifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// numbered are names of Nodes.
func numbered(count int) []string {
	var names []string
	for n := range count {
		names = append(names, fmt.Sprintf("n%03d", n))
	}
	return names
}

// TestRemovalsStop: if more Nodes are missing than may be deleted, none is until there are fewer. That is reported
// once, and again after an hour.
func TestRemovalsStop(t *testing.T) {
	names := numbered(50)
	inBubble(t, names, func(r *rig) {
		r.settle()
		lost := names[:11]
		r.deleteMachines(lost...)
		r.pass(listAge + removalTime + time.Minute)
		r.want("Nodes, when 22 % would go", len(r.cluster.Nodes()), 50)
		r.want("blocked", r.blocked(blockedBudget), 11.0)
		text := strings.Join(r.events(), "\n")
		for part, want := range map[string]int{"NodeRemovalsStopped The machines of 11 Nodes are missing": 1,
			"NodeNotRemoved": 11, "DeletingNode": 0, "20 % of the Nodes": 12} {
			if count := strings.Count(text, part); count != want {
				r.Errorf("%d events %s, want %d:\n%s", count, part, want, text)
			}
		}
		r.fakeCloud.calls()
		r.pass(30 * time.Minute)
		r.want("Nodes three windows later", len(r.cluster.Nodes()), 50)
		r.want("events meanwhile", len(r.events()), 0)
		r.want("calls meanwhile", r.fakeCloud.calls(), "27 lists, 0 credential checks, 0 confirms")
		r.pass(30 * time.Minute)
		r.requireEvent("NodeRemovalsStopped")
		r.want("Nodes after an hour", len(r.cluster.Nodes()), 50)

		r.fakeCloud.machine(lost[0], cloud.MachineRunning)
		r.fakeCloud.calls()
		r.pass(listAge + removalTime)
		r.want("Nodes, when 20 % would go", len(r.cluster.Nodes()), 40)
		r.want("calls for ten of them", r.fakeCloud.calls(), "2 lists, 1 credential checks, 10 confirms")
		r.events()

		r.deleteMachines(names[20])
		r.pass(listAge + removalTime)
		r.want("Nodes, when one more would go in the same window", len(r.cluster.Nodes()), 40)
		r.requireEvent("NodeRemovalsStopped The machines of 1 Nodes are missing", "10 Nodes were deleted recently")
		r.pass(r.behaviour.RemovalWindow)
		r.want("Nodes in the next one", len(r.cluster.Nodes()), 39)
	})
}

// TestExpectedRemovalsDoNotCount: Nodes that are cordoned, or that the autoscaler removes, are deleted in any number,
// and others besides them.
func TestExpectedRemovalsDoNotCount(t *testing.T) {
	names := numbered(10)
	inBubble(t, names, func(r *rig) {
		r.settle()
		for i, name := range names[:8] {
			r.change(name, func(node *corev1.Node) {
				if node.Spec.Unschedulable = i < 4; i >= 4 {
					node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler",
						Effect: corev1.TaintEffectNoSchedule})
				}
			})
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.stopKubelets(names[:8]...)
		r.pass(listAge + removalTime + time.Minute)
		r.want("Nodes, when eight were made ready to go", len(r.cluster.Nodes()), 2)
	})
	inBubble(t, names, func(r *rig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.change(names[0], func(node *corev1.Node) { node.Spec.Unschedulable = true })
		r.deleteMachines(names[0])
		r.pass(listAge + removalTime + time.Hour)
		r.want("Nodes, when none may go", len(r.cluster.Nodes()), 10)
	})
}

// TestNewProcess: a new process does not know earlier removals, so at most one Node is deleted within its first window.
func TestNewProcess(t *testing.T) {
	names := numbered(10)
	inBubble(t, names, func(r *rig) {
		r.deleteMachines(names[:2]...)
		r.pass(r.behaviour.RemovalWindow - time.Minute)
		r.want("Nodes in the first window", len(r.cluster.Nodes()), 10)
		r.requireEvent("NodeRemovalsStopped", "in the first 10m0s after the program starts")
		r.pass(time.Minute + period)
		r.want("Nodes after it", len(r.cluster.Nodes()), 8)
	})
}

// TestCredentialCheckExpires: if requests for machines are slow, the rest is deleted after another credential check.
func TestCredentialCheckExpires(t *testing.T) {
	names := numbered(50)
	inBubble(t, names, func(r *rig) {
		r.settle()
		r.deleteMachines(names[:10]...)
		r.fakeCloud.set(func(c *fakeCloud) { c.before = func() { <-time.After(20 * time.Second) } })
		r.fakeCloud.calls()
		r.pass(listAge + removalTime + 5*time.Minute)
		r.want("Nodes", len(r.cluster.Nodes()), 40)
		if calls := r.fakeCloud.calls(); !strings.Contains(calls, " 3 credential checks, 10 confirms") {
			r.Errorf("calls %s, want a proof for each four", calls)
		}
	})
}
