package conformance

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
)

// Library calls a cloud as the controllers of k8s.io/cloud-provider do, for tests of the error of each call.
type Library struct {
	provider cloud.LoadBalancers
	single   *service.Single

	mu     sync.Mutex
	latest map[types.UID]*corev1.Service // that EnsureLoadBalancer was called with
}

var _ cloudprovider.LoadBalancer = (*Library)(nil)

// NewLibrary returns a Library that records events about Services with the recorder.
func NewLibrary(provider cloud.LoadBalancers, behaviour cloud.LoadBalancerBehaviour,
	recorder record.EventRecorder) *Library {
	return &Library{provider: provider, single: service.NewSingle(provider, behaviour, recorder),
		latest: map[types.UID]*corev1.Service{}}
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *Library) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// GetLoadBalancer reports whether the cloud has objects of the Service. Objects that remain of a load balancer also
// count, because the caller removes the finalizer if there are none.
func (l *Library) GetLoadBalancer(ctx context.Context, _ string,
	service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	found, err := l.provider.PlanDelete(ctx, service, false)
	if err != nil || !found.Exists {
		return nil, false, err
	}
	return found.Balancer.Status.DeepCopy(), true, nil
}

// EnsureLoadBalancer creates or updates the load balancer of a Service, and returns its addresses.
func (l *Library) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	service = service.DeepCopy()
	l.mu.Lock()
	l.latest[service.UID] = service
	l.mu.Unlock()
	return l.single.Ensure(ctx, service, l.targetsOf(service, nodes))
}

// targetsOf returns the machines of the nodes that the Service selects.
func (l *Library) targetsOf(service *corev1.Service, nodes []*corev1.Node) cloud.Targets {
	all := cloud.ChooseTargets(nodes, l.provider.Identify)
	selector, err := l.provider.NodeSelector(service)
	switch {
	case err != nil:
		return cloud.Targets{NotKnown: cloud.NodesNotRead}
	case selector == nil:
		return all
	}
	chosen := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !selector.Matches(labels.Set(node.Labels))
	})
	return cloud.ChooseTargets(chosen, l.provider.Identify).Outside(all)
}

// UpdateLoadBalancer updates the targets of a load balancer, for the latest version of the Service. It does nothing for
// a Service without a load balancer, or one that is being deleted.
func (l *Library) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) error {
	if service.DeletionTimestamp != nil {
		return nil
	}
	targets := l.targetsOf(service, nodes)
	found, err := l.provider.Diff(ctx, service, targets, false)
	if err != nil || !found.Exists {
		return err
	}
	l.mu.Lock()
	latest := l.latest[service.UID]
	l.mu.Unlock()
	if latest == nil {
		latest = service.DeepCopy()
	}
	_, err = l.single.Ensure(ctx, latest, targets)
	return err
}

// EnsureLoadBalancerDeleted deletes all objects of the Service from the cloud. It returns an error until there are none
// any more.
func (l *Library) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	if err := l.single.Delete(ctx, service); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.latest, service.UID)
	return nil
}
