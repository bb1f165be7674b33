package nodelifecycle

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// TestNodeWithoutMachineIsDeleted: a Node is deleted within a grace period and two passes, with two lists, one
// credential check and one request for the machine.
func TestNodeWithoutMachineIsDeleted(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.machine("b", cloud.MachineGone)
		r.pass(10 * time.Minute)
		r.want("a ready Node whose machine is missing", r.names(), "a b c")
		r.want("Nodes like that in the metric", r.value(r.controller.metrics.nodes, stateReadyGone), 1.0)
		r.fakeCloud.calls()

		r.stopKubelets("b")
		r.pass(grace - time.Second)
		r.want("before the grace period is over", r.names(), "a b c")
		r.pass(removalTime - grace + time.Second)
		r.want("after it", r.names(), "a c")
		r.want("calls", r.fakeCloud.calls(), "2 lists, 1 credential checks, 1 confirms")
		r.requireEvent("Normal DeletingNode", "sky://b")
		r.want("removals", testutil.ToFloat64(r.controller.metrics.removals.WithLabelValues(removalDone)), 1.0)
		r.want("Nodes in memory", len(r.controller.records), 2)
	})
}

// TestNoChanges: without changes the cost is a list a minute, and no write.
func TestNoChanges(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		before := r.cluster.Version()
		r.pass(10 * time.Minute)
		r.want("calls in ten minutes", r.fakeCloud.calls(), "9 lists, 0 credential checks, 0 confirms")
		r.want("writes", r.cluster.Version()-before, 0)
		r.want("events", len(r.events()), 0)
	})
}

// TestNetworkOutage: an outage of the network causes no requests, and no Node is deleted.
func TestNetworkOutage(t *testing.T) {
	var names []string
	for n := range 200 {
		names = append(names, fmt.Sprintf("n%03d", n))
	}
	inBubble(t, names, func(r *rig) {
		r.stopKubelets(names...)
		before := r.cluster.Version()
		r.pass(10 * time.Minute)
		r.want("calls in ten minutes", r.fakeCloud.calls(), "9 lists, 0 credential checks, 0 confirms")
		r.want("writes", r.cluster.Version()-before, 0)
		r.want("Nodes", len(r.cluster.Nodes()), len(names))

		r.fakeCloud.machine("n007", cloud.MachineGone)
		r.pass(listAge + removalTime)
		r.want("Nodes, one of which is really gone", len(r.cluster.Nodes()), len(names)-1)
	})
}

// falseAnswers are what the cloud answers about the machine of Node b, which runs, and why its Node is not deleted.
func falseAnswers() map[string]struct {
	lie  func(*fakeCloud)
	want reason
} {
	lacking := func(ids ...string) func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
		return func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
			for _, id := range ids {
				delete(truth, fakeScheme+id)
			}
			return truth, nil
		}
	}
	gone := func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
	down := errors.New("the cloud is away")
	return map[string]struct {
		lie  func(*fakeCloud)
		want reason
	}{
		"partial lists": {func(c *fakeCloud) { c.list = lacking("b") }, blockedContradicted},
		"empty lists":   {func(c *fakeCloud) { c.list = lacking("a", "b", "c", "d") }, blockedNoCanary},
		"empty lists, nothing by ID": {func(c *fakeCloud) {
			c.list, c.confirm = lacking("a", "b", "c", "d"), gone
		}, blockedNoCanary},
		"lists and answers lag": {func(c *fakeCloud) {
			c.list, c.confirm = lacking("b", "c"), func(id string, s cloud.MachineState) (cloud.MachineState, error) {
				return map[bool]cloud.MachineState{true: cloud.MachineGone, false: s}[id == fakeScheme+"b"], nil
			}
		}, blockedList},
		"no lists": {func(c *fakeCloud) {
			c.list = func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) { return nil, down }
		}, blockedNoAnswer},
		"lists and nothing else": {func(c *fakeCloud) {
			c.list = lacking("b")
			c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
				if id == fakeScheme+"b" {
					return "", down
				}
				return truth, nil
			}
		}, blockedNoAnswer},
		"credentials that are no good": {func(c *fakeCloud) {
			c.list, c.confirm, c.checkCredentials = lacking("b"), gone, func() error { return down }
		}, blockedCredentials},
		"every other list": {func(c *fakeCloud) {
			c.list = func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				if c.lists%2 == 0 {
					delete(truth, fakeScheme+"b")
				}
				return truth, nil
			}
		}, blockedContradicted},
		"every third list fails": {func(c *fakeCloud) {
			c.list = func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				if c.lists%3 == 0 {
					return nil, down
				}
				return lacking("b")(truth)
			}
		}, blockedNoAnswer},
		"an unknown word": {func(c *fakeCloud) { c.machines[fakeScheme+"b"] = cloud.MachineUnknown }, ""},
	}
}

