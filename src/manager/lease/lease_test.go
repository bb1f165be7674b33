package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	duration = 15 * time.Second
	deadline = 10 * time.Second
	retry    = 2 * time.Second
)

// api is the lease's API server, which can be made to fail.
type api struct {
	*fake.Clientset

	mu   sync.Mutex
	fail func(verb string) error
}

func newAPI(objects ...runtime.Object) *api {
	a := &api{Clientset: fake.NewClientset(objects...)}
	a.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		fail := a.fail
		a.mu.Unlock()
		if fail == nil {
			return false, nil, nil
		}
		err := fail(action.GetVerb())
		return err != nil, nil, err
	})
	return a
}

// breakWith calls fail with every request from now on.
func (a *api) breakWith(fail func(verb string) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = fail
}

func errAway(string) error { return errors.New("the API is away") }

func errConflict(verb string) error {
	if verb != "update" {
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "ccm", errors.New("changed"))
}

func config(client *api) Config {
	return Config{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		},
		Name: "ccm", Duration: duration, RenewDeadline: deadline, RetryPeriod: retry,
	}
}

// stored returns the lease as others see it.
func stored(t *testing.T, client *api) *coordinationv1.Lease {
	t.Helper()
	lease, err := client.Tracker().Get(schema.GroupVersionResource{
		Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "kube-system", "ccm")
	if err != nil {
		t.Fatal(err)
	}
	return lease.(*coordinationv1.Lease)
}

func holder(t *testing.T, client *api) string {
	t.Helper()
	return *stored(t, client).Spec.HolderIdentity
}

// hold runs Hold in the background.
func hold(ctx context.Context, cfg Config, work func(context.Context) error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- Hold(ctx, cfg, work) }()
	return result
}

func TestLeaseIsRenewedUntilWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newAPI()
		ctx, stop := context.WithCancel(t.Context())
		result := hold(ctx, config(client), func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Minute) // far longer than the lease
			if got := holder(t, client); got != "me" {
				t.Errorf("at the end of the work the lease is held by %q", got)
			}
			if age := time.Since(stored(t, client).Spec.RenewTime.Time); age > 2*retry {
				t.Errorf("at the end of the work the last renewal was %s ago", age)
			}
			return nil
		})
		<-time.After(5 * time.Minute)
		if got := holder(t, client); got != "me" {
			t.Errorf("after five minutes the lease is held by %q", got)
		}
		stop()
		if err := <-result; err != nil {
			t.Errorf("Hold: %v", err)
		}
		if got := stored(t, client).Spec; *got.HolderIdentity != "" || *got.LeaseDurationSeconds != 1 {
			t.Errorf("the lease was not given back: held by %q for %d s", *got.HolderIdentity,
				*got.LeaseDurationSeconds)
		}
	})
}

func TestWhatWorkReturns(t *testing.T) {
	broken := errors.New("a controller broke")
	tests := map[string]struct {
		err        error
		wantHolder string
	}{
		"nothing wrong":         {nil, ""},
		"an error":              {broken, ""},
		"still busy":            {ErrBusy, "me"},
		"an error and busy too": {errors.Join(broken, ErrBusy), "me"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newAPI()
				err := Hold(t.Context(), config(client), func(context.Context) error { return test.err })
				if !errors.Is(err, test.err) {
					t.Errorf("Hold returned %v, want %v", err, test.err)
				}
				if got := holder(t, client); got != test.wantHolder {
					t.Errorf("the lease is held by %q, want %q", got, test.wantHolder)
				}
			})
		})
	}
}

