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

// laggingCache makes the cache contain other Nodes than the API server at first, and only the given changes after that.
func (r *rig) laggingCache(initial ...corev1.Node) *watch.FakeWatcher {
	sent, lists := watch.NewFake(), 0
	r.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return lists == 1, &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: initial}, nil
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

// TestCacheBehindInitialSync: the cache shows that the earlier Node of a name was deleted, and not yet the later one,
// which has a network. The network is free only when the later Node is deleted, too.
func TestCacheBehindInitialSync(t *testing.T) {
	inRig(t, "10.244.0.0/24", func(r *rig) {
		young := nodeOf("x", "young", time.Now(), "10.244.0.0/24")
		if err := r.cluster.Tracker().Add(young); err != nil {
			r.Fatal(err)
		}
		old := nodeOf("x", "old", time.Time{}, "10.244.0.0/24")
		cache := r.laggingCache(*old)
		r.start()
		cache.Delete(old)
		r.settle()
		cache.Add(r.join("y"))
		r.settle()
		r.is("y while x is there", r.podCIDRs("y"), "")
		cache.Add(young)
		r.settle()
		r.deleteNode("x")
		cache.Delete(young)
		r.settle()
		r.is("y when x is gone", r.podCIDRs("y"), "10.244.0.0/24")
	})
}

// TestNodesDeletedBeforeReconcile: several Nodes of one name that are deleted before the name is reconciled leave no
// network occupied.
func TestNodesDeletedBeforeReconcile(t *testing.T) {
	inRig(t, "10.244.0.0/24", func(r *rig) {
		first := r.join("x")
		cache := r.laggingCache(*first)
		r.start()
		r.is("x", r.podCIDRs("x"), "10.244.0.0/24")
		r.deleteNode("x")
		cache.Delete(first)
		for i := range 3 {
			next := nodeOf("x", types.UID(fmt.Sprint("x-", i)), time.Now())
			cache.Add(next)
			cache.Delete(next)
		}
		r.settle()
		cache.Add(r.join("y"))
		r.settle()
		r.is("y", r.podCIDRs("y"), "10.244.0.0/24")
	})
}
