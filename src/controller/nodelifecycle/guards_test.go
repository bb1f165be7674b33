package nodelifecycle

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// TestNodeRegisteredAgain: a Node that is registered again at the moment of its removal is kept.
func TestNodeRegisteredAgain(t *testing.T) {
	for name, happens := range map[string]func(*rig){
		"another Node of that name": func(r *rig) {
			r.made++
			again := fakeNode("b")
			again.UID = types.UID(fmt.Sprintf("uid-%d", r.made))
			r.want("replacing it", r.cluster.Replace(again), nil)
		},
		"the Node is ready": func(r *rig) { r.report("b", corev1.ConditionTrue); r.stopKubelets("b") },
		"the Node changes": func(r *rig) {
			r.change("b", func(n *corev1.Node) { n.Labels = map[string]string{"x": "y"} })
		},
		"the Node is ready within the same second": func(r *rig) {
			r.change("b", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue })
		},
		"the kubelet reports": func(r *rig) { r.report("b", corev1.ConditionFalse); r.stopKubelets("b") },
		"it is to be kept": func(r *rig) {
			r.change("b", func(n *corev1.Node) { n.Labels = map[string]string{"example.com/keep-node": "true"} })
		},
		"it names another one": func(r *rig) { r.change("b", func(n *corev1.Node) { n.Spec.ProviderID = "sky://c" }) },
	} {
		for when, method := range map[string]string{"before it is read": http.MethodGet,
			"before it is deleted": http.MethodDelete} {
			t.Run(name+" "+when, func(t *testing.T) {
				inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
					happened := 0
					r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
						if strings.HasSuffix(request.URL.Path, "/nodes/b") && request.Method == method &&
							happened == 0 {
							happened++
							happens(r)
						}
						return next.RoundTrip(request)
					})
					r.deleteMachines("b")
					r.pass(listAge + removalTime)
					r.want("times that it happened", happened, 1)
					// the Node that was read is not ready
					if name == "the Node changes" && method == http.MethodGet {
						r.want("Nodes", r.names(), "a c")
						return
					}
					r.want("Nodes", r.names(), "a b c")
					r.change("b", func(n *corev1.Node) { n.Labels, n.Spec.ProviderID = nil, "sky://b" })
					r.stopKubelets("b")
					r.pass(2*firstSeenGrace + removalTime)
					r.want("Nodes later", r.names(), "a c")
				})
			})
		}
	}
}

// TestForeignNodes: foreign Nodes and those without a provider ID are not changed, and excluded Nodes are not deleted.
func TestForeignNodes(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		strangers := map[string]func(*corev1.Node){
			"foreign":    func(n *corev1.Node) { n.Spec.ProviderID = "metal://1" },
			"unnamed":    func(n *corev1.Node) { n.Spec.ProviderID = "" },
			"labelled":   func(n *corev1.Node) { n.Labels = map[string]string{"example.com/keep-node": "true"} },
			"annotated":  func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/keep-node": "yes"} },
			"unlabelled": func(n *corev1.Node) { n.Labels = map[string]string{"example.com/keep-node": "false"} },
		}
		for name, change := range strangers {
			node := fakeNode(name)
			change(node)
			r.register(node)
			r.stopKubelets(name)
		}
		leaving := fakeNode("leaving")
		leaving.Finalizers = []string{"example.com/theirs"}
		r.register(leaving)
		r.stopKubelets("leaving")
		r.want("deleting it", r.cluster.Delete(leaving), nil)
		r.pass(firstSeenGrace + removalTime + time.Hour/2)
		r.want("Nodes", r.names(), "a annotated b c foreign labelled leaving unnamed")
		r.want("opted out", r.blocked(blockedKept), 2.0)
		text := strings.Join(r.events(), "\n")
		for part, want := range map[string]int{"has the annotation or label example.com/keep-node": 2,
			"DeletingNode": 1} {
			if count := strings.Count(text, part); count != want {
				r.Errorf("%d times %s in the events, want %d:\n%s", count, part, want, text)
			}
		}
		if count := strings.Count(text, "NodeNotRemoved"); count != 2 {
			r.Errorf("%d events about Nodes that stay, want 2:\n%s", count, text)
		}
		r.change("labelled", func(n *corev1.Node) { n.Labels = nil })
		r.pass(removalTime)
		r.want("Nodes when one is not opted out any more", r.names(), "a annotated b c foreign leaving unnamed")
	})
}

// TestDryRun: a dry run reports what would be deleted, once, and deletes nothing.
func TestDryRun(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.behaviour.DryRun = true
		r.start()
		r.deleteMachines("b")
		r.pass(event.Again)
		r.want("Nodes", r.names(), "a b c")
		r.want("calls in an hour", strings.HasSuffix(r.fakeCloud.calls(), "1 credential checks, 1 confirms"), true)
		r.want("would be removed", testutil.ToFloat64(r.controller.metrics.removals.WithLabelValues(removalDryRun)),
			1.0)
		r.want("blocked", r.blocked(blockedDryRun), 1.0)
		r.requireEvent("dryRun is set")
		r.pass(listAge + removalTime)
		r.requireEvent("dryRun is set")
	})
}