func TestLostLease(t *testing.T) {
	tests := map[string]struct {
		finish  time.Duration // how long the work takes to end
		within  time.Duration // after the last renewal
		wantErr string
	}{
		"work ends at once": {0, deadline + retry, "another process took it\ncut off"},
		"work hangs":        {time.Hour, duration + retry, "another process took it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newAPI()
				working, done := make(chan struct{}), make(chan struct{})
				result := hold(t.Context(), config(client), func(ctx context.Context) error {
					defer close(done)
					close(working)
					<-ctx.Done()
					client.breakWith(nil) // the API answers again
					<-time.After(test.finish)
					return errors.New("cut off")
				})
				<-working
				client.breakWith(errAway)
				start := time.Now()
				err := <-result
				if !errors.Is(err, ErrLost) || !strings.HasSuffix(err.Error(), test.wantErr) {
					t.Errorf("Hold returned %v, want ErrLost ending with %q", err, test.wantErr)
				}
				if took := time.Since(start); took > test.within {
					t.Errorf("Hold took %s to notice and end, want at most %s", took, test.within)
				}
				if got := holder(t, client); got != "me" {
					t.Errorf("the lost lease is held by %q: it was given back, or renewed", got)
				}
				<-done
			})
		})
	}
}

func TestShortOutageIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newAPI()
		ctx, stop := context.WithCancel(t.Context())
		result := hold(ctx, config(client), func(ctx context.Context) error {
			synctest.Wait() // until the election waits for its next renewal
			recovered := time.Now().Add(deadline - retry)
			client.breakWith(func(verb string) error {
				if time.Now().Before(recovered) {
					return errAway(verb)
				}
				return nil
			})
			<-time.After(5 * time.Minute)
			if ctx.Err() != nil {
				t.Error("the work was stopped")
			}
			stop()
			return nil
		})
		if err := <-result; err != nil {
			t.Errorf("Hold: %v", err)
		}
	})
}

func TestRelease(t *testing.T) {
	tests := map[string]struct {
		failures   int
		wantHolder string
	}{
		"at the first attempt":      {0, ""},
		"at the last attempt":       {releaseAttempts - 1, ""},
		"left to expire in the end": {releaseAttempts, "me"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newAPI()
				err := Hold(t.Context(), config(client), func(context.Context) error {
					synctest.Wait() // until the election waits for its next renewal
					failures := test.failures
					client.breakWith(func(verb string) error {
						err := errConflict(verb)
						if err == nil || failures == 0 {
							return nil
						}
						failures--
						return err
					})
					return nil
				})
				if err != nil {
					t.Errorf("Hold: %v", err)
				}
				if got := holder(t, client); got != test.wantHolder {
					t.Errorf("the lease is held by %q, want %q", got, test.wantHolder)
				}
			})
		})
	}
}

func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other, seconds := "other", int32(duration/time.Second)
		now := metav1.NowMicro()
		client := newAPI(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: &seconds,
				AcquireTime: &now, RenewTime: &now},
		})
		ctx, stop := context.WithCancel(t.Context())
		result := hold(ctx, config(client), func(context.Context) error {
			t.Error("a standby works")
			return nil
		})
		<-time.After(duration - retry)
		stop()
		if err := <-result; err != nil {
			t.Errorf("Hold: %v", err)
		}
		if got := holder(t, client); got != "other" {
			t.Errorf("the lease is held by %q, want the other", got)
		}
	})
}

func TestWatchdogSeesAHangingElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newAPI()
		cfg := config(client)
		cfg.Watchdog = leaderelection.NewLeaderHealthzAdaptor(20 * time.Second)
		hang := make(chan struct{})
		result := hold(t.Context(), cfg, func(context.Context) error {
			synctest.Wait()
			client.breakWith(func(string) error {
				<-hang // does not heed its context: a bug, or a process that starves
				return nil
			})
			if err := cfg.Watchdog.Check(nil); err != nil {
				t.Errorf("the watchdog barks at a good lease: %v", err)
			}
			<-time.After(duration + 21*time.Second)
			if err := cfg.Watchdog.Check(nil); err == nil {
				t.Error("the watchdog says nothing about a lease not renewed for long")
			}
			close(hang)
			return nil
		})
		if err := <-result; err != nil {
			t.Errorf("Hold: %v", err)
		}
	})
}

func TestImpossibleTimes(t *testing.T) {
	cfg := config(newAPI())
	cfg.Duration = cfg.RenewDeadline
	err := Hold(t.Context(), cfg, func(context.Context) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "leaseDuration must be greater than renewDeadline") {
		t.Errorf("Hold returned %v, want an error about the times", err)
	}
}
