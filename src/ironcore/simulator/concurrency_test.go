package simulator

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// increment adds one to the number in a label, and tries again if another client was faster.
func (r *rig) increment(name string) {
	r.Helper()
	for {
		nic, err := r.clients.NetworkInterfaces.Get(r.Context(), name, metav1.GetOptions{})
		if err != nil {
			r.Error(err)
			return
		}
		n, _ := strconv.Atoi(nic.Labels["test"])
		nic.Labels = map[string]string{"test": strconv.Itoa(n + 1)}
		_, err = r.clients.NetworkInterfaces.Update(r.Context(), nic, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			want(r.T, "error", err, nil)
			return
		}
	}
}

func TestManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Provision: time.Second})
		r.addMachine("a", "10.0.0.1")
		store := r.inform()
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() {
				for range 20 {
					r.increment("a-primary")
				}
			})
		}
		clients.Go(func() {
			for range 20 {
				r.InterruptWatches()
				r.addMachine("b", "10.0.0.2")
				r.DeleteMachine("b")
			}
		})
		clients.Wait()
		pass(time.Minute)
		want(t, "label of the client", label(store, "a-primary"), "200")
		want(t, "deleted", label(store, "b-primary"), "missing")
		nic, _ := r.NetworkInterface("a-primary")
		want(t, "label", nic.Labels["test"], "200")
	})
}