// TestDryRunCounts: a dry run counts towards the budget, so that it reports what would be deleted.
func TestDryRunCounts(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		r.behaviour.DryRun = true
		r.start()
		r.settle()
		for _, name := range []string{"b", "c"} {
			r.deleteMachines(name)
			r.pass(listAge + removalTime)
		}
		r.want("would be removed", r.blocked(blockedDryRun), 1.0)
		r.want("would not be", r.blocked(blockedBudget), 1.0)
		r.pass(r.behaviour.RemovalWindow)
		r.want("would be removed in the next window", r.blocked(blockedDryRun), 2.0)
		r.want("Nodes", r.names(), "a b c")
	})
}

// TestWarningAfterRecovery: a Node that was ready in between gets the same event again at once.
func TestWarningAfterRecovery(t *testing.T) {
	inBubble(t, []string{"a", "b"}, func(r *rig) {
		r.settle()
		r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodDelete {
				return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "b",
					errors.New("no such right"))
			}
			return next.RoundTrip(request)
		})
		r.fakeCloud.machine("b", cloud.MachineGone)
		for range 2 {
			r.stopKubelets("b")
			r.pass(event.Anew)
			if events := r.events(); len(events) != 1 || !strings.Contains(events[0], "DeletingNodeFailed") {
				t.Errorf("events %q, want once that deleting failed", events)
			}
			r.report("b", corev1.ConditionTrue)
			r.pass(time.Minute)
		}
	})
}

// TestNotPermittedForMany: a deletion that is refused for one Node is not tried for all others, and reported once. The
// Nodes are deleted when it is permitted.
func TestNotPermittedForMany(t *testing.T) {
	names := numbered(50)
	for _, method := range []string{http.MethodDelete, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			inBubble(t, names, func(r *rig) {
				r.settle()
				var tries atomic.Int64
				r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
					if request.Method == method && strings.HasPrefix(request.URL.Path, "/api/v1/nodes/") {
						tries.Add(1)
						return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "",
							errors.New("no such right"))
					}
					return next.RoundTrip(request)
				})
				r.deleteMachines(names[:10]...)
				r.pass(40 * time.Minute)
				if most, count := int64(40), tries.Load(); count < 2 || count > most {
					r.Errorf("%d tries in 40 minutes, want some and at most %d", count, most)
				}
				r.want("Nodes", len(r.cluster.Nodes()), 50)
				r.want("blocked", r.blocked(blockedKubernetes), 10.0)
				text := strings.Join(r.events(), "\n")
				if count := strings.Count(text, "DeletingNode "); count != 0 {
					r.Errorf("%d times an event says that a Node is deleted:\n%s", count, text)
				}
				if count := strings.Count(text, "DeletingNodeFailed"); method == http.MethodDelete && count != 1 {
					r.Errorf("%d times an event says that one could not be, want 1:\n%s", count, text)
				}
				r.intercept(nil)
				r.pass(r.behaviour.RemovalWindow + removalTime)
				r.want("Nodes when it is permitted", len(r.cluster.Nodes()), 40)
			})
		})
	}
}

// TestHangingServer: an API server that does not answer blocks only that call.
func TestHangingServer(t *testing.T) {
	inBubble(t, []string{"a", "b", "c"}, func(r *rig) {
		var mu sync.Mutex
		hung := map[string]int{}
		hangs := func(request *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			once := request.Method == http.MethodPatch || hung[request.Method] == 0 &&
				strings.HasSuffix(request.URL.Path, "/nodes/b")
			if once {
				hung[request.Method]++
			}
			return once
		}
		r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
			if !hangs(request) {
				return next.RoundTrip(request)
			}
			<-request.Context().Done()
			return nil, request.Context().Err()
		})
		r.fakeCloud.machine("c", cloud.MachineStopped) // its taint is never written
		r.fakeCloud.machine("b", cloud.MachineGone)
		r.stopKubelets("b", "c")
		r.pass(4*(grace+2*(patch.Timeout+period)) + r.behaviour.RemovalWindow)
		r.want("Nodes", r.names(), "a c")
		r.want("reads that hung", hung[http.MethodGet], 1)
		r.want("deletions that hung", hung[http.MethodDelete], 1)
		if age := float64(time.Now().Unix()) - testutil.ToFloat64(r.controller.metrics.latest); age > 2*(patch.Timeout+
			period).Seconds() {
			r.Errorf("the latest pass ended %v s ago", age)
		}
	})
}

// TestRemovalsBeforeTaints: many slow writes of taints do not delay a removal.
func TestRemovalsBeforeTaints(t *testing.T) {
	names := numbered(30)
	inBubble(t, names, func(r *rig) {
		for _, name := range names[1:] {
			r.fakeCloud.machine(name, cloud.MachineStopped)
		}
		r.fakeCloud.machine(names[0], cloud.MachineGone)
		r.pass(listAge + 2*period)
		r.stopKubelets(names[0])
		removed, patched := time.Time{}, time.Time{}
		r.intercept(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
			switch request.Method {
			case http.MethodPatch:
				if patched.IsZero() {
					patched = time.Now()
				}
				<-time.After(patch.Timeout / 2)
			case http.MethodDelete:
				removed = time.Now()
			}
			return next.RoundTrip(request)
		})
		r.pass(grace + time.Second) // the next pass deletes it
		r.stopKubelets(names[1:20]...)
		r.pass(time.Hour)
		r.want("removed first", !removed.IsZero() && !patched.Before(removed), true)
	})
}
