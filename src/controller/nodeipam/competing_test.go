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

// rivalled lets another one be quicker with the networks of these Nodes.
func (r *rig) rivalled(networks map[string]string) {
	r.before = func(name string) {
		if network, quicker := networks[name]; quicker {
			delete(networks, name)
			r.change(name, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{network} })
		}
	}
}

// TestAnotherGives networks while we do: that is told, and when several Nodes have got some, we stop. What is from
// elsewhere, or was there when the Node came, is no sign of that.
func TestAnotherGives(t *testing.T) {
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
				for i := range manyStrangers {
					networks[fmt.Sprint("a", i)] = fmt.Sprintf(tt.network, i)
				}
				r.rivalled(maps.Clone(networks))
				for _, name := range slices.Sorted(maps.Keys(networks)) {
					r.join(name)
					<-time.After(time.Minute)
					r.is(name, r.has(name), networks[name])
				}
				r.join("b")
				r.settle()
				if !tt.stops {
					r.is("b", r.has("b"), "10.244.4.0/24")
					r.is("events", r.told(), "")
					return
				}
				r.is("b", r.has("b"), "")
				r.is("events", r.told(), strings.TrimSuffix(strings.Repeat(reasonRival+" ", manyStrangers+1), " "))
				r.start()
				r.is("b after a start", r.has("b"), "10.244.1.0/24")
			})
		})
	}
}

// TestOneStops nobody: neither a kubelet that writes its own Node, however often, nor somebody who sets a network by
// hand now and then.
func TestOneStops(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.start()
		for i := range 3 * manyStrangers {
			r.rivalled(map[string]string{"odd": fmt.Sprintf("10.244.%d.0/24", 100+i)})
			r.join("odd")
			<-time.After(time.Minute)
			r.leave("odd")
		}
		for i := range 2 * manyStrangers {
			name := fmt.Sprint("hand-", i)
			r.rivalled(map[string]string{name: fmt.Sprintf("10.244.%d.0/24", 200+i)})
			r.join(name)
			<-time.After(strangeFor/(manyStrangers-1) + time.Minute)
		}
		r.join("b")
		r.settle()
		if r.has("b") == "" {
			r.Errorf("b has no network; told %s", r.told())
		}
		r.distinct()
	})
}

// TestBeginsAgain when there was nobody else for a while, with what Nodes have then, and not with what was reserved
// before.
func TestBeginsAgain(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.start()
		r.rivalled(map[string]string{"a": "10.244.200.0/24", "b": "10.244.201.0/24", "c": "10.244.202.0/24"})
		r.join("a")
		r.join("b")
		r.settle()
		r.cluster.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
			patch, ok := action.(clienttesting.PatchAction)
			return ok && patch.GetName() == "d" && r.patches.Load() == 2, nil, errors.New("no answer")
		})
		r.join("d") // 10.244.2.0/24 is reserved for it, and tried again soon
		<-time.After(100 * time.Millisecond)
		r.join("c")
		<-time.After(quietTime / 2)
		r.join("e")
		r.settle()
		r.change("e", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.2.0/24"} })
		r.settle()
		r.is("events", r.told(), strings.Join([]string{reasonRival, reasonRival, reasonRival, reasonRival, reasonRival,
			reasonFailed, reasonOverlap}, " "))
		<-time.After(quietTime - time.Minute)
		r.is("d before it was quiet for long", r.has("d"), "")
		<-time.After(2 * watchPeriod)
		r.join("f")
		r.settle()
		r.distinct()
	})
}

// TestBeginsAgainWithoutThoseGone: a Node that goes while stock is taken anew, or that the cache has never shown,
// leaves its network to others.
func TestBeginsAgainWithoutThoseGone(t *testing.T) {
	// the only one that another one does not give
	const left = "10.244.0.0/24"
	// no other has the size of ours
	rivals := map[string]string{"a": "10.244.1.0/25", "b": "10.244.2.0/25", "c": "10.244.3.0/25"}
	t.Run("while stock is taken", func(t *testing.T) {
		inRig(t, "10.244.0.0/22", func(r *rig) {
			var leaves atomic.Bool
			r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !leaves.Load() {
					return false, nil, nil
				}
				kind, resource := corev1.SchemeGroupVersion.WithKind("Node"),
					corev1.SchemeGroupVersion.WithResource("nodes")
				nodes, err := r.cluster.Tracker().List(resource, kind, "")
				err = errors.Join(err, r.cluster.Tracker().Delete(resource, "", "x"))
				<-time.After(time.Second) // the cache shows that before the list arrives
				return true, nodes, err
			})
			r.start()
			r.join("x", left)
			r.settle()
			r.rivalled(maps.Clone(rivals))
			for _, name := range slices.Sorted(maps.Keys(rivals)) {
				r.join(name)
				r.settle()
			}
			leaves.Store(true)
			r.beginsAgain(func(*corev1.Node) {}, left)
		})
	})
	t.Run("unseen", func(t *testing.T) {
		inRig(t, "10.244.0.0/22", func(r *rig) {
			r.join("x", left)
			cache := r.lagging()
			r.start()
			r.rivalled(maps.Clone(rivals))
			for _, name := range slices.Sorted(maps.Keys(rivals)) {
				cache.Add(r.join(name))
				r.settle()
				cache.Modify(workerpooltest.Node(r, r.cluster, name))
				r.settle()
			}
			r.leave("x")
			r.beginsAgain(func(n *corev1.Node) { cache.Add(n) }, left)
		})
	})
}

