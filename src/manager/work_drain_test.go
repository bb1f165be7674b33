package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

// TestGrace: the grace that a pod needs follows from how long a write may take.
func TestGrace(t *testing.T) {
	for write, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, time.Second: 30 * time.Second, 15 * time.Second: 30 * time.Second,
		30 * time.Second: 45 * time.Second, 10 * time.Minute: 10*time.Minute + 15*time.Second,
	} {
		if got := Grace(write); got != want {
			t.Errorf("for writes of %s the grace is %s, want %s", write, got, want)
		}
	}
}

// TestSlowWriteAtTheEnd: a process that is stopped waits for a write that was sent as long as the cloud says that
// one may take, and gives the lease back then; what takes longer keeps the lease.
func TestSlowWriteAtTheEnd(t *testing.T) {
	tests := map[string]struct {
		takes, most time.Duration
		busy        bool
	}{
		"a slow write":                           {takes: 28 * time.Second, most: 30 * time.Second},
		"a very slow one":                        {takes: 9 * time.Minute, most: 10 * time.Minute},
		"one that takes longer than it may take": {takes: time.Hour, most: 10 * time.Minute, busy: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newTestCloud()
				cloud.takes = tt.most
				cloud.drain = func(ctx context.Context) error {
					select {
					case <-time.After(tt.takes):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				p := &process{cloud: cloud.offer("")}
				client := fake.NewClientset()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan error)
				go func() {
					ended <- lease.Hold(ctx, leaseOf(client), func(ctx context.Context) error {
						<-ctx.Done()
						return p.finish(context.WithoutCancel(ctx), newControllerGroup(0))
					})
				}()
				<-time.After(time.Minute)
				stop()
				began := time.Now()
				err := <-ended
				if errors.Is(err, lease.ErrBusy) != tt.busy || !tt.busy && err != nil {
					t.Errorf("it ends with %v, want busy: %v", err, tt.busy)
				}
				if took := time.Since(began); took > Grace(tt.most) {
					t.Errorf("it took %s, which is more than the grace of %s", took, Grace(tt.most))
				}
				held, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "ccm", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if got := *held.Spec.HolderIdentity != ""; got != tt.busy {
					t.Errorf("the lease is held: %v, want %v", got, tt.busy)
				}
			})
		})
	}
}

// leaseOf is the lease of a process in a cluster.
func leaseOf(client *fake.Clientset) lease.Config {
	return lease.Config{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		},
		Name: "ccm", Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
}
