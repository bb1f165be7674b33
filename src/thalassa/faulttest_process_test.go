package thalassa

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
)

// What the service controller of k8s.io/cloud-provider waits between attempts.
const (
	firstPause = 5 * time.Second
	lastPause  = 300 * time.Second
)

// attempt repeats do as the service controller does, until it succeeds or ctx ends.
func attempt(ctx context.Context, do func(context.Context) error) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // a run that fails shows its calls
	backoff := firstPause
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		pause := backoff
		if again := cloud.ReasonOf(err); again.Until > 0 {
			pause = again.Until
		} else {
			backoff = min(2*backoff, lastPause)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// unasked hides the time in a cloud.Reason, as the service controller does for everything but EnsureLoadBalancer.
func unasked(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

// process is one instance of the provider.
type process struct{ *conformance.Library }

// process is the lab's provider as it runs.
func (l *lab) process() process { return process{l.library} }

// through is the lab's provider started anew, with its calls going through network.
func (l *lab) through(network http.RoundTripper) process {
	anew := *l
	anew.network = network
	anew.restart()
	return anew.process()
}

// ensuring is one attempt to make the Service's load balancer what it should be.
func (b process) ensuring(s *corev1.Service, nodes []*corev1.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.EnsureLoadBalancer(ctx, "test", s, nodes)
		return err
	}
}

// following is one attempt to hand the Service's load balancer the nodes.
func (b process) following(s *corev1.Service, nodes []*corev1.Node) func(context.Context) error {
	return func(ctx context.Context) error { return unasked(b.UpdateLoadBalancer(ctx, "test", s, nodes)) }
}

// deleting is one attempt to remove the Service's load balancer. Once nothing exists, or the deletion is said to be
// complete, the finalizer goes and nobody ever comes back: what is left then is a leak.
func (b process) deleting(s *corev1.Service) func(context.Context) error {
	return func(ctx context.Context) error {
		_, exists, err := b.GetLoadBalancer(ctx, "test", s)
		if err != nil || !exists {
			return unasked(err)
		}
		return unasked(b.EnsureLoadBalancerDeleted(ctx, "test", s))
	}
}
