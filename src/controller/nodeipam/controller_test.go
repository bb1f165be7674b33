package nodeipam

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// TestNodesGetNetworks: Nodes get networks of both IP families, once, in one write each. Existing networks do not
// change.
func TestNodesGetNetworks(t *testing.T) {
	inRig(t, "10.244.0.0/16 fd00:244::/48", func(r *rig) {
		r.join("old", "10.244.0.0/24", "fd00:244::/64")
		r.join("only", "10.244.1.0/24")
		r.join("elsewhere", "192.168.0.0/24")
		r.start()
		r.join("a")
		r.settle()
		r.join("b")
		r.settle()
		r.is("a", r.podCIDRs("a"), "10.244.2.0/24 fd00:244:0:1::/64")
		r.is("b", r.podCIDRs("b"), "10.244.3.0/24 fd00:244:0:2::/64")
		r.is("old", r.podCIDRs("old"), "10.244.0.0/24 fd00:244::/64")
		r.is("only", r.podCIDRs("only"), "10.244.1.0/24")
		r.is("events", r.events(), "")
		if r.patches.Load() != 2 {
			r.Errorf("%d patches for two Nodes", r.patches.Load())
		}
	})
}

// TestSizes: a Node's annotation takes precedence over its label, and the label over the flags. An invalid value is
// reported, and no network is allocated.
func TestSizes(t *testing.T) {
	inRig(t, "10.244.0.0/16 fd00:244::/56", func(r *rig) {
		r.masks, r.shortest = Masks{IPv4: 25, IPv6: 68}, Masks{IPv6: 58}
		r.start()
		r.joinAs("a", "", map[string]string{domain + "/node-cidr-mask-size-ipv4": "22"})
		r.settle()
		r.is("by label", r.podCIDRs("a"), "10.244.0.0/22 fd00:244::/68")
		r.joinAs("b", "", map[string]string{domain + "/node-cidr-mask-size-ipv6": "60"})
		r.settle()
		r.is("by label of the other family", r.podCIDRs("b"), "10.244.4.0/25 fd00:244:0:10::/60")
		r.joinAs("c", "", map[string]string{domain + "/node-cidr-mask-size-ipv4": "8"})
		r.settle()
		r.is("by an impossible label", r.podCIDRs("c"), "")
		r.joinAs("half", "", map[string]string{domain + "/node-cidr-mask-size-ipv4": "20"})
		r.settle()
		r.is("by a label that requests more than a Node may have", r.podCIDRs("half"), "")
		r.is("events", r.events(), reasonMask+" "+reasonMask)
		r.change("c", func(n *corev1.Node) {
			n.Annotations = map[string]string{domain + "/node-cidr-mask-size-ipv4": "26"}
		})
		<-time.After(maxRetryDelay)
		r.is("by annotation", r.podCIDRs("c"), "10.244.4.128/26 fd00:244:0:20::/68")
	})
}

// TestExhausted: if no network is free, that is reported once for as long as an event is kept, and the Node gets a
// network as soon as another Node is deleted.
func TestExhausted(t *testing.T) {
	inRig(t, "10.244.0.0/23", func(r *rig) {
		r.start()
		for _, name := range []string{"a", "b", "c"} {
			r.join(name)
			r.settle()
		}
		r.is("c", r.podCIDRs("c"), "")
		<-time.After(event.Again - time.Minute)
		r.is("events", r.events(), reasonExhausted)
		<-time.After(maxRetryDelay + time.Minute)
		r.is("events when it lasts", r.events(), reasonExhausted)
		r.deleteNode("a")
		r.settle()
		r.is("c", r.podCIDRs("c"), "10.244.0.0/24")
		r.requireDistinct()
	})
}