// TestNodeWithMachineIsKept: after any false answer about a Node that is not ready, the Node is kept, and it is deleted
// after its machine.
func TestNodeWithMachineIsKept(t *testing.T) {
	for name, tt := range falseAnswers() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
				r.fakeCloud.set(tt.lie)
				r.stopKubelets("b")
				r.pass(event.Again)
				r.want("Nodes after an hour", r.names(), "a b c d")
				if tt.want != "" {
					if count :=
						testutil.ToFloat64(r.controller.metrics.blocked.WithLabelValues(string(tt.want))); count < 1 {
						r.Errorf("the reason %s stood in the way %v times; all: %+v", tt.want, count,
							r.controller.records["uid-2"])
					}
					events := r.events()
					if again := slices.Compact(slices.Sorted(slices.Values(events))); len(events) == 0 ||
						len(again) != len(events) {
						r.Errorf("events %q, want some, and none twice", events)
					}
				}
				r.fakeCloud.set(func(c *fakeCloud) { c.list, c.confirm, c.checkCredentials = nil, nil, nil })
				r.fakeCloud.machine("b", cloud.MachineGone)
				r.pass(listAge + removalTime)
				r.want("Nodes when the machine is really gone", r.names(), "a c d")
			})
		})
	}
}

// TestAllMissing: if the cloud shows no machine of any Node, at the start or later, it may be the wrong cloud.
func TestAllMissing(t *testing.T) {
	for _, restarts := range []bool{true, false} {
		inBubble(t, []string{"a", "b"}, func(r *rig) {
			r.deleteMachines("a", "b")
			if restarts {
				r.start()
			}
			r.pass(event.Again)
			r.want("Nodes", r.names(), "a b")
			r.want("blocked", r.blocked(blockedNoCanary), 2.0)
			r.want("events", len(r.events()), 2)

			for n := range 8 {
				r.join(fmt.Sprintf("c%d", n))
			}
			r.pass(listAge + removalTime)
			r.want("Nodes, when there are some that show that it is the right place", r.names(),
				"c0 c1 c2 c3 c4 c5 c6 c7")
		})
	}
}

// TestNoReadyNodeHasMachine: if no ready Node has a machine, nothing is deleted because of the cloud's answers.
func TestNoReadyNodeHasMachine(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.machine("a", cloud.MachineGone)
		r.fakeCloud.machine("c", cloud.MachineGone)
		r.stopKubelets("b", "c")
		r.pass(event.Again)
		r.want("Nodes", r.names(), "a b c")
		r.requireEvent("Warning NodeNotRemoved", "correct or delete these Nodes")
		r.report("b", corev1.ConditionTrue)
		r.pass(listAge + removalTime)
		r.want("Nodes when one that is ready has a machine", r.names(), "a b")
	})
}

// TestShutdownTaint: machines that are shut down get the taint, and lose it when they run, ready or not.
func TestShutdownTaint(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
		r.change("b", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoExecute}}
		})
		r.change("d", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/keep-node": "true"} })
		for name, state := range map[string]cloud.MachineState{"b": cloud.MachineStopped, "c": cloud.MachineDeleting,
			"d": cloud.MachineStopped} {
			r.fakeCloud.machine(name, state)
			r.stopKubelets(name)
		}
		r.pass(listAge + period)
		r.want("tainted", r.tainted(), "b c")
		before := r.cluster.Version()
		r.pass(time.Hour)
		r.want("writes while they stay so", r.cluster.Version()-before, 0)
		r.want("Nodes", r.names(), "a b c d")

		r.fakeCloud.machine("b", cloud.MachineRunning)
		r.pass(listAge + period)
		r.want("tainted, when one runs that is not ready yet", r.tainted(), "c")
		r.want("other taints", r.cluster.Nodes()[1].Spec.Taints[0].Key, "dedicated")
		r.want("events", len(r.events()), 0)

		r.fakeCloud.machine("c", cloud.MachineGone) // a machine that is shut down may be deleted
		r.pass(listAge + removalTime)
		r.want("Nodes when it is deleted", r.names(), "a b d")
	})
}

// TestTaintConflict: taints that another client sets at the same moment are kept.
func TestTaintConflict(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		tries := 0
		r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch {
				if tries++; tries == 1 {
					r.change("b", func(n *corev1.Node) {
						n.Spec.Taints = append(n.Spec.Taints,
							corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoSchedule})
					})
				}
			}
			return next.RoundTrip(request)
		})
		r.fakeCloud.machine("b", cloud.MachineStopped)
		r.stopKubelets("b")
		r.pass(listAge + 3*period)
		r.want("tries", tries, 2)
		r.want("taints", len(r.cluster.Nodes()[1].Spec.Taints), 2)
		r.want("tainted", r.tainted(), "b")
	})
}

// TestUnknownState: an unknown state is reported once.
func TestUnknownState(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		r.fakeCloud.machine("b", cloud.MachineUnknown)
		r.stopKubelets("b")
		r.pass(event.Again)
		r.requireEvent("Warning MachineStateUnknown")
		r.want("Nodes with it", r.value(r.controller.metrics.nodes, string(cloud.MachineUnknown)), 1.0)
	})
}

// TestCloudWithoutLists: machines are requested one by one, and those of ready Nodes not at all.
func TestCloudWithoutLists(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.behaviour.Lists = false
		r.start()
		r.fakeCloud.calls()
		r.pass(time.Hour)
		r.want("calls while all are ready", r.fakeCloud.calls(), "0 lists, 0 credential checks, 0 confirms")
		r.deleteMachines("b")
		r.pass(removalTime)
		r.want("Nodes", r.names(), "a c")
	})
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []Options{{Period: 0, Workers: 1}, {Period: time.Second, Workers: 0}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--node-monitor-period") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
