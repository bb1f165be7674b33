package node

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNodeIsInitialised: the initialisation takes two writes and one event, and nothing is written after it.
func TestNodeIsInitialised(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		r.join("a")
		r.pass(time.Second)
		r.initialised("a")
		r.want("writes", r.written(), "a status, a")
		r.want("events", strings.Join(r.warnings(), "\n"), "Normal Synced Node synced successfully")
		r.want("addresses", len(r.node("a").Status.Addresses), 2)
		r.want("other taints", len(r.node("a").Spec.Taints), 1)
		version := r.cluster.Version()
		r.pass(3 * resyncPeriod)
		r.want("changes later on", r.cluster.Version(), version)
		r.want("events later on", len(r.warnings()), 0)
	})
}

// TestNodesAreKeptInSync: a change of a machine is written at the next resync, and a change of the Node is corrected at
// once; each with one write.
func TestNodesAreKeptInSync(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a", "b")
		r.start()
		r.written()
		r.machine("a", func(m *cloud.Machine) {
			m.Type, m.Labels = "large", map[string]string{"team": "shop"}
			m.Addresses = addresses("host a, in 10.0.0.1, in fd00::1")
		})
		r.pass(resyncPeriod)
		r.initialised("a", "b")
		r.want("writes after a resize", r.written(), "a status")
		r.want("type", r.node("a").Labels[corev1.LabelInstanceType], "large")

		r.change("b", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "wrong" })
		r.pass(time.Second)
		r.initialised("b")
		r.want("writes after a change by hand", r.written(), "b")

		r.machine("a", func(m *cloud.Machine) { m.Labels = nil })
		r.pass(resyncPeriod)
		_, labelled := r.node("a").Labels["team"]
		_, recorded := r.node("a").Annotations[testRecord]
		r.want("label and record are left", labelled || recorded, false)
		r.want("writes after a label is gone", r.written(), "a")
	})
}

// TestInitialisationProblems: the reason is reported once, again if it changes, and again if it lasts, also that of an
// error without a reason. The Node is initialised when the problem is solved.
func TestInitialisationProblems(t *testing.T) {
	for _, reason := range []string{cloud.MachineNotFound, cloud.MachineAmbiguous, cloud.MachineElsewhere,
		cloud.MachineNoAddress, cloud.MachineReplaced, cloud.InvalidSetting, cloud.CloudRefused,
		cloud.CloudNotReachable, reasonNotKnown} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var attempts atomic.Int64
				r.fakeCloud.err = func(string) error {
					message := "because"
					attempt := attempts.Add(1)
					switch reason {
					case cloud.CloudRefused, cloud.CloudNotReachable:
						message = fmt.Sprint("because of ", attempt)
					case reasonNotKnown:
						return fmt.Errorf("attempt %d failed", attempt)
					}
					return &cloud.MachineProblem{Reason: reason, Message: message}
				}
				r.join("a")
				r.start()
				r.pass(10 * time.Minute)
				r.want("events", r.eventReasons(), "1 "+reason)
				if attempt := attempts.Load(); attempt > 20 {
					t.Errorf("%d attempts in 10 minutes", attempt)
				}
				r.want("metric", value(r, r.controller, "node_controller_problems", reason), 1.0)
				r.pass(time.Hour)
				r.want("events after an hour", r.eventReasons(), "1 "+reason)
				r.want("writes", r.written(), "")
				r.want("waiting", value(r, r.controller, "node_controller_uninitialised", ""), 1.0)
				r.fakeCloud.set(func(c *fakeCloud) { c.err = nil })
				r.pass(maxRetryDelay + time.Second)
				r.initialised("a")
				r.want("events at the end", r.eventReasons(), "1 Synced")
				r.want("metric at the end", value(r, r.controller, "node_controller_problems", reason), 0.0)
				r.want("waiting at the end", value(r, r.controller, "node_controller_uninitialised", ""), 0.0)
			})
		})
	}
}

