package nodelifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	cloud "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
)

// TestManyStrangeNodes: ready ones without a machine are asked for a few at a time, once, and then others may go.
func TestManyStrangeNodes(t *testing.T) {
	inLife(t, []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, func(r *lifeRig) {
		for _, name := range []string{"a", "b", "c", "d"} {
			r.sky.machine(name, cloud.Gone)
		}
		r.lose("j")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes when all were asked for", r.names(), "a b c d e f g h i")
		if calls := r.sky.calls(); !strings.HasSuffix(calls, "1 vouches, 5 confirms") {
			r.Errorf("calls %s, want one question about each, and one proof", calls)
		}
		r.pass(r.behaviour.RemovalWindow)
		r.lose("h")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes later", r.names(), "a b c d e f g i")
		if calls := r.sky.calls(); !strings.HasSuffix(calls, "1 confirms") {
			r.Errorf("calls %s, want one question, about the one that goes", calls)
		}

		// When they are most, nobody is asked for: the list is nonsense.
		r.sky.machine("e", cloud.Gone)
		r.lose("g")
		r.pass(time.Hour)
		r.want("Nodes when most have no machine", r.names(), "a b c d e f g i")
		if calls := r.sky.calls(); !strings.HasSuffix(calls, "0 confirms") {
			r.Errorf("calls %s, want no question", calls)
		}
	})
}

