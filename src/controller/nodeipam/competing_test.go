package nodeipam

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// competingWrites makes another client write the networks of these Nodes immediately before the controller's patch.
func (r *rig) competingWrites(networks map[string]string) {
	r.before = func(name string) {
		if network, found := networks[name]; found {
			delete(networks, name)
			r.change(name, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{network} })
		}
	}
}

// competing checks the metric, which is 1 during a pause.
func (r *rig) competing(want float64) {
	r.Helper()
	if got := testutil.ToFloat64(r.running.allocator.metrics.competing); got != want {
		r.Errorf("the metric of another allocator is %v, want %v", got, want)
	}
}

// TestCompetingAllocator: if another program allocates networks, that is reported, and after several Nodes the
// controller pauses. Networks outside of the cluster's, and those that a Node has when it registers, do not count.
func TestCompetingAllocator(t *testing.T) {
	tests := map[string]struct {
		network string // of the Nodes, with their number
		stops   bool
	}{
		"from ours":      {"10.244.20%d.0/24", true},
		"from elsewhere": {"192.168.%d.0/24", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, "10.244.0.0/16", func(r *rig) {
				r.join("old")
				r.start()
				r.join("restored", "10.244.100.0/24")
				networks := map[string]string{}
				for i := range maxCompeting {
					networks[fmt.Sprint("a", i)] = fmt.Sprintf(tt.network, i)
				}
				r.competingWrites(maps.Clone(networks))
				for _, name := range slices.Sorted(maps.Keys(networks)) {
					r.join(name)
					<-time.After(time.Minute)
					r.is(name, r.podCIDRs(name), networks[name])
				}
				r.join("b")
				r.settle()
				if !tt.stops {
					r.is("b", r.podCIDRs("b"), "10.244.4.0/24")
					r.is("events", r.events(), "")
					return
				}
				r.is("b", r.podCIDRs("b"), "")
				r.competing(1)
				r.is("events", r.events(), strings.TrimSuffix(strings.Repeat(reasonCompeting+" ", maxCompeting+1), " "))
				r.start()
				r.is("b after a start", r.podCIDRs("b"), "10.244.1.0/24")
			})
		})
	}
}

// TestFewForeignNetworksDoNotPause: neither a kubelet that writes its own Node often, nor a user who sets a network by
// hand now and then, makes the controller pause.
func TestFewForeignNetworksDoNotPause(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.start()
		for i := range 3 * maxCompeting {
			r.competingWrites(map[string]string{"odd": fmt.Sprintf("10.244.%d.0/24", 100+i)})
			r.join("odd")
			<-time.After(time.Minute)
			r.deleteNode("odd")
		}
		for i := range 2 * maxCompeting {
			name := fmt.Sprint("hand-", i)
			r.competingWrites(map[string]string{name: fmt.Sprintf("10.244.%d.0/24", 200+i)})
			r.join(name)
			<-time.After(competingWindow/(maxCompeting-1) + time.Minute)
		}
		r.join("b")
		r.settle()
		if r.podCIDRs("b") == "" {
			r.Errorf("b has no network; events %s", r.events())
		}
		r.requireDistinct()
	})
}

// TestResume: after some time without another program the controller resumes, with the networks that Nodes have then,
// and not with those that it reserved before.
func TestResume(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.start()
		r.competingWrites(map[string]string{"a": "10.244.200.0/24", "b": "10.244.201.0/24", "c": "10.244.202.0/24"})
		r.join("a")
		r.join("b")
		r.settle()
		r.cluster.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
			patch, ok := action.(clienttesting.PatchAction)
			return ok && patch.GetName() == "d" && r.patches.Load() == 2, nil, errors.New("no answer")
		})
		r.join("d") // 10.244.2.0/24 is reserved for it, and the patch is retried soon
		<-time.After(100 * time.Millisecond)
		r.join("c")
		<-time.After(resumeAfter / 2)
		r.join("e")
		r.settle()
		r.change("e", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.2.0/24"} })
		r.settle()
		r.is("events", r.events(), strings.Join([]string{reasonCompeting, reasonCompeting, reasonCompeting,
			reasonCompeting, reasonCompeting, reasonFailed, reasonOverlap}, " "))
		<-time.After(resumeAfter - time.Minute)
		r.is("d before it was quiet for long", r.podCIDRs("d"), "")
		<-time.After(2 * checkPeriod)
		r.competing(0)
		r.join("f")
		r.settle()
		r.requireDistinct()
	})
}