// value is that of a metric, with that value of its label; 0 if there is none.
func value(t interface {
	Helper()
	Fatal(...any)
}, keeper *Controller, name, label string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keeper.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (label == "" || metric.GetLabel()[0].GetValue() == label) {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestCloudDoesNotAnswer: while the cloud does not answer, a resync ends with the first Node, each Node that is not
// initialised is tried again after growing pauses, and only these get an event.
func TestCloudDoesNotAnswer(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 100 {
			r.join(fmt.Sprint("old-", i))
		}
		r.start()
		r.pass(time.Minute)
		r.warnings()
		r.written()
		r.fakeCloud.set(func(c *fakeCloud) {
			c.err = func(string) error {
				return &cloud.MachineProblem{Reason: cloud.CloudNotReachable, Message: "no answer"}
			}
			c.finds = 0
		})
		for i := range 100 {
			r.join(fmt.Sprint("new-", i))
			r.change(fmt.Sprint("old-", i), func(n *corev1.Node) { n.Labels["x"] = "y" })
		}
		r.pass(10 * time.Minute)
		if most := 100*16 + 200; r.fakeCloud.finds > most {
			t.Errorf("%d attempts in 10 minutes, want at most %d", r.fakeCloud.finds, most)
		}
		r.want("events", r.eventReasons(), "100 CloudNotReachable")
		r.want("writes", r.written(), "")
		looked := testutil.ToFloat64(r.controller.metrics.latest)
		r.fakeCloud.set(func(c *fakeCloud) { c.err = nil })
		r.pass(maxRetryDelay + time.Minute)
		for i := range 100 {
			r.initialised(fmt.Sprint("new-", i))
		}
		r.pass(resyncPeriod)
		if testutil.ToFloat64(r.controller.metrics.latest) <= looked {
			t.Error("no complete resync after the end")
		}
	})
}

// TestResyncEndsInAnOutage: a resync calls a cloud that does not answer no more often than it compares Nodes at a time.
func TestResyncEndsInAnOutage(t *testing.T) {
	const atATime = 4
	inBubble(t, func(r *rig) {
		for i := range 100 {
			r.join(fmt.Sprint("old-", i))
		}
		r.startWith(r.fakeCloud, atATime)
		r.pass(time.Minute)
		looked := testutil.ToFloat64(r.controller.metrics.latest)
		r.fakeCloud.set(func(c *fakeCloud) {
			c.err = func(string) error {
				return &cloud.MachineProblem{Reason: cloud.CloudNotReachable, Message: "no answer"}
			}
			c.finds = 0
		})
		r.pass(resyncPeriod)
		if finds := r.fakeCloud.finds; finds == 0 || finds > atATime {
			t.Errorf("%d calls, want at most %d", finds, atATime)
		}
		r.want("the latest complete resync", testutil.ToFloat64(r.controller.metrics.latest), looked)
	})
}

// TestForeignNodesAreLeftAlone: Nodes of another cloud, and Nodes that were never uninitialised, do not change, even if
// a machine has their name.
func TestForeignNodesAreLeftAlone(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.machine("other", nil)
		r.register("other", func(n *corev1.Node) { n.Spec.ProviderID = "elsewhere://1" })
		r.machine("guest", nil)
		r.register("guest", func(n *corev1.Node) {
			withoutTaint(n)
			n.Status.Addresses = addresses("host guest, in 172.16.0.1")
		})
		r.register("unknown", withoutTaint)
		r.start()
		r.pass(2 * resyncPeriod)
		r.want("writes", r.written(), "")
		r.want("events", len(r.warnings()), 0)
	})
}

// TestTaintRemovedByHand: a Node that has an address of its machine gets its provider ID.
func TestTaintRemovedByHand(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.machine("a", nil)
		r.register("a", func(n *corev1.Node) { withoutTaint(n); n.Status.Addresses = addresses("host a, in 10.0.0.1") })
		r.start()
		r.initialised("a")
		r.want("writes", r.written(), "a")
	})
}

