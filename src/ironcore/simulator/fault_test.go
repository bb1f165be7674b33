package simulator

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failCreate creates a load balancer and returns the error, when all creations fail with a status.
func (r *rig) failCreate(ctx context.Context, status *metav1.Status) error {
	r.Helper()
	r.Fail(func(request Request) *metav1.Status {
		if request.Verb == "create" {
			return status
		}
		return nil
	})
	_, err := r.clients.LoadBalancers.Create(ctx, balancer("lb"), metav1.CreateOptions{})
	r.Fail(nil)
	return err
}

func TestFaults(t *testing.T) {
	balancers := schema.GroupResource{Resource: "loadbalancers"}
	quota := apierrors.NewForbidden(balancers, "lb", errors.New("exceeded quota")).Status()
	for name, test := range map[string]struct {
		status  *metav1.Status
		is      func(error) bool
		created bool
	}{
		"none":  {nil, func(err error) bool { return err == nil }, true},
		"quota": {&quota, apierrors.IsForbidden, false},
		"unreachable": {Fault(Unreachable), func(err error) bool {
			return errors.Is(err, syscall.ECONNREFUSED)
		}, false},
		"lost": {Fault(ResponseLost), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			err := r.failCreate(t.Context(), test.status)
			want(t, "kind of error", test.is(err), true)
			_, ok := r.LoadBalancer("lb")
			want(t, "created", ok, test.created)
			want(t, "request", r.Writes()[0], "create loadbalancers/lb")
		})
	}
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		err := r.failCreate(ctx, Fault(NoAnswer))
		want(t, "timeout", errors.Is(err, context.DeadlineExceeded), true)
		want(t, "time", time.Since(begin), 7*time.Second)
		want(t, "load balancers", len(r.LoadBalancers()), 0)
	})
}