// TestResumeWithoutDeletedNodes: the networks of Nodes that are deleted during the list before the controller resumes,
// or that the cache never contained, are free.
func TestResumeWithoutDeletedNodes(t *testing.T) {
	// the only network of this size that the other program does not occupy
	const freeNetwork = "10.244.0.0/24"
	// of another size than those of the controller
	foreign := map[string]string{"a": "10.244.1.0/25", "b": "10.244.2.0/25", "c": "10.244.3.0/25"}
	t.Run("while stock is taken", func(t *testing.T) {
		inRig(t, "10.244.0.0/22", func(r *rig) {
			var deletes atomic.Bool
			r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !deletes.Load() {
					return false, nil, nil
				}
				kind, resource := corev1.SchemeGroupVersion.WithKind("Node"),
					corev1.SchemeGroupVersion.WithResource("nodes")
				nodes, err := r.cluster.Tracker().List(resource, kind, "")
				err = errors.Join(err, r.cluster.Tracker().Delete(resource, "", "x"))
				<-time.After(time.Second) // the cache shows the deletion before the list arrives
				return true, nodes, err
			})
			r.start()
			r.join("x", freeNetwork)
			r.settle()
			r.competingWrites(maps.Clone(foreign))
			for _, name := range slices.Sorted(maps.Keys(foreign)) {
				r.join(name)
				r.settle()
			}
			deletes.Store(true)
			r.resumes(func(*corev1.Node) {}, freeNetwork)
		})
	})
	t.Run("unseen", func(t *testing.T) {
		inRig(t, "10.244.0.0/22", func(r *rig) {
			r.join("x", freeNetwork)
			cache := r.laggingCache()
			r.start()
			r.competingWrites(maps.Clone(foreign))
			for _, name := range slices.Sorted(maps.Keys(foreign)) {
				cache.Add(r.join(name))
				r.settle()
				cache.Modify(workerpooltest.Node(r, r.cluster, name))
				r.settle()
			}
			r.deleteNode("x")
			r.resumes(func(n *corev1.Node) { cache.Add(n) }, freeNetwork)
		})
	})
}

// resumes fails unless a Node gets the wanted network after some time without another program. Show adds the Node to
// the cache.
func (r *rig) resumes(show func(*corev1.Node), want string) {
	r.Helper()
	r.is("Nodes with an event about another allocator", fmt.Sprint(strings.Count(r.events(), reasonCompeting)),
		fmt.Sprint(maxCompeting))
	<-time.After(resumeAfter + 2*checkPeriod)
	show(r.join("y"))
	r.settle()
	r.is("y", r.podCIDRs("y"), want)
}

// TestStaleCacheShowsOlderNode: if the cache still contains the earlier Node of a name, the later one keeps its
// network.
func TestStaleCacheShowsOlderNode(t *testing.T) {
	a := newAllocator([]netip.Prefix{prefix("10.244.0.0/16")}, Masks{IPv4: 24}, "")
	at := time.Now()
	nodeWith := func(uid types.UID, created time.Time, cidrs ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid,
			CreationTimestamp: metav1.NewTime(created)}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	}
	young := nodeWith("young", at, "10.244.3.0/24")
	if err := a.recordNode(young); err != nil {
		t.Fatal(err)
	}
	if err := a.recordNode(nodeWith("old", at.Add(-time.Hour), "10.244.4.0/24")); err != nil {
		t.Errorf("error %v", err)
	}
	if _, err := a.reserve(nodeWith("old", at.Add(-time.Hour))); !errors.Is(err, errStaleCache) {
		t.Errorf("reserving for the old Node: %v", err)
	}
	if !a.overlaps(prefix("10.244.3.0/24")) || a.overlaps(prefix("10.244.4.0/24")) {
		t.Error("the young Node's network is free, or the old one's is not")
	}
	a.removeNode("a", "old")
	if !a.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network is free when the Node before is gone")
	}
	a.removeNode("a", "young")
	if a.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network stays taken when the Node is gone")
	}
}

// TestReserved: reserved networks are not allocated.
func TestReserved(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.reserved = []netip.Prefix{prefix("10.244.0.0/20")}
		r.start()
		r.join("a")
		r.settle()
		r.is("a", r.podCIDRs("a"), "10.244.16.0/24")
	})
}

// TestRandomStart: the first network is a random one, and all networks can be allocated.
func TestRandomStart(t *testing.T) {
	first := map[netip.Prefix]bool{}
	for range 50 {
		p := newCIDRPool(prefix("10.244.0.0/16"))
		p.randomiseStart()
		part, _ := p.allocate(24)
		first[part] = true
		for range 255 {
			if _, found := p.allocate(24); !found {
				t.Fatal("not everything can be taken")
			}
		}
	}
	if len(first) < 10 {
		t.Errorf("50 pools began at %d places", len(first))
	}
}

// hangingTransport is an API server that never answers.
type hangingTransport struct{}

func (hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestWritesTimeOut: writes end before another process may have become the leader.
func TestWritesTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1", Transport: hangingTransport{}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = (&Controller{client: client}).write(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			[]netip.Prefix{prefix("10.244.0.0/24")})
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "giving node a") ||
			took > writeTimeout {
			t.Errorf("error %v after %v", err, took)
		}
	})
}
