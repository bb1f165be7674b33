package nodelifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestManyReadyNodesWithoutMachine: the machines of ready Nodes that are missing from the list are requested a few at a
// time, once, and then others may be deleted.
func TestManyReadyNodesWithoutMachine(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, func(r *rig) {
		for _, name := range []string{"a", "b", "c", "d"} {
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.deleteMachines("j")
		r.pass(listAge + removalTime)
		r.want("Nodes when all were asked for", r.names(), "a b c d e f g h i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "1 credential checks, 5 confirms") {
			r.Errorf("calls %s, want one question about each, and one proof", calls)
		}
		r.pass(r.behaviour.RemovalWindow)
		r.deleteMachines("h")
		r.pass(listAge + removalTime)
		r.want("Nodes later", r.names(), "a b c d e f g i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "1 confirms") {
			r.Errorf("calls %s, want one question, about the one that goes", calls)
		}

		// If they are most, none is requested, because the list is wrong.
		r.fakeCloud.machine("e", cloud.MachineGone)
		r.deleteMachines("g")
		r.pass(time.Hour)
		r.want("Nodes when most have no machine", r.names(), "a b c d e f g i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "0 confirms") {
			r.Errorf("calls %s, want no question", calls)
		}
	})
}

// TestReadyNodeWithoutMachine: a ready Node whose machine is in no list blocks others only while it makes the lists
// doubtful.
func TestReadyNodeWithoutMachine(t *testing.T) {
	tests := map[string]struct {
		nodes  []string
		answer func(truth cloud.MachineState) (cloud.MachineState, error) // about its machine
		kept   time.Duration                                              // in which the missing Node is not deleted
		within time.Duration                                              // after that it is deleted; 0: it is not
		calls  int                                                        // about its machine in half an hour, at most
	}{
		"it is elsewhere": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return "", fmt.Errorf("%w: of Node a", cloud.ErrOtherNetwork)
		}, 0, listAge + removalTime, 1},
		"it is not there": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return cloud.MachineGone, nil
		}, 0, listAge + removalTime, 1},
		"no answer": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return "", errors.New("not permitted")
		},
			listAge + grace + unansweredLimit - time.Minute, time.Minute + requestInterval + removalTime - grace, 30},
		"no answer for half of them": {[]string{"a", "b", "d"},
			func(cloud.MachineState) (cloud.MachineState, error) {
				return "", errors.New("not permitted")
			}, 30 * time.Minute, 0, 30},
		"it is there": {[]string{"a", "b", "c", "d"}, func(truth cloud.MachineState) (cloud.MachineState, error) {
			return truth, nil
		}, 30 * time.Minute, 0, 30},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tt.nodes, func(r *rig) {
				asked := 0
				r.fakeCloud.set(func(c *fakeCloud) {
					c.list = func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
						delete(truth, fakeScheme+"a")
						return truth, nil
					}
					c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
						if id != fakeScheme+"a" {
							return truth, nil
						}
						asked++
						return tt.answer(truth)
					}
				})
				r.deleteMachines("d")
				all := strings.Join(tt.nodes, " ")
				if tt.kept > 0 {
					r.pass(tt.kept)
					r.want("Nodes", r.names(), all)
					r.want("blocked", r.blocked(blockedList), 1.0)
				}
				if tt.within > 0 {
					r.pass(tt.within)
					r.want("Nodes afterwards", r.names(), strings.TrimSuffix(all, " d"))
				}
				if asked == 0 || asked > tt.calls {
					r.Errorf("%d questions about the machine of a, want some and at most %d", asked, tt.calls)
				}
			})
		})
	}
}

// TestInvalidProviderID: a Node whose provider ID is invalid blocks no other Node, is no canary, and is kept.
func TestInvalidProviderID(t *testing.T) {
	for name, status := range map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue,
		"not ready": corev1.ConditionUnknown} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
				confirmedMissing := fakeNode("odd")
				confirmedMissing.Spec.ProviderID = fakeScheme
				r.register(confirmedMissing)
				r.report("odd", status)
				r.pass(time.Hour)
				r.want("events", len(r.events()), 0)
				r.fakeCloud.machine("d", cloud.MachineGone)
				r.stopKubelets("d")
				r.pass(listAge + removalTime)
				r.want("Nodes", r.names(), "a b c odd")
				for _, left := range []string{"a", "b", "c"} { // the cloud shows none of the machines
					r.fakeCloud.machine(left, cloud.MachineGone)
				}
				r.stopKubelets("a")
				r.pass(time.Hour)
				r.want("Nodes without a canary", r.names(), "a b c odd")
			})
		})
	}
}

