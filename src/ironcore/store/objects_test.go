package store

import (
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestWrittenAfterDeletion: an answer that arrives after the watch has reported the deletion of its object is not
// stored.
func TestWrittenAfterDeletion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		late := r.create("web")
		synctest.Wait()
		r.delete("web")
		synctest.Wait()
		r.LoadBalancers.Written(late)
		_, exists := r.LoadBalancers.Get("web")
		want(r, "exists", exists, false)
		want(r, "list", names(r.LoadBalancers.List()), "")
		again := r.create("web")
		r.LoadBalancers.Written(again)
		found, exists := r.LoadBalancers.Get("web")
		want(r, "exists again", exists && found.UID == again.UID, true)
	})
}

// TestWrittenBeforeOlderDeletion: the watch reports the deletion of an object after it was created again. The answer of
// its creation stays, and the watch replaces it.
func TestWrittenBeforeOlderDeletion(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		r.create("web")
		synctest.Wait()
		r.server.DelayEvents(2 * time.Second)
		r.delete("web")
		pass(time.Second)
		again := r.create("web")
		r.LoadBalancers.Written(again)
		for _, moment := range []string{"before the deletion", "after the deletion", "after the creation"} {
			found, exists := r.LoadBalancers.Get("web")
			want(r, "exists "+moment, exists && found.UID == again.UID, true)
			pass(1100 * time.Millisecond)
		}
		r.delete("web")
		pass(3 * time.Second)
		_, exists := r.LoadBalancers.Get("web")
		want(r, "exists after the second deletion", exists, false)
	})
}

// TestDeleted: an object that was deleted does not exist, whatever the watch reports from before, until it is created
// again.
func TestDeleted(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		last := r.create("web")
		synctest.Wait()
		r.server.DelayEvents(2 * time.Second)
		r.server.ChangeLoadBalancer("web", func(l *networkingv1alpha1.LoadBalancer) {
			l.Spec.Ports[0].Port = 443
			last = l
		})
		pass(time.Second)
		r.delete("web")
		r.LoadBalancers.Deleted(last)
		for _, moment := range []string{"at once", "after the change", "after the deletion"} {
			_, exists := r.LoadBalancers.Get("web")
			want(r, "exists "+moment, exists, false)
			want(r, "list "+moment, names(r.LoadBalancers.List()), "")
			pass(1100 * time.Millisecond)
		}
		again := r.create("web")
		pass(3 * time.Second)
		found, exists := r.LoadBalancers.Get("web")
		want(r, "exists again", exists && found.UID == again.UID, true)
		r.LoadBalancers.Deleted(last)
		_, exists = r.LoadBalancers.Get("web")
		want(r, "exists after a late answer", exists, true)
	})
}

// TestGone: it is known that an object is gone when the watch has reported its deletion, until another one may have
// been created, or a minute has passed.
func TestGone(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		want(r, "never created", r.LoadBalancers.Gone("web"), false)
		r.create("web")
		synctest.Wait()
		want(r, "exists", r.LoadBalancers.Gone("web"), false)
		r.delete("web")
		synctest.Wait()
		want(r, "deleted", r.LoadBalancers.Gone("web"), true)
		r.LoadBalancers.Creating("web")
		want(r, "may have been created", r.LoadBalancers.Gone("web"), false)
		r.create("web")
		r.delete("web")
		synctest.Wait()
		want(r, "deleted again", r.LoadBalancers.Gone("web"), true)
		pass(2 * MaxDelay)
		want(r, "long ago", r.LoadBalancers.Gone("web"), false)
	})
}

// TestDeletedWithoutWatch: an object was written and then deleted while there was no watch. The next list reports the
// deletion with the version from before. The newer answer does not stay, whether it is stored before or after that.
func TestDeletedWithoutWatch(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		r.create("web")
		synctest.Wait()
		r.server.ExpireWatches()
		r.server.ChangeLoadBalancer("web", func(l *networkingv1alpha1.LoadBalancer) { l.Spec.Ports[0].Port = 443 })
		written, err := r.Client.LoadBalancers.Get(r.ctx, "web", metav1.GetOptions{})
		if err != nil {
			r.Fatal(err)
		}
		r.LoadBalancers.Written(written)
		r.delete("web")
		pass(30 * time.Second)
		for _, moment := range []string{"after the list", "after a late answer"} {
			_, exists := r.LoadBalancers.Get("web")
			want(r, "exists "+moment, exists, false)
			r.LoadBalancers.Written(written)
		}
	})
}

// TestDeletedExpires: a deletion that the watch never reports counts for a minute.
func TestDeletedExpires(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		r.create("web")
		pass(time.Second)
		last, _ := r.LoadBalancers.Get("web")
		r.LoadBalancers.Deleted(last)
		pass(59 * time.Second)
		want(r, "list", names(r.LoadBalancers.List()), "")
		pass(2 * time.Second)
		want(r, "list after a minute", names(r.LoadBalancers.List()), "web")
	})
}

// TestWrittenExpires: an answer that the watch never reports counts for a minute.
func TestWrittenExpires(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		r.server.DelayEvents(time.Hour)
		r.LoadBalancers.Written(r.create("web"))
		pass(59 * time.Second)
		_, exists := r.LoadBalancers.Get("web")
		want(r, "exists for a minute", exists, true)
		pass(2 * time.Second)
		want(r, "list", names(r.LoadBalancers.List()), "")
		_, exists = r.LoadBalancers.Get("web")
		want(r, "exists after a minute", exists, false)
	})
}

// TestWrittenIsNotOlder: an answer that is older than what the watch has reported is not stored.
func TestWrittenIsNotOlder(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sync()
		late := r.create("web")
		r.server.ChangeLoadBalancer("web", func(l *networkingv1alpha1.LoadBalancer) { l.Spec.Ports[0].Port = 443 })
		synctest.Wait()
		r.LoadBalancers.Written(late)
		found, _ := r.LoadBalancers.Get("web")
		want(r, "port", found.Spec.Ports[0].Port, 443)
	})
}

// TestListsHaveWrites: lists and indexes contain the answers that the watch has not reported yet.
func TestListsHaveWrites(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a", "10.0.0.1")
		r.sync()
		r.create("api")
		synctest.Wait()
		r.server.DelayEvents(30 * time.Second)
		r.LoadBalancers.Written(r.create("web"))
		want(r, "list", names(r.LoadBalancers.List()), "api web")
		written, err := r.Client.NetworkInterfaces.Patch(r.ctx, "a-primary", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"kubernetes.io/cluster":"blue"}}}`), metav1.PatchOptions{})
		if err != nil {
			r.Fatal(err)
		}
		r.NetworkInterfaces.Written(written)
		address := written.Status.IPs[0].Addr
		want(r, "label in the index", r.InterfacesWith(address)[0].Labels[label.Cluster], "blue")
		want(r, "label in the list", r.NetworkInterfaces.List()[0].Labels[label.Cluster], "blue")
	})
}
