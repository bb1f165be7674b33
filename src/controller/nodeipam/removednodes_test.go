package nodeipam

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// lagging makes the cache begin with other Nodes than there are, and show only what is sent to it.
func (r *rig) lagging(begins ...corev1.Node) *watch.FakeWatcher {
	sent, lists := watch.NewFake(), 0
	r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return lists == 1, &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: begins}, nil
	})
	r.cluster.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, sent, nil
	})
	return sent
}

func nodeOf(name string, uid types.UID, created time.Time, cidrs ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: metav1.NewTime(created),
		ResourceVersion: "1"}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
}

// TestCacheBehindTheStock: the cache shows that the Node before is gone, and not yet the one of its name that is there
// and has a network. That stays its own, until that Node is gone itself.
func TestCacheBehindTheStock(t *testing.T) {
	inRig(t, "10.244.0.0/24", func(r *rig) {
		young := nodeOf("x", "young", time.Now(), "10.244.0.0/24")
		if err := r.cluster.Tracker().Add(young); err != nil {
			r.Fatal(err)
		}
		old := nodeOf("x", "old", time.Time{}, "10.244.0.0/24")
		cache := r.lagging(*old)
		r.start()
		cache.Delete(old)
		r.settle()
		cache.Add(r.join("y"))
		r.settle()
		r.is("y while x is there", r.has("y"), "")
		cache.Add(young)
		r.settle()
		r.leave("x")
		cache.Delete(young)
		r.settle()
		r.is("y when x is gone", r.has("y"), "10.244.0.0/24")
	})
}

// TestComesAndGoes: several Nodes of a name that are gone before somebody looks leave nothing taken.
func TestComesAndGoes(t *testing.T) {
	inRig(t, "10.244.0.0/24", func(r *rig) {
		first := r.join("x")
		cache := r.lagging(*first)
		r.start()
		r.is("x", r.has("x"), "10.244.0.0/24")
		r.leave("x")
		cache.Delete(first)
		for i := range 3 {
			next := nodeOf("x", types.UID(fmt.Sprint("x-", i)), time.Now())
			cache.Add(next)
			cache.Delete(next)
		}
		r.settle()
		cache.Add(r.join("y"))
		r.settle()
		r.is("y", r.has("y"), "10.244.0.0/24")
	})
}