// TestExcluded: excluded Nodes get no network. Networks that are set by hand on them are not allocated to other Nodes,
// and do not count as those of another program. A Node that is not excluded any more gets a network.
func TestExcluded(t *testing.T) {
	inRig(t, "10.244.0.0/22", func(r *rig) {
		r.start()
		for i := range maxCompeting {
			name := fmt.Sprint("far-", i)
			r.joinAs(name, "", map[string]string{domain + "/" + cloud.ExcludeFromRoutes: ""})
			r.settle()
			r.is(name, r.podCIDRs(name), "")
			if i > 0 {
				r.change(name, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", i)} })
				r.settle()
			}
		}
		r.join("a")
		r.join("b")
		r.settle()
		r.deleteNode("b")
		r.settle()
		r.change("far-0", func(n *corev1.Node) { n.Labels = nil })
		r.settle()
		r.requireDistinct()
		r.is("events", r.events(), "")
		r.is("writes", fmt.Sprint(r.patches.Load()), "3")
	})
}

// TestTooLarge: a Node that registers with a larger network than the limit is reported, and no other Node gets a part
// of it.
func TestTooLarge(t *testing.T) {
	inRig(t, "10.244.0.0/22 fd00:244::/56", func(r *rig) {
		r.start()
		r.join("greedy", "10.244.0.0/23", "fd00:244::/57")
		r.join("whole", "10.244.2.0/24", "fd00:244:0:80::/60")
		r.settle()
		r.is("events of a cluster with little room", r.events(), reasonLarge)
	})
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.join("before", "10.0.0.0/8")
		r.join("greedy", "10.244.0.0/17")
		r.start()
		r.join("a")
		r.settle()
		r.is("events", r.events(), reasonExhausted+" "+reasonOverlap+" "+reasonLarge)
		r.is("a", r.podCIDRs("a"), "")
		r.deleteNode("before")
		r.settle()
		r.is("a when there is room", r.podCIDRs("a"), "10.244.128.0/24")
	})
}

// TestManyNodes: many Nodes get networks that do not overlap, with one patch each, also when the process is replaced in
// between.
func TestManyNodes(t *testing.T) {
	inRig(t, "10.0.0.0/8 fd00:244::/48", func(r *rig) {
		r.start()
		for i := range 500 {
			r.join(fmt.Sprintf("n%d", i))
		}
		r.settle()
		r.requireDistinct()
		if r.patches.Load() != 500 {
			r.Errorf("%d patches", r.patches.Load())
		}
		r.start()
		for i := range 100 {
			r.join(fmt.Sprintf("late%d", i))
			if i%3 == 0 {
				r.deleteNode(fmt.Sprintf("n%d", i))
			}
		}
		r.settle()
		r.requireDistinct()
		r.is("events", r.events(), "")
	})
}

// TestAllocationsOfEarlierProcess: networks that the process before this one allocated, and that the cache does not
// contain yet, are not allocated again.
func TestAllocationsOfEarlierProcess(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.join("a")
		r.join("b")
		var lists atomic.Int32
		// The first list fills the cache; the second is that of the initial sync.
		r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			if lists.Add(1) == 2 {
				r.change("a", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.0.0/24"} })
			}
			return false, nil, nil
		})
		r.start()
		r.is("a", r.podCIDRs("a"), "10.244.0.0/24")
		r.is("b", r.podCIDRs("b"), "10.244.1.0/24")
	})
}

// TestInitialSyncFails: nothing is allocated before the initial sync succeeds.
func TestInitialSyncFails(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		var lists atomic.Int32
		var back atomic.Bool
		r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return lists.Add(1) > 1 && !back.Load(), nil, errors.New("away")
		})
		r.join("a")
		r.start()
		<-time.After(time.Minute)
		r.is("a", r.podCIDRs("a"), "")
		back.Store(true)
		<-time.After(maxRetryDelay)
		r.is("a", r.podCIDRs("a"), "10.244.0.0/24")
	})
}

