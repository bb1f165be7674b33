package lease

import (
	"context"
	"slices"
	"strconv"
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

// shelf keeps one lease as an API server does: who writes what is not the latest is refused.
type shelf struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
}

// client is a way to the shelf.
func (s *shelf) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		resource := schema.GroupResource{Resource: "leases"}
		write, writes := action.(interface{ GetObject() runtime.Object })
		if !writes {
			if s.lease == nil {
				return true, nil, apierrors.NewNotFound(resource, "ccm")
			}
			return true, s.lease.DeepCopy(), nil
		}
		wanted, ok := write.GetObject().(*coordinationv1.Lease)
		switch {
		case !ok:
			return false, nil, nil
		case s.lease != nil && wanted.ResourceVersion != s.lease.ResourceVersion:
			return true, nil, apierrors.NewConflict(resource, "ccm", nil)
		}
		version := 1
		if s.lease != nil {
			before, err := strconv.Atoi(s.lease.ResourceVersion)
			if err != nil {
				return true, nil, err
			}
			version = before + 1
		}
		s.lease = wanted.DeepCopy()
		s.lease.ResourceVersion = strconv.Itoa(version)
		return true, s.lease.DeepCopy(), nil
	})
	return client
}

// parliament counts who leads.
type parliament struct {
	*testing.T
	shelf   shelf
	mu      sync.Mutex
	leading []string
	terms   []string // who led, in order
}

// lead is the work of a leader: it lasts as long as ctx.
func (p *parliament) lead(ctx context.Context, name string) {
	p.mu.Lock()
	p.leading, p.terms = append(p.leading, name), append(p.terms, name)
	if len(p.leading) > 1 {
		p.Errorf("%v lead together", p.leading)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leading = slices.DeleteFunc(p.leading, func(one string) bool { return one == name })
}

func (p *parliament) lock(name string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"},
		Client:     p.shelf.client().CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
}

// existing is a cloud controller manager that uses k8s.io/cloud-provider as it is: it never gives the lease back.
func (p *parliament) existing(name string) (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: p.lock(name), LeaseDuration: duration, RenewDeadline: deadline, RetryPeriod: retry, Name: name,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) {
				p.lead(ctx, name)
			}, OnStoppedLeading: func() {}},
		})
	}()
	return func() { cancel(); <-ended; synctest.Wait() }
}

// ours is one of this project.
func (p *parliament) ours(name string) (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	cfg := Config{Lock: p.lock(name), Name: "ccm", Duration: duration, RenewDeadline: deadline, RetryPeriod: retry}
	result := hold(ctx, cfg, func(ctx context.Context) error { p.lead(ctx, name); return nil })
	return func() {
		cancel()
		if err := <-result; err != nil {
			p.Error(err)
		}
	}
}

// TestNeverTwoLeaders while the existing cloud controller manager is replaced, with both running, and taken back.
func TestNeverTwoLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parliament{T: t}
		stopExisting := p.existing("existing")
		<-time.After(time.Minute)
		stopFirst, stopSecond := p.ours("first"), p.ours("second")
		<-time.After(5 * time.Minute)
		stopExisting()
		<-time.After(time.Minute)
		rollback := p.existing("rollback")
		<-time.After(time.Minute)
		stopFirst()
		stopSecond()
		<-time.After(time.Minute)
		rollback()
		p.mu.Lock()
		defer p.mu.Unlock()
		if terms := slices.Compact(slices.Clone(p.terms)); len(terms) < 3 || terms[0] != "existing" ||
			terms[len(terms)-1] != "rollback" || slices.Contains(terms[1:len(terms)-1], "existing") {
			t.Errorf("led in turn: %v; want the existing one, ours, and the one it was rolled back to", terms)
		}
	})
}