// TestConflictsAreRetried: conflicts with other clients are retried without an event. The list of taints is written as
// a whole, so those that another client adds meanwhile must not be lost.
func TestConflictsAreRetried(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a")
		conflicts := 0
		r.refuse = func(what string) *http.Response {
			if conflicts++; what == "a" && conflicts < 5 { // the taint controller writes between the two writes
				r.change("a", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: fmt.Sprint("late-", conflicts),
						Effect: corev1.TaintEffectNoExecute})
				})
			}
			return nil
		}
		r.start()
		r.pass(time.Second)
		r.initialised("a")
		r.want("taints of others", len(r.node("a").Spec.Taints), 4)
		r.want("events", r.eventReasons(), "1 Synced")
	})
}

// TestCrashBetweenTheWrites: the taint still exists, and the next process completes the initialisation.
func TestCrashBetweenTheWrites(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a")
		r.refuse = func(what string) *http.Response {
			if what == "a status" {
				return nil
			}
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}
		}
		r.start()
		r.want("waits", cloud.Uninitialised(r.node("a")), true)
		r.want("addresses", len(r.node("a").Status.Addresses), 2)
		r.accepting()
		r.written()
		r.start()
		r.initialised("a")
		r.want("writes", r.written(), "a")
	})
}

// TestAPIServerRefuses: a refusal becomes an event, and the write is retried.
func TestAPIServerRefuses(t *testing.T) {
	for status, reason := range map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusUnprocessableEntity: metav1.StatusReasonInvalid} {
		inBubble(t, func(r *rig) {
			r.join("a")
			r.refusing(status, reason)
			r.start()
			r.pass(10 * time.Minute)
			warnings := r.warnings()
			if len(warnings) != 1 || !strings.Contains(warnings[0], "Warning NodeNotWritten") ||
				!strings.Contains(warnings[0], "as the test requires") {
				t.Errorf("events %q", warnings)
			}
			if attempts := len(strings.Split(r.written(), ", ")); attempts > 20 {
				t.Errorf("%d attempts", attempts)
			}
			r.accepting()
			r.pass(maxRetryDelay)
			r.initialised("a")
		})
	}
}

// TestNodeIsRecreated: a patch does not apply to another Node of the same name.
func TestNodeIsRecreated(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a")
		once := false
		r.refuse = func(what string) *http.Response {
			if !once {
				once = true
				node := fresh()
				node.UID = "uid-another"
				if err := r.cluster.Replace(node); err != nil {
					t.Error(err)
				}
				r.want("writes to the second before it is known", len(node.Status.Addresses), 1)
			}
			return nil
		}
		r.start()
		r.pass(time.Second)
		r.initialised("a")
		r.want("UID", string(r.node("a").UID), "uid-another")
		r.want("initialisations", strings.Count(r.eventReasons(), "Synced"), 1)
	})
}

// TestTwoNodesOfOneMachine: the second Node is refused until the first one is deleted.
func TestTwoNodesOfOneMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a")
		r.start()
		r.machine("b", func(m *cloud.Machine) { m.ProviderID = fakeScheme + "a" })
		r.machine("c", func(m *cloud.Machine) { m.ProviderID = fakeScheme + "a" })
		r.warnings()
		r.register("b", nil)
		r.register("c", func(n *corev1.Node) { n.Spec.ProviderID = fakeScheme + "a" })
		r.pass(time.Minute)
		r.want("events", r.eventReasons(), "2 MachineTaken")
		r.want("waits", cloud.Uninitialised(r.node("b")) && cloud.Uninitialised(r.node("c")), true)
		if err := r.cluster.Delete(r.node("c")); err != nil {
			t.Fatal(err)
		}
		if err := r.cluster.Delete(r.node("a")); err != nil {
			t.Fatal(err)
		}
		r.pass(maxRetryDelay + time.Second)
		r.want("provider ID", r.node("b").Spec.ProviderID, fakeScheme+"a")
		r.want("waits at the end", cloud.Uninitialised(r.node("b")), false)
	})
}