// beginsAgain fails if a Node does not get what it should when there was nobody else for long. Show shows it to the
// cache.
func (r *rig) beginsAgain(show func(*corev1.Node), want string) {
	r.Helper()
	r.is("Nodes that tell of another one", fmt.Sprint(strings.Count(r.told(), reasonRival)), fmt.Sprint(manyStrangers))
	<-time.After(quietTime + 2*watchPeriod)
	show(r.join("y"))
	r.settle()
	r.is("y", r.has("y"), want)
}

// TestRivalIsMeasured while nothing is given.
func TestRivalIsMeasured(t *testing.T) {
	l := newLedger([]netip.Prefix{prefix("10.244.0.0/16")}, Masks{IPv4: 24}, "")
	node := func(i int) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)},
			Spec: corev1.NodeSpec{PodCIDRs: []string{fmt.Sprintf("10.244.%d.0/24", i)}}}
	}
	if l.foreign(node(0)) != nil {
		t.Error("what was given before the start counts")
	}
	l.stocked()
	for i := range manyStrangers {
		if testutil.ToFloat64(l.metrics.rival) != 0 {
			t.Errorf("after %d Nodes it counts as another", i)
		}
		if err := l.foreign(node(i)); err == nil || !strings.Contains(err.Error(), fmt.Sprint(i)) {
			t.Errorf("the error for Node %d is %v", i, err)
		}
	}
	if testutil.ToFloat64(l.metrics.rival) != 1 {
		t.Error("what another one gave does not count")
	}
	if l.resume(); testutil.ToFloat64(l.metrics.rival) != 0 {
		t.Error("it counts for ever")
	}
}

// TestYoungerNodeStays: a cache that still shows the Node of that name before it takes nothing from it.
func TestYoungerNodeStays(t *testing.T) {
	l := newLedger([]netip.Prefix{prefix("10.244.0.0/16")}, Masks{IPv4: 24}, "")
	at := time.Now()
	made := func(uid types.UID, created time.Time, cidrs ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid,
			CreationTimestamp: metav1.NewTime(created)}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	}
	young := made("young", at, "10.244.3.0/24")
	if _, err := l.settle(young); err != nil {
		t.Fatal(err)
	}
	if freed, err := l.settle(made("old", at.Add(-time.Hour), "10.244.4.0/24")); freed != nil || err != nil {
		t.Errorf("freed %v, error %v", freed, err)
	}
	if _, _, err := l.reserve(made("old", at.Add(-time.Hour))); !errors.Is(err, errBehind) {
		t.Errorf("reserving for the old Node: %v", err)
	}
	if !l.overlaps(prefix("10.244.3.0/24")) || l.overlaps(prefix("10.244.4.0/24")) {
		t.Error("the young Node's network is free, or the old one's is not")
	}
	l.forget("a", []types.UID{"old"})
	if !l.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network is free when the Node before is gone")
	}
	l.forget("a", []types.UID{"old", "young"})
	if l.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network stays taken when the Node is gone")
	}
}

// TestReserved networks are not given.
func TestReserved(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.reserved = []netip.Prefix{prefix("10.244.0.0/20")}
		r.start()
		r.join("a")
		r.settle()
		r.is("a", r.has("a"), "10.244.16.0/24")
	})
}

// TestScattered pools begin anywhere, and give everything.
func TestScattered(t *testing.T) {
	first := map[netip.Prefix]bool{}
	for range 50 {
		p := newPool(prefix("10.244.0.0/16"))
		p.scatter()
		part, _ := p.take(24)
		first[part] = true
		for range 255 {
			if _, found := p.take(24); !found {
				t.Fatal("not everything can be taken")
			}
		}
	}
	if len(first) < 10 {
		t.Errorf("50 pools began at %d places", len(first))
	}
}

// silence is an API server that never answers.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestWritesEnd before another process may have become the leader.
func TestWritesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1", Transport: silence{}})
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
