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

// TestRemovalsStop: when more Nodes would go than may, none does, until there are fewer; somebody is told, once, and
// again after an hour.
func TestRemovalsStop(t *testing.T) {
	names := numbered(50)
	inBubble(t, names, func(r *rig) {
		r.settle()
		lost := names[:11]
		r.lose(lost...)
		r.pass(listAge + removalTime + time.Minute)
		r.want("Nodes, when 22 % would go", len(r.cluster.Nodes()), 50)
		r.want("blocked", r.blocked(blockedAllowance), 11.0)
		told := strings.Join(r.told(), "\n")
		for part, want := range map[string]int{"NodeRemovalsStopped The machines of 11 Nodes are missing": 1,
			"NodeNotRemoved": 11, "DeletingNode": 0, "20 % of the Nodes": 12} {
			if count := strings.Count(told, part); count != want {
				r.Errorf("%d events %s, want %d:\n%s", count, part, want, told)
			}
		}
		r.fakeCloud.calls()
		r.pass(30 * time.Minute)
		r.want("Nodes three windows later", len(r.cluster.Nodes()), 50)
		r.want("events meanwhile", len(r.told()), 0)
		r.want("calls meanwhile", r.fakeCloud.calls(), "27 lists, 0 vouches, 0 confirms")
		r.pass(30 * time.Minute)
		r.toldOnce("NodeRemovalsStopped")
		r.want("Nodes after an hour", len(r.cluster.Nodes()), 50)

		r.fakeCloud.machine(lost[0], cloud.MachineRunning)
		r.fakeCloud.calls()
		r.pass(listAge + removalTime)
		r.want("Nodes, when 20 % would go", len(r.cluster.Nodes()), 40)
		r.want("calls for ten of them", r.fakeCloud.calls(), "2 lists, 1 vouches, 10 confirms")
		r.told()

		r.lose(names[20])
		r.pass(listAge + removalTime)
		r.want("Nodes, when one more would go in the same window", len(r.cluster.Nodes()), 40)
		r.toldOnce("NodeRemovalsStopped The machines of 1 Nodes are missing", "10 Nodes were deleted recently")
		r.pass(r.behaviour.RemovalWindow)
		r.want("Nodes in the next one", len(r.cluster.Nodes()), 39)
	})
}

// TestExpectedRemovalsDoNotCount: Nodes that were cordoned, or that the autoscaler removes, go although they are many,
// and others may go beside them.
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
		r.silentLimit(names[:8]...)
		r.pass(listAge + removalTime + time.Minute)
		r.want("Nodes, when eight were made ready to go", len(r.cluster.Nodes()), 2)
	})
	inBubble(t, names, func(r *rig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.change(names[0], func(node *corev1.Node) { node.Spec.Unschedulable = true })
		r.lose(names[0])
		r.pass(listAge + removalTime + time.Hour)
		r.want("Nodes, when none may go", len(r.cluster.Nodes()), 10)
	})
}

// TestSomebodyAllowsMore: who knows that so many machines are really gone allows more, or deletes Nodes by hand.
func TestSomebodyAllowsMore(t *testing.T) {
	names := numbered(10)
	for name, allow := range map[string]func(*rig){
		"a larger share": func(r *rig) { r.behaviour.MaxRemovals = 30; r.start() },
		"fewer Nodes": func(r *rig) {
			for _, name := range names[:2] {
				r.want("deleting one", r.cluster.Delete(fakeNode(name)), nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, names, func(r *rig) {
				r.lose(names[:3]...)
				r.pass(time.Hour)
				r.want("Nodes", len(r.cluster.Nodes()), 10)
				allow(r)
				r.pass(r.behaviour.RemovalWindow + removalTime)
				r.want("Nodes then", len(r.cluster.Nodes()), 7)
			})
		})
	}
}

// TestNewProcess does not know what was removed before it began, so that no more than one Node goes within its first
// window.
func TestNewProcess(t *testing.T) {
	names := numbered(10)
	inBubble(t, names, func(r *rig) {
		r.lose(names[:2]...)
		r.pass(r.behaviour.RemovalWindow - time.Minute)
		r.want("Nodes in the first window", len(r.cluster.Nodes()), 10)
		r.toldOnce("NodeRemovalsStopped", "in the first 10m0s after the program starts")
		r.pass(time.Minute + period)
		r.want("Nodes after it", len(r.cluster.Nodes()), 8)
	})
}

// TestNoRemovalsEver: a share of nothing is nothing.
func TestNoRemovalsEver(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.lose("b")
		r.pass(30 * time.Minute)
		r.want("Nodes", r.names(), "a b")
		r.want("blocked", r.blocked(blockedAllowance), 1.0)
		r.toldOnce("NodeRemovalsStopped", "maxRemovals is 0")
	})
}

// TestManyRemovals cost one proof of the credentials and one list, not one for each few of them.
func TestManyRemovals(t *testing.T) {
	names := numbered(500)
	inBubble(t, names, func(r *rig) {
		r.settle()
		r.lose(names[:100]...)
		r.fakeCloud.calls()
		r.pass(listAge + removalTime)
		r.want("Nodes", len(r.cluster.Nodes()), 400)
		r.want("calls", r.fakeCloud.calls(), "2 lists, 1 vouches, 100 confirms")
	})
}

// TestProofGrowsOld: when machines are asked for slowly, the rest is removed after another proof.
func TestProofGrowsOld(t *testing.T) {
	names := numbered(50)
	inBubble(t, names, func(r *rig) {
		r.settle()
		r.lose(names[:10]...)
		r.fakeCloud.set(func(c *fakeCloud) { c.before = func() { <-time.After(20 * time.Second) } })
		r.fakeCloud.calls()
		r.pass(listAge + removalTime + 5*time.Minute)
		r.want("Nodes", len(r.cluster.Nodes()), 40)
		if calls := r.fakeCloud.calls(); !strings.Contains(calls, " 3 vouches, 10 confirms") {
			r.Errorf("calls %s, want a proof for each four", calls)
		}
	})
}
