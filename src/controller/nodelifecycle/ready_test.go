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

// TestManyStrangeNodes: ready ones without a machine are asked for a few at a time, once, and then others may go.
func TestManyStrangeNodes(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, func(r *rig) {
		for _, name := range []string{"a", "b", "c", "d"} {
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.lose("j")
		r.pass(listAge + removalTime)
		r.want("Nodes when all were asked for", r.names(), "a b c d e f g h i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "1 vouches, 5 confirms") {
			r.Errorf("calls %s, want one question about each, and one proof", calls)
		}
		r.pass(r.behaviour.RemovalWindow)
		r.lose("h")
		r.pass(listAge + removalTime)
		r.want("Nodes later", r.names(), "a b c d e f g i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "1 confirms") {
			r.Errorf("calls %s, want one question, about the one that goes", calls)
		}

		// When they are most, nobody is asked for: the list is nonsense.
		r.fakeCloud.machine("e", cloud.MachineGone)
		r.lose("g")
		r.pass(time.Hour)
		r.want("Nodes when most have no machine", r.names(), "a b c d e f g i")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "0 confirms") {
			r.Errorf("calls %s, want no question", calls)
		}
	})
}

// TestStrangeNode: a ready Node whose machine no list shows stands in the way of others only while that makes the lists
// doubtful.
func TestStrangeNode(t *testing.T) {
	tests := map[string]struct {
		nodes  []string
		answer func(truth cloud.MachineState) (cloud.MachineState, error) // about its machine
		within time.Duration                                              // the dead Node goes; 0: never
		calls  int                                                        // about its machine in half an hour, at most
	}{
		"it is elsewhere": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return "", fmt.Errorf("%w: of Node a", cloud.ErrOtherNetwork)
		}, listAge + removalTime, 1},
		"it is not there": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return cloud.MachineGone, nil
		}, listAge + removalTime, 1},
		"nobody can say": {[]string{"a", "b", "c", "d"}, func(cloud.MachineState) (cloud.MachineState, error) {
			return "", errors.New("not permitted")
		},
			listAge + removalTime + unansweredLimit + askAgain, 30},
		"nobody can say of half of them": {[]string{"a", "b", "d"},
			func(cloud.MachineState) (cloud.MachineState, error) {
				return "", errors.New("not permitted")
			}, 0, 30},
		"it is there": {[]string{"a", "b", "c", "d"}, func(truth cloud.MachineState) (cloud.MachineState, error) {
			return truth, nil
		}, 0, 30},
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
				r.lose("d")
				r.pass(max(tt.within, 30*time.Minute))
				all := strings.Join(tt.nodes, " ")
				if tt.within == 0 {
					r.want("Nodes", r.names(), all)
					r.want("blocked", r.blocked(blockedList), 1.0)
				} else {
					r.want("Nodes", r.names(), strings.TrimSuffix(all, " d"))
				}
				if asked == 0 || asked > tt.calls {
					r.Errorf("%d questions about the machine of a, want some and at most %d", asked, tt.calls)
				}
			})
		})
	}
}

// TestNodeThatNamesNone: a provider ID that names no machine stands in the way of nobody, is no witness, and its Node
// stays.
func TestNodeThatNamesNone(t *testing.T) {
	for name, status := range map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue,
		"not ready": corev1.ConditionUnknown} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
				confirmedMissing := fakeNode("odd")
				confirmedMissing.Spec.ProviderID = fakeScheme
				r.register(confirmedMissing)
				r.report("odd", status)
				r.pass(time.Hour)
				r.want("events", len(r.told()), 0)
				r.fakeCloud.machine("d", cloud.MachineGone)
				r.silentLimit("d")
				r.pass(listAge + removalTime)
				r.want("Nodes", r.names(), "a b c odd")
				for _, left := range []string{"a", "b", "c"} { // of all machines, none is to be seen
					r.fakeCloud.machine(left, cloud.MachineGone)
				}
				r.silentLimit("a")
				r.pass(time.Hour)
				r.want("Nodes without a witness", r.names(), "a b c odd")
			})
		})
	}
}

// TestStrangeNodeInTime: how long one stands in the way for which there is no answer.
func TestStrangeNodeInTime(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			c.list = func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				delete(truth, fakeScheme+"a")
				return truth, nil
			}
			c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
				if id == fakeScheme+"a" {
					return "", errors.New("not permitted")
				}
				return truth, nil
			}
		})
		r.lose("d")
		r.pass(listAge + grace + unansweredLimit - time.Minute)
		r.want("Nodes before somebody has asked long enough", r.names(), "a b c d")
		r.fakeCloud.calls()
		r.pass(time.Minute + askAgain + removalTime - grace)
		r.want("Nodes after it", r.names(), "a b c")
	})
}

