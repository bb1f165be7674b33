package service

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Library adapts a cloud.LoadBalancers to cloudprovider.LoadBalancer, for other controllers than the one in this
// package. It is safe for concurrent use.
type Library struct {
	reconciler
	states stateStore[types.UID]
}

var _ cloudprovider.LoadBalancer = (*Library)(nil)

// NewLibrary returns an adapter that records events about Services with the recorder.
func NewLibrary(provider cloud.LoadBalancers, behaviour cloud.LoadBalancerBehaviour,
	recorder record.EventRecorder) *Library {
	return &Library{reconciler: reconciler{provider: provider, behaviour: behaviour, recorder: recorder,
		metrics: newMetrics()}}
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *Library) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// GetLoadBalancer reports whether the cloud has objects of the Service. Objects that remain of a load balancer also
// count, because the caller removes the finalizer if there are none.
func (l *Library) GetLoadBalancer(ctx context.Context, _ string,
	service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	s := l.states.get(service.UID)
	s.Lock()
	defer s.Unlock()
	found, err := l.provider.PlanDelete(ctx, service, false)
	if err != nil {
		return nil, false, l.withRetryAfter(err)
	}
	if !found.Exists {
		if service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			l.states.remove(service.UID) // EnsureLoadBalancerDeleted will not be called
		}
		return nil, false, nil
	}
	return found.Status.DeepCopy(), true, nil
}

// EnsureLoadBalancer creates or updates the load balancer of a Service, and returns its addresses. While the cloud is
// busy, it returns an *api.RetryError with the time of the next attempt.
func (l *Library) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	s := l.states.get(service.UID)
	s.Lock()
	defer s.Unlock()
	return l.ensure(ctx, s, request{service: service.DeepCopy(), targets: l.targetsOf(service, nodes)})
}

// targetsOf returns the machines of the nodes that the Service selects.
func (l *Library) targetsOf(service *corev1.Service, nodes []*corev1.Node) cloud.Targets {
	all := cloud.ChooseTargets(nodes, l.provider.Identify)
	selector, usable := l.selectorOf(service)
	switch {
	case !usable:
		return cloud.Targets{Incomplete: true}
	case selector == nil:
		return all
	}
	chosen := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !selector.Matches(labels.Set(node.Labels))
	})
	return cloud.ChooseTargets(chosen, l.provider.Identify).Outside(all)
}

// UpdateLoadBalancer updates the targets of a load balancer. It does nothing for a Service without a load balancer:
// EnsureLoadBalancer creates it, after the finalizer was added.
func (l *Library) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) error {
	if service.DeletionTimestamp != nil {
		return nil
	}
	s := l.states.get(service.UID)
	s.Lock()
	defer s.Unlock()
	targets := l.targetsOf(service, nodes)
	found, err := l.provider.Diff(ctx, service, targets)
	if err != nil || !found.Exists {
		return err
	}
	latest := service.DeepCopy()
	if s.service != nil { // the caller may have an older version
		latest = s.service
	}
	_, err = l.ensure(ctx, s, request{service: latest, targets: targets})
	return err
}

// EnsureLoadBalancerDeleted deletes all objects of the Service from the cloud. It returns an error until there are none
// any more.
func (l *Library) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	s := l.states.get(service.UID)
	s.Lock()
	defer s.Unlock()
	if err := l.ensureDeleted(ctx, s, service); err != nil {
		return err
	}
	l.states.remove(service.UID)
	return nil
}
