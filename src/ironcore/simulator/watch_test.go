package simulator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// inform runs an informer of network interfaces until the test ends, and returns its store.
func (r *rig) inform() cache.Store {
	r.Helper()
	nics := r.clients.NetworkInterfaces
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return nics.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return nics.Watch(ctx, o)
		},
	}
	informer := cache.NewSharedInformer(lw, &networkingv1alpha1.NetworkInterface{}, 0)
	go informer.RunWithContext(r.Context())
	if !cache.WaitForCacheSync(r.Context().Done(), informer.HasSynced) {
		r.Fatal("the informer does not synchronise")
	}
	return informer.GetStore()
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (r *rig) setLabel(name, value string) {
	r.Helper()
	r.ChangeNetworkInterface(name, func(n *networkingv1alpha1.NetworkInterface) {
		n.Labels = map[string]string{"test": value}
	})
}

func label(store cache.Store, name string) string {
	o, ok, _ := store.GetByKey("shoot/" + name)
	if !ok {
		return "missing"
	}
	n, _ := o.(*networkingv1alpha1.NetworkInterface)
	return n.Labels["test"]
}

func TestInformer(t *testing.T) {
	for name, options := range map[string]Options{"watch list": {}, "list and watch": {NoWatchList: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options)
				r.addMachine("a", "10.0.0.1")
				store := r.inform()
				want(t, "listed", label(store, "a-primary"), "")
				r.setLabel("a-primary", "1")
				r.addMachine("b", "10.0.0.2")
				pass(0)
				want(t, "changed", label(store, "a-primary"), "1")
				want(t, "added", label(store, "b-primary"), "")
				r.DeleteMachine("a")
				pass(0)
				want(t, "deleted", label(store, "a-primary"), "missing")
				before := len(r.Requests())
				pass(time.Hour)
				want(t, "watches begun in an hour are few", len(r.Requests())-before < 15, true)
				r.setLabel("b-primary", "2")
				pass(0)
				want(t, "changed after an hour", label(store, "b-primary"), "2")
			})
		})
	}
}

func TestWatchesEnd(t *testing.T) {
	for name, end := range map[string]func(*Simulator){
		"interrupted": (*Simulator).InterruptWatches, "expired": (*Simulator).ExpireWatches,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{NoWatchList: true})
				r.addMachine("a", "10.0.0.1")
				r.addMachine("b", "10.0.0.2")
				store := r.inform()
				pass(time.Second) // client-go lists again after a watch that was shorter
				r.ForgetRequests()
				r.setLabel("a-primary", "1")
				r.DeleteMachine("b")
				end(r.Simulator)
				r.setLabel("a-primary", "2")
				pass(time.Minute)
				want(t, "changed", label(store, "a-primary"), "2")
				want(t, "deleted", label(store, "b-primary"), "missing")
				lists := 0
				for _, request := range r.Requests() {
					if request.Verb == "list" {
						lists++
					}
				}
				want(t, "lists", lists > 0, name == "expired")
			})
		})
	}
}

func TestEventsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.addMachine("a", "10.0.0.1")
		store := r.inform()
		r.DelayEvents(10 * time.Second)
		r.setLabel("a-primary", "1")
		pass(9 * time.Second)
		want(t, "before", label(store, "a-primary"), "")
		pass(time.Second)
		want(t, "after", label(store, "a-primary"), "1")
		r.setLabel("a-primary", "2")
		r.DelayEvents(0)
		pass(0)
		want(t, "without delay", label(store, "a-primary"), "2")
	})
}