// TestRaces: other clients change the Node or its networks immediately before the patch, and answers get lost. No
// network is allocated twice or lost.
func TestRaces(t *testing.T) {
	tests := map[string]struct {
		before func(*rig, string)
		lost   bool
		a      string
		spare  string // what the next Node gets
	}{
		"changed": {func(r *rig, name string) {
			r.change(name, func(n *corev1.Node) { n.Annotations = map[string]string{"x": "y"} })
		}, false, "10.244.0.0/24", "10.244.1.0/24"},
		"given another": {func(r *rig, name string) {
			r.change(name, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.7.0/24"} })
		}, false, "10.244.7.0/24", "10.244.1.0/24"}, // see TestCompetingAllocator
		"lost": {func(*rig, string) {}, true, "10.244.0.0/24", "10.244.1.0/24"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, "10.244.0.0/16", func(r *rig) {
				once := true
				r.before = func(name string) {
					if once {
						once = false
						tt.before(r, name)
					}
				}
				r.loseAnswers.Store(tt.lost)
				r.start()
				r.join("a")
				r.settle()
				r.loseAnswers.Store(false)
				<-time.After(time.Minute)
				r.is("a", r.podCIDRs("a"), tt.a)
				r.join("b")
				r.settle()
				r.is("b", r.podCIDRs("b"), tt.spare)
				r.requireDistinct()
			})
		})
	}
}

// TestNodeIsRecreated: the network of a deleted Node is free for a new Node of the same name.
func TestNodeIsRecreated(t *testing.T) {
	inRig(t, "10.244.0.0/24", func(r *rig) {
		r.start()
		r.joinAs("a", "first", nil)
		r.settle()
		r.deleteNode("a")
		r.joinAs("a", "second", nil)
		r.settle()
		r.is("a", r.podCIDRs("a"), "10.244.0.0/24")
		r.is("events", r.events(), "")
	})
}

// TestLastingProblem: a problem with networks is reported again before the API server deletes the event, and not any
// more when it is solved.
func TestLastingProblem(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.join("a", "10.244.0.0/24")
		r.join("b", "10.244.0.128/25")
		r.join("greedy", "10.244.128.0/17")
		r.start()
		both := reasonOverlap + " " + reasonLarge
		r.is("events at the start", r.events(), both)
		<-time.After(event.Again - checkPeriod)
		r.is("events while those are kept", r.events(), "")
		<-time.After(2 * checkPeriod)
		r.is("events when it lasts", r.events(), both)
		r.deleteNode("a")
		<-time.After(event.Again + checkPeriod)
		r.is("events when one of two is gone", r.events(), reasonLarge)
		r.join("c", "10.244.0.0/24")
		r.settle()
		r.is("events of another one", r.events(), reasonOverlap)
		r.deleteNode("b")
		r.deleteNode("greedy")
		r.deleteNode("c")
		r.settle()
		r.join("d")
		r.settle()
		if r.podCIDRs("d") == "" {
			r.Error("what was looked at again stays taken")
		}
		if used := testutil.ToFloat64(r.running.allocator.metrics.usage.WithLabelValues("10.244.0.0/16")); used !=
			1.0/256 {
			r.Errorf("%f of the network are in use by one Node of 256", used)
		}
	})
}

// TestNodesBeingDeleted: Nodes that wait for their finalizers get no networks.
func TestNodesBeingDeleted(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.join("a")
		r.change("a", func(n *corev1.Node) {
			n.DeletionTimestamp, n.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/x"}
		})
		r.start()
		r.is("a", r.podCIDRs("a"), "")
	})
}

// TestMasksAreChecked: New returns an error if the masks do not fit.
func TestMasksAreChecked(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	_, err := New(Options{Client: fake.NewClientset(), Nodes: factory.Core().V1().Nodes(),
		CIDRs: []netip.Prefix{prefix("10.244.0.0/16")}, Masks: Masks{IPv4: 8}})
	if err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("error %v", err)
	}
}

// TestMetrics: the metrics show what is in use.
func TestMetrics(t *testing.T) {
	inRig(t, "10.244.0.0/22", func(r *rig) {
		a := newAllocator(r.cidrs, r.masks, "")
		node := r.join("a")
		if _, err := a.reserve(node); err != nil {
			r.Fatal(err)
		}
		if used := testutil.ToFloat64(a.metrics.usage.WithLabelValues("10.244.0.0/22")); used != 0.25 {
			r.Errorf("%f is in use, want a quarter", used)
		}
		a.removeNode("a", node.UID)
		if used, released := testutil.ToFloat64(a.metrics.usage.WithLabelValues("10.244.0.0/22")),
			testutil.ToFloat64(a.metrics.releases); used != 0 || released != 1 {
			r.Errorf("%f in use, %f released", used, released)
		}
	})
}
