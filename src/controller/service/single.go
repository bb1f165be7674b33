package service

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Single makes single reconciliations, each with the error of its own, for tests of a cloud. It writes nothing to the
// API server. It is safe for concurrent use.
type Single struct {
	reconciler
	states stateStore // by the UID of the Service
}

// NewSingle returns a Single that records events about Services with the recorder.
func NewSingle(provider cloud.LoadBalancers, behaviour cloud.LoadBalancerBehaviour,
	recorder record.EventRecorder) *Single {
	return &Single{reconciler: reconciler{provider: provider, behaviour: behaviour, recorder: recorder,
		metrics: newMetrics()}}
}

// Ensure reconciles a Service that needs a load balancer with these targets, and returns its addresses. While the cloud
// is busy, it returns a cloud.Reason with the time of the next attempt.
func (r *Single) Ensure(ctx context.Context, service *corev1.Service,
	targets cloud.Targets) (*corev1.LoadBalancerStatus, error) {
	s := r.states.get(string(service.UID))
	s.Lock()
	defer s.Unlock()
	return r.ensure(ctx, s, request{service: service, targets: targets,
		addFinalizer: func(context.Context) error { return nil }})
}

// Delete deletes all objects of a Service from the cloud. It returns an error until there are none any more.
func (r *Single) Delete(ctx context.Context, service *corev1.Service) error {
	s := r.states.get(string(service.UID))
	s.Lock()
	defer s.Unlock()
	if err := r.ensureDeleted(ctx, s, service); err != nil {
		return err
	}
	r.states.remove(string(service.UID))
	return nil
}
