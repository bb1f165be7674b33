package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Preview is what the controller would do for a Service now.
type Preview struct {
	Service *corev1.Service
	// Deleting means that the Service needs no load balancer any more, so that Comparison is that of its deletion.
	Deleting bool
	// Comparison contains the writes, and why others are not possible now. It is zero after an error.
	Comparison cloud.Comparison
	// AddFinalizer means that the controller would add its finalizer to the Service.
	AddFinalizer bool
	// Err is the reason why the desired or the actual state is not known; nil if both are.
	Err error
}

// Previewer shows what the controller would do, in a program in which it does not run. It writes nothing.
type Previewer struct {
	selection
	behaviour cloud.LoadBalancerBehaviour
	services  corelisters.ServiceLister
	synced    []cache.DoneChecker
}

// NewPreviewer returns a Previewer that reads from the informers of the options, which the caller starts. Client,
// Recorder and Changes are not used. The error is that an informer runs already without what this needs.
func NewPreviewer(o Options) (*Previewer, error) {
	endpoints, err := watchEndpoints(o.EndpointSlices.Informer(), func(_, _ *discoveryv1.EndpointSlice, _ bool) {})
	if err != nil {
		return nil, fmt.Errorf("preparing a preview of Services: %w", err)
	}
	return &Previewer{
		selection: selection{o.Provider, newNodeSet(o.Nodes.Lister(), o.Provider.Identify), endpoints},
		behaviour: o.Behaviour, services: o.Services.Lister(),
		synced: []cache.DoneChecker{o.Services.Informer().HasSyncedChecker(), o.Nodes.Informer().HasSyncedChecker(),
			endpoints.synced},
	}, nil
}

// WaitForSync returns when the caches are complete. The error is that the context has ended before that.
func (p *Previewer) WaitForSync(ctx context.Context) error {
	if !cache.WaitFor(ctx, "", p.synced...) {
		return fmt.Errorf("waiting for the lists of Services, Nodes and EndpointSlices: %w", context.Cause(ctx))
	}
	return nil
}

// Services returns the Services that the controller manages, sorted by namespace and name. The others need no load
// balancer, or one of another class.
func (p *Previewer) Services() ([]*corev1.Service, error) {
	all, err := p.services.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	managed := slices.DeleteFunc(slices.Clone(all), func(one *corev1.Service) bool {
		return phaseOf(p.behaviour, one, false) == phaseUnmanaged
	})
	slices.SortFunc(managed, func(a, b *corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return managed, nil
}

// Preview returns what the controller would do for one of its Services.
func (p *Previewer) Preview(ctx context.Context, service *corev1.Service) Preview {
	preview := Preview{Service: service, Deleting: phaseOf(p.behaviour, service, false) != phaseManaged}
	if preview.Deleting {
		preview.Comparison, preview.Err = p.provider.PlanDelete(ctx, service, false)
		return preview
	}
	targets, err := p.targetsOf(service)
	if err == nil {
		preview.Comparison, err = p.provider.Diff(ctx, service, targets, true)
		preview.Comparison = withValidAddresses(preview.Comparison)
	}
	preview.Err = err
	preview.AddFinalizer = err == nil && !helpers.HasLBFinalizer(service)
	return preview
}
