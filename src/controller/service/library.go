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

// Library makes of a cloud.LoadBalancers what k8s.io/cloud-provider wants of a cloud. The controller of this package
// takes the provider out of it again; another one may call the methods, from any number of goroutines.
type Library struct {
	keeper
	memories memories[types.UID]
}

var _ cloudprovider.LoadBalancer = (*Library)(nil)

// NewLibrary returns it; what its methods have to tell the owners of Services goes to the recorder.
func NewLibrary(provider cloud.LoadBalancers, behaviour cloud.LoadBalancerBehaviour,
	recorder record.EventRecorder) *Library {
	return &Library{keeper: keeper{provider: provider, behaviour: behaviour, recorder: recorder, metrics: newMetrics()}}
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *Library) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// GetLoadBalancer says whether anything of the Service is in the cloud: its caller removes the finalizer when nothing
// is, so what is left over of a load balancer counts, too.
func (l *Library) GetLoadBalancer(ctx context.Context, _ string,
	service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	m := l.memories.of(service.UID)
	m.Lock()
	defer m.Unlock()
	found, err := l.provider.PlanDelete(ctx, service, false)
	if err != nil {
		return nil, false, l.judged(err)
	}
	if !found.Exists {
		if service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			l.memories.forget(service.UID) // nobody will ask for a deletion
		}
		return nil, false, nil
	}
	return found.Status.DeepCopy(), true, nil
}

// EnsureLoadBalancer makes what the Service has in the cloud what it should be and returns its addresses. While the
// cloud is still busy it returns an *api.RetryError with the time of the next look.
func (l *Library) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	m := l.memories.of(service.UID)
	m.Lock()
	defer m.Unlock()
	return l.ensure(ctx, m, wish{service: service.DeepCopy(), targets: l.targetsOf(service, nodes)})
}

// targetsOf are the machines of those of the nodes that the Service chooses.
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

// UpdateLoadBalancer gives the Service's load balancer the machines of the nodes. A Service that has nothing in the
// cloud is left to EnsureLoadBalancer, before which it gets the finalizer that prevents a leak.
func (l *Library) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) error {
	if service.DeletionTimestamp != nil {
		return nil
	}
	m := l.memories.of(service.UID)
	m.Lock()
	defer m.Unlock()
	targets := l.targetsOf(service, nodes)
	found, err := l.provider.Diff(ctx, service, targets)
	if err != nil || !found.Exists {
		return err
	}
	latest := service.DeepCopy()
	if m.service != nil { // callers may have read theirs before a sweep over all Services began
		latest = m.service
	}
	_, err = l.ensure(ctx, m, wish{service: latest, targets: targets})
	return err
}

// EnsureLoadBalancerDeleted removes everything of the Service from the cloud, in as many calls as the cloud needs: it
// returns an error until nothing is left, and nil only then.
func (l *Library) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	m := l.memories.of(service.UID)
	m.Lock()
	defer m.Unlock()
	if err := l.remove(ctx, m, service); err != nil {
		return err
	}
	l.memories.forget(service.UID)
	return nil
}