// TestMachineInOtherNetwork: a Node whose machine is in another network is kept, with an event.
func TestMachineInOtherNetwork(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.machine("b", cloud.MachineGone)
		r.fakeCloud.set(func(c *fakeCloud) {
			c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
				if id == fakeScheme+"b" {
					return "", fmt.Errorf("%w: vpc-far", cloud.ErrOtherNetwork)
				}
				return truth, nil
			}
		})
		r.stopKubelets("b")
		r.pass(30 * time.Minute)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedContradicted), 1.0)
		r.requireEvent("NodeNotRemoved", "vpc-far")

		r.deleteMachines("c")
		r.pass(listAge + removalTime)
		r.want("Nodes when another machine is gone: two may not go", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.fakeCloud.set(func(c *fakeCloud) { c.confirm = nil })
		r.pass(2*removalTime + grace)
		r.want("Nodes when it is really gone", r.names(), "a")
	})
}

// TestNameConflict: while another machine of the Node's name runs, its kubelet may use the Node, also if it does not
// report.
func TestNameConflict(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) { c.names = map[string]string{"b": fakeScheme + "b-again"} })
		r.fakeCloud.machine("b", cloud.MachineGone)
		r.fakeCloud.machine("b-again", cloud.MachineRunning)
		r.fakeCloud.calls()
		r.stopKubelets("b")
		r.pass(30 * time.Minute)
		r.want("Nodes while it runs", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
		r.requireEvent("NodeNotRemoved", "sky://b-again", "restart the kubelet")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "0 credential checks, 0 confirms") {
			r.Errorf("calls %s, want none but lists", calls)
		}
		r.deleteMachines("c")
		r.pass(listAge + removalTime)
		r.want("Nodes when another one is dead", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.fakeCloud.machine("b-again", cloud.MachineStopped)
		r.pass(listAge + removalTime)
		r.want("Nodes when it is shut down", r.names(), "a")
	})
}

// TestNameConflictDuringRemoval: the other machine appears between the first and the second request.
func TestNameConflictDuringRemoval(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			c.names = map[string]string{"b": fakeScheme + "b-again"}
			c.checkCredentials = func() error { c.machines[fakeScheme+"b-again"] = cloud.MachineRunning; return nil }
		})
		r.deleteMachines("b")
		r.pass(listAge + removalTime)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
	})
}

// TestSecondListIsNewer: the second list begins after the credential check. A list from before may be of other
// credentials.
func TestSecondListIsNewer(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			lacking := func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				delete(truth, fakeScheme+"b")
				return truth, nil
			}
			// which does not prevent it
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
			c.list = lacking
			c.checkCredentials = func() error {
				<-time.After(time.Second)
				err := c.refresh() // with other credentials
				<-time.After(time.Second)
				c.list = nil
				return err
			}
		})
		r.stopKubelets("b")
		r.pass(listAge + removalTime)
		r.want("Nodes", r.names(), "a b c")
		r.want("contradicted",
			testutil.ToFloat64(r.controller.metrics.blocked.WithLabelValues(string(blockedContradicted))), 1.0)
	})
}

// TestCloudDoesNotAnswer: if the cloud does not answer for long, Nodes that are not ready are reported, in one event
// for all.
func TestCloudDoesNotAnswer(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			c.list = func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				return nil, errors.New("not permitted")
			}
		})
		r.change("d", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/keep-node": "true"} })
		r.stopKubelets("b", "c", "d")
		r.pass(unknownLimit - time.Minute)
		r.want("blocked before it lasts", r.blocked(blockedNoAnswer), 0.0)
		r.pass(2*time.Minute + period)
		r.want("blocked", r.blocked(blockedNoAnswer), 2.0)
		r.requireEvent("Warning NodeNotRemoved", "b, c", "not permitted")
		r.pass(30 * time.Minute)
		r.want("events while it lasts", len(r.events()), 0)
		r.pass(30 * time.Minute)
		r.requireEvent("Warning NodeNotRemoved", "b, c")
		r.report("b", corev1.ConditionTrue)
		r.pass(period)
		r.want("blocked when one is ready", r.blocked(blockedNoAnswer), 1.0)
		r.fakeCloud.set(func(c *fakeCloud) { c.list = nil })
		r.pass(2 * period)
		r.want("blocked when there are answers", r.blocked(blockedNoAnswer), 0.0)
		r.want("Nodes", r.names(), "a b c d")
	})
}

// TestUnknownStateIsNotMissing: a Node whose machine was missing and now has an unknown state is not blocked any more.
func TestUnknownStateIsNotMissing(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.deleteMachines("b")
		r.pass(listAge + removalTime)
		r.want("blocked", r.blocked(blockedBudget), 1.0)
		r.fakeCloud.machine("b", cloud.MachineUnknown)
		r.pass(listAge + period)
		r.want("blocked when it is there", r.blocked(blockedBudget), 0.0)
	})
}