// TestStrangeNode: a ready Node whose machine no list shows stands in the way of others only while that makes the lists doubtful.
func TestStrangeNode(t *testing.T) {
	tests := map[string]struct {
		nodes  []string
		answer func(truth cloud.State) (cloud.State, error) // about its machine
		within time.Duration                                // the dead Node goes; 0: never
		calls  int                                          // about its machine in half an hour, at most
	}{
		"it is elsewhere": {[]string{"a", "b", "c", "d"}, func(cloud.State) (cloud.State, error) {
			return "", fmt.Errorf("%w: of Node a", cloud.ErrElsewhere)
		}, skyAge + lifeSoon, 1},
		"it is not there": {[]string{"a", "b", "c", "d"}, func(cloud.State) (cloud.State, error) { return cloud.Gone, nil }, skyAge + lifeSoon, 1},
		"nobody can say": {[]string{"a", "b", "c", "d"}, func(cloud.State) (cloud.State, error) { return "", errors.New("not permitted") },
			skyAge + lifeSoon + muteLimit + askAgain, 30},
		"nobody can say of half of them": {[]string{"a", "b", "d"}, func(cloud.State) (cloud.State, error) { return "", errors.New("not permitted") }, 0, 30},
		"it is there":                    {[]string{"a", "b", "c", "d"}, func(truth cloud.State) (cloud.State, error) { return truth, nil }, 0, 30},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inLife(t, tt.nodes, func(r *lifeRig) {
				asked := 0
				r.sky.set(func(c *sky) {
					c.list = func(truth map[string]cloud.State) (map[string]cloud.State, error) {
						delete(truth, skyScheme+"a")
						return truth, nil
					}
					c.confirm = func(id string, truth cloud.State) (cloud.State, error) {
						if id != skyScheme+"a" {
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

// TestNodeThatNamesNone: a provider ID that names no machine stands in the way of nobody, is no witness, and its Node stays.
func TestNodeThatNamesNone(t *testing.T) {
	for name, status := range map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue, "not ready": corev1.ConditionUnknown} {
		t.Run(name, func(t *testing.T) {
			inLife(t, []string{"a", "b", "c", "d"}, func(r *lifeRig) {
				odd := skyNode("odd")
				odd.Spec.ProviderID = skyScheme
				r.register(odd)
				r.report("odd", status)
				r.pass(time.Hour)
				r.want("events", len(r.told()), 0)
				r.sky.machine("d", cloud.Gone)
				r.silence("d")
				r.pass(skyAge + lifeSoon)
				r.want("Nodes", r.names(), "a b c odd")
				for _, left := range []string{"a", "b", "c"} { // of all machines, none is to be seen
					r.sky.machine(left, cloud.Gone)
				}
				r.silence("a")
				r.pass(time.Hour)
				r.want("Nodes without a witness", r.names(), "a b c odd")
			})
		})
	}
}

// TestStrangeNodeInTime: how long one stands in the way for which there is no answer.
func TestStrangeNodeInTime(t *testing.T) {
	inLife(t, []string{"a", "b", "c", "d"}, func(r *lifeRig) {
		r.sky.set(func(c *sky) {
			c.list = func(truth map[string]cloud.State) (map[string]cloud.State, error) {
				delete(truth, skyScheme+"a")
				return truth, nil
			}
			c.confirm = func(id string, truth cloud.State) (cloud.State, error) {
				if id == skyScheme+"a" {
					return "", errors.New("not permitted")
				}
				return truth, nil
			}
		})
		r.lose("d")
		r.pass(skyAge + lifeGrace + muteLimit - time.Minute)
		r.want("Nodes before somebody has asked long enough", r.names(), "a b c d")
		r.sky.calls()
		r.pass(time.Minute + askAgain + lifeSoon - lifeGrace)
		r.want("Nodes after it", r.names(), "a b c")
	})
}

// TestMachineElsewhere: a Node whose own machine is in another network stays, and is told.
func TestMachineElsewhere(t *testing.T) {
	inLife(t, []string{"a", "b", "c"}, func(r *lifeRig) {
		r.sky.machine("b", cloud.Gone)
		r.sky.set(func(c *sky) {
			c.confirm = func(id string, truth cloud.State) (cloud.State, error) {
				if id == skyScheme+"b" {
					return "", fmt.Errorf("%w: vpc-far", cloud.ErrElsewhere)
				}
				return truth, nil
			}
		})
		r.silence("b")
		r.pass(30 * time.Minute)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedContradicted), 1.0)
		r.toldOnce("NodeNotRemoved", "vpc-far")

		r.lose("c")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes when another machine is gone: two may not go", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.sky.set(func(c *sky) { c.confirm = nil })
		r.pass(2*lifeSoon + lifeGrace)
		r.want("Nodes when it is really gone", r.names(), "a")
	})
}

// TestNamesake: while another machine of the Node's name runs, its kubelet may be the Node's, also when it is silent.
func TestNamesake(t *testing.T) {
	inLife(t, []string{"a", "b", "c"}, func(r *lifeRig) {
		r.sky.set(func(c *sky) { c.names = map[string]string{"b": skyScheme + "b-again"} })
		r.sky.machine("b", cloud.Gone)
		r.sky.machine("b-again", cloud.Running)
		r.sky.calls()
		r.silence("b")
		r.pass(30 * time.Minute)
		r.want("Nodes while it runs", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
		r.toldOnce("NodeNotRemoved", "sky://b-again", "restart the kubelet")
		if calls := r.sky.calls(); !strings.HasSuffix(calls, "0 vouches, 0 confirms") {
			r.Errorf("calls %s, want none but lists", calls)
		}
		r.lose("c")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes when another one is dead", r.names(), "a b")
		r.pass(r.behaviour.RemovalWindow)
		r.sky.machine("b-again", cloud.Stopped)
		r.pass(skyAge + lifeSoon)
		r.want("Nodes when it is shut down", r.names(), "a")
	})
}

// TestNamesakeComes between the first look and the second.
func TestNamesakeComes(t *testing.T) {
	inLife(t, []string{"a", "b", "c"}, func(r *lifeRig) {
		r.sky.set(func(c *sky) {
			c.names = map[string]string{"b": skyScheme + "b-again"}
			c.vouch = func() error { c.machines[skyScheme+"b-again"] = cloud.Running; return nil }
		})
		r.lose("b")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes", r.names(), "a b c")
		r.want("blocked", r.blocked(blockedReplaced), 1.0)
	})
}

// TestSecondListIsNewer than the proof of the credentials: one that began while that was sought may be of other credentials.
func TestSecondListIsNewer(t *testing.T) {
	inLife(t, []string{"a", "b", "c"}, func(r *lifeRig) {
		r.sky.set(func(c *sky) {
			lacking := func(truth map[string]cloud.State) (map[string]cloud.State, error) {
				delete(truth, skyScheme+"b")
				return truth, nil
			}
			c.confirm = func(string, cloud.State) (cloud.State, error) { return cloud.Gone, nil } // which is no help
			c.list = lacking
			c.vouch = func() error {
				<-time.After(time.Second)
				err := c.refresh() // somebody else's
				<-time.After(time.Second)
				c.list = nil
				return err
			}
		})
		r.silence("b")
		r.pass(skyAge + lifeSoon)
		r.want("Nodes", r.names(), "a b c")
		r.want("contradicted", testutil.ToFloat64(r.controller.metrics.blocked.WithLabelValues(string(blockedContradicted))), 1.0)
	})
}

// TestNobodyKnows: when the cloud does not answer for long, somebody is told of the Nodes that are not ready, once for all of them.
func TestNobodyKnows(t *testing.T) {
	inLife(t, []string{"a", "b", "c", "d"}, func(r *lifeRig) {
		r.sky.set(func(c *sky) {
			c.list = func(map[string]cloud.State) (map[string]cloud.State, error) { return nil, errors.New("not permitted") }
		})
		r.change("d", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/keep-node": "true"} })
		r.silence("b", "c", "d")
		r.pass(darkLimit - time.Minute)
		r.want("blocked before it lasts", r.blocked(blockedNoAnswer), 0.0)
		r.pass(2*time.Minute + lifePeriod)
		r.want("blocked", r.blocked(blockedNoAnswer), 2.0)
		r.toldOnce("Warning NodeNotRemoved", "b, c", "not permitted")
		r.pass(30 * time.Minute)
		r.want("events while it lasts", len(r.told()), 0)
		r.pass(30 * time.Minute)
		r.toldOnce("Warning NodeNotRemoved", "b, c")
		r.report("b", corev1.ConditionTrue)
		r.pass(lifePeriod)
		r.want("blocked when one is ready", r.blocked(blockedNoAnswer), 1.0)
		r.sky.set(func(c *sky) { c.list = nil })
		r.pass(2 * lifePeriod)
		r.want("blocked when there are answers", r.blocked(blockedNoAnswer), 0.0)
		r.want("Nodes", r.names(), "a b c d")
	})
}

// TestStrangeStateIsNotMissing: a Node whose machine was missing, and of which the cloud says something unknown now, is not held any more.
func TestStrangeStateIsNotMissing(t *testing.T) {
	inLife(t, []string{"a", "b"}, func(r *lifeRig) {
		r.behaviour.MaxRemovals = 0
		r.start()
		r.lose("b")
		r.pass(skyAge + lifeSoon)
		r.want("blocked", r.blocked(blockedAllowance), 1.0)
		r.sky.machine("b", cloud.Unknown)
		r.pass(skyAge + lifePeriod)
		r.want("blocked when it is there", r.blocked(blockedAllowance), 0.0)
	})
}