// TestTwoNodesClaimOneMachineAtOnce: one of them gets it.
func TestTwoNodesClaimOneMachineAtOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, name := range []string{"a", "b", "c"} {
			r.machine(name, func(m *cloud.Machine) { m.ProviderID = fakeScheme + "one" })
			r.register(name, nil)
		}
		r.startWith(r.fakeCloud, 3)
		r.pass(time.Minute)
		var got []string
		for _, node := range r.cluster.Nodes() {
			if node.Spec.ProviderID != "" {
				got = append(got, node.Name)
			}
		}
		r.want("Nodes with the machine", len(got), 1)
		r.want("events", r.eventReasons() == "1 Synced, 2 MachineTaken" || r.eventReasons() == "", true)
	})
}

// TestWaitingNodesComeFirst: a new Node does not wait for a thousand that are compared.
func TestWaitingNodesComeFirst(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 50 {
			r.machine(fmt.Sprint("old-", i), nil)
			r.register(fmt.Sprint("old-", i), func(n *corev1.Node) {
				withoutTaint(n)
				n.Spec.ProviderID = fakeScheme + n.Name
			})
		}
		r.join("z")
		r.start()
		r.pass(time.Second)
		if written := r.written(); !strings.HasPrefix(written, "z status, z, ") {
			t.Errorf("written: %s", written)
		}
	})
}

// TestAnswersAreNewerThanTheNode: a machine is found by name only in a list from after this process first saw the Node,
// and not the earlier Node of that name. For a Node with a provider ID any list is sufficient.
func TestAnswersAreNewerThanTheNode(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.machine("a", nil)
		r.start()
		for range 2 {
			met := time.Now()
			r.fakeCloud.set(func(c *fakeCloud) {
				c.err = func(string) error { return &cloud.MachineProblem{Reason: cloud.MachineNotFound} }
			})
			r.register("a", nil)
			r.pass(10 * time.Minute)
			r.want("while it is not found", r.fakeCloud.since["a"], met)
			r.fakeCloud.set(func(c *fakeCloud) { c.err = nil })
			r.pass(maxRetryDelay)
			r.initialised("a")
			r.pass(resyncPeriod)
			r.want("once it is initialised", r.fakeCloud.since["a"], time.Time{})
			if err := r.cluster.Delete(r.node("a")); err != nil {
				t.Fatal(err)
			}
			r.pass(time.Minute)
		}
	})
}

// TestUnsupportedSettings: a setting that the cloud does not permit becomes one event for all initialised Nodes, and is
// counted for each.
func TestUnsupportedSettings(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 10 {
			r.join(fmt.Sprint("n-", i))
		}
		r.start()
		r.pass(time.Minute)
		r.warnings()
		for i := range 10 {
			r.machine(fmt.Sprint("n-", i), func(m *cloud.Machine) {
				m.Problems = []cloud.MachineProblem{{Reason: cloud.CloudRefused, Message: "no types"}}
			})
		}
		r.pass(resyncPeriod)
		r.want("events", r.eventReasons(), "1 CloudRefused")
		r.want("metric", value(r, r.controller, "node_controller_problems", cloud.CloudRefused), 10.0)
		r.pass(30 * time.Minute)
		r.want("events in half an hour", r.eventReasons(), "")
		r.pass(time.Hour)
		r.want("events in the hour after it", r.eventReasons(), "1 CloudRefused")
	})
}

// TestResyncWithoutDifference: a thousand Nodes that are in sync are not queued.
func TestResyncWithoutDifference(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 1000 {
			r.join(fmt.Sprint("n-", i))
		}
		r.startWith(r.fakeCloud, 4)
		r.pass(time.Minute)
		r.written()
		r.fakeCloud.set(func(c *fakeCloud) { c.finds = 0 })
		r.pass(resyncPeriod)
		r.want("writes", r.written(), "")
		r.want("questions", r.fakeCloud.finds, 1000)
	})
}

// TestWrongOptions: New returns an error.
func TestWrongOptions(t *testing.T) {
	for _, o := range []Options{{}, {Period: time.Minute, ResyncWorkers: 1}, {Period: time.Minute, Workers: 1},
		{Workers: 1, ResyncWorkers: 1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