// TestMachineElsewhere: a Node whose own machine is in another network stays, and is told.
func TestMachineElsewhere(t *testing.T) {
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
		r.silentLimit("b")
		r.pass(30 * time.Minute)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedContradicted), 1.0)
		r.toldOnce("NodeNotRemoved", "vpc-far")

		r.lose("c")
		r.pass(listAge + removalTime)
		r.want("Nodes when another machine is gone: two may not go", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.fakeCloud.set(func(c *fakeCloud) { c.confirm = nil })
		r.pass(2*removalTime + grace)
		r.want("Nodes when it is really gone", r.names(), "a")
	})
}

// TestNamesake: while another machine of the Node's name runs, its kubelet may be the Node's, also when it is silent.
func TestNamesake(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) { c.names = map[string]string{"b": fakeScheme + "b-again"} })
		r.fakeCloud.machine("b", cloud.MachineGone)
		r.fakeCloud.machine("b-again", cloud.MachineRunning)
		r.fakeCloud.calls()
		r.silentLimit("b")
		r.pass(30 * time.Minute)
		r.want("Nodes while it runs", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
		r.toldOnce("NodeNotRemoved", "sky://b-again", "restart the kubelet")
		if calls := r.fakeCloud.calls(); !strings.HasSuffix(calls, "0 vouches, 0 confirms") {
			r.Errorf("calls %s, want none but lists", calls)
		}
		r.lose("c")
		r.pass(listAge + removalTime)
		r.want("Nodes when another one is dead", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.fakeCloud.machine("b-again", cloud.MachineStopped)
		r.pass(listAge + removalTime)
		r.want("Nodes when it is shut down", r.names(), "a")
	})
}

// TestNamesakeComes between the first look and the second.
func TestNamesakeComes(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			c.names = map[string]string{"b": fakeScheme + "b-again"}
			c.vouch = func() error { c.machines[fakeScheme+"b-again"] = cloud.MachineRunning; return nil }
		})
		r.lose("b")
		r.pass(listAge + removalTime)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
	})
}

// TestSecondListIsNewer than the proof of the credentials: one that began while that was sought may be of other
// credentials.
func TestSecondListIsNewer(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			lacking := func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				delete(truth, fakeScheme+"b")
				return truth, nil
			}
			// which is no help
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
			c.list = lacking
			c.vouch = func() error {
				<-time.After(time.Second)
				err := c.refresh() // somebody else's
				<-time.After(time.Second)
				c.list = nil
				return err
			}
		})
		r.silentLimit("b")
		r.pass(listAge + removalTime)
		r.want("Nodes", r.names(), "a b c")
		r.want("contradicted",
			testutil.ToFloat64(r.controller.metrics.blocked.WithLabelValues(string(blockedContradicted))), 1.0)
	})
}

// TestNobodyKnows: when the cloud does not answer for long, somebody is told of the Nodes that are not ready, once for
// all of them.
func TestNobodyKnows(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
		r.fakeCloud.set(func(c *fakeCloud) {
			c.list = func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
				return nil, errors.New("not permitted")
			}
		})
		r.change("d", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/keep-node": "true"} })
		r.silentLimit("b", "c", "d")
		r.pass(unknownLimit - time.Minute)
		r.want("blocked before it lasts", r.blocked(blockedNoAnswer), 0.0)
		r.pass(2*time.Minute + period)
		r.want("blocked", r.blocked(blockedNoAnswer), 2.0)
		r.toldOnce("Warning NodeNotRemoved", "b, c", "not permitted")
		r.pass(30 * time.Minute)
		r.want("events while it lasts", len(r.told()), 0)
		r.pass(30 * time.Minute)
		r.toldOnce("Warning NodeNotRemoved", "b, c")
		r.report("b", corev1.ConditionTrue)
		r.pass(period)
		r.want("blocked when one is ready", r.blocked(blockedNoAnswer), 1.0)
		r.fakeCloud.set(func(c *fakeCloud) { c.list = nil })
		r.pass(2 * period)
		r.want("blocked when there are answers", r.blocked(blockedNoAnswer), 0.0)
		r.want("Nodes", r.names(), "a b c d")
	})
}

// TestStrangeStateIsNotMissing: a Node whose machine was missing, and of which the cloud says something unknown now, is
// not held any more.
func TestStrangeStateIsNotMissing(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.lose("b")
		r.pass(listAge + removalTime)
		r.want("blocked", r.blocked(blockedAllowance), 1.0)
		r.fakeCloud.machine("b", cloud.MachineUnknown)
		r.pass(listAge + period)
		r.want("blocked when it is there", r.blocked(blockedAllowance), 0.0)
	})
}
