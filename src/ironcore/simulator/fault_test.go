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
		code    int32
	}{
		"none":  {nil, func(err error) bool { return err == nil }, true, 201},
		"quota": {&quota, apierrors.IsForbidden, false, 403},
		"unreachable": {Fault(Unreachable), func(err error) bool {
			return errors.Is(err, syscall.ECONNREFUSED)
		}, false, 0},
		"lost": {Fault(ResponseLost), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			err := r.failCreate(t.Context(), test.status)
			want(t, "kind of error", test.is(err), true)
			_, ok := r.LoadBalancer("lb")
			want(t, "created", ok, test.created)
			want(t, "code", r.Requests()[0].Code, test.code)
			want(t, "request", r.Writes()[0], "create loadbalancers/lb")
		})
	}
}

func TestLostAnswerOfRefusedWatch(t *testing.T) {
	r := newRig(t, Options{})
	r.Fail(func(Request) *metav1.Status { return Fault(ResponseLost) })
	_, err := r.clients.LoadBalancers.Watch(t.Context(), metav1.ListOptions{FieldSelector: "unknown=x"})
	want(t, "fails", err != nil, true)
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

func TestFaultChangesTheObject(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	nic, err := r.clients.NetworkInterfaces.Get(t.Context(), "a-primary", metav1.GetOptions{})
	want(t, "error", err, nil)
	r.Fail(func(Request) *metav1.Status {
		r.setLabel("a-primary", "other")
		return nil
	})
	nic.Labels = map[string]string{"test": "mine"}
	_, err = r.clients.NetworkInterfaces.Update(t.Context(), nic, metav1.UpdateOptions{})
	want(t, "conflict", apierrors.IsConflict(err), true)
}
