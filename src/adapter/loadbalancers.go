package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// kindBalancer is the kind of everything that such a cloud creates.
const kindBalancer = "load balancer"

// Defaults for reconciling Services.
const (
	pollInterval = 5 * time.Second
	slowAfter    = 5 * time.Minute
)

func balancerBehaviour() cloud.LoadBalancerBehaviour {
	return cloud.LoadBalancerBehaviour{PollInterval: pollInterval, SlowAfter: slowAfter, Drift: cloud.Repair}
}

// loadBalancers are the load balancers of a cloud that has cloudprovider.LoadBalancer. Such a cloud does not return
// differences, so it is called if a Service or its Nodes have changed since the last success. It does not detect drift.
type loadBalancers struct {
	balancers cloudprovider.LoadBalancer
	scheme    scheme
	cluster   string // --cluster-name
	nodes     func() corelisters.NodeLister
	applied   sync.Map // types.UID -> applied
}

// applied is the input and the result of the last successful call for a Service.
type applied struct {
	service *corev1.Service
	nodes   []string // as Identify returns them, sorted
	status  corev1.LoadBalancerStatus
}

// separator is a character that the name of a Node cannot contain.
const separator = " "

// LoadBalancers returns the load balancers of the cloud with this name, for a cluster.
func LoadBalancers(
	name string, provided cloudprovider.LoadBalancer, cluster string, nodes func() corelisters.NodeLister,
) cloud.LoadBalancers {
	return &loadBalancers{balancers: provided, scheme: schemeOf(name), cluster: cluster, nodes: nodes}
}

// Identify implements cloud.LoadBalancers: such a cloud gets whole Nodes and finds their machines itself. It may omit a
// Node without a provider ID, so that a Node gets another identity when it gets its provider ID.
func (l *loadBalancers) Identify(node *corev1.Node) (identity string, ours bool) {
	return node.Name + separator + node.Spec.ProviderID, l.scheme.permits(node)
}

// NodeSelector implements cloud.LoadBalancers: such a cloud has none.
func (l *loadBalancers) NodeSelector(*corev1.Service) (labels.Selector, error) { return nil, nil }

// Diff implements cloud.LoadBalancers.
func (l *loadBalancers) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets, _ bool) (cloud.Comparison, error) {
	last, known := l.last(service.UID)
	wanted := targets.Over(last.nodes)
	name := l.balancers.GetLoadBalancerName(ctx, l.cluster, service)
	found := cloud.Comparison{Exists: known, Balancer: cloud.Actual{Status: last.status},
		Targets: cloud.Choice{Machines: wanted}}
	if known {
		found.Balancer.State = "ready"
	}
	switch {
	case !known || !cloud.SameDesired(last.service, service):
		found.Plan = cloud.Plan{{Verb: cloud.Update, Kind: kindBalancer, Name: name, Object: ensureCall{Nodes: wanted}}}
	case !slices.Equal(last.nodes, wanted):
		why := fmt.Sprintf("%d nodes become %d", len(last.nodes), len(wanted))
		call := updateCall{Nodes: wanted}
		found.Plan = cloud.Plan{{Verb: cloud.Update, Kind: kindBalancer, Name: name, Why: why, Object: call}}
	}
	return found, nil
}

// The calls of k8s.io/cloud-provider that plans consist of.
type (
	// ensureCall is EnsureLoadBalancer, with the nodes as Identify names them.
	ensureCall struct{ Nodes []string }
	// updateCall is UpdateLoadBalancer.
	updateCall struct{ Nodes []string }
	// deleteCall is EnsureLoadBalancerDeleted.
	deleteCall struct{}
)

// Apply implements cloud.LoadBalancers.
func (l *loadBalancers) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return plan.Each(ctx, func(ctx context.Context, operation cloud.Operation) error {
		switch call := operation.Object.(type) {
		case ensureCall:
			return reasonOf(l.ensure(ctx, service, call.Nodes))
		case updateCall:
			return reasonOf(l.update(ctx, service, call.Nodes))
		case deleteCall:
			return reasonOf(l.delete(ctx, service))
		}
		return fmt.Errorf("a plan of this provider contains no %T; this is a defect of the controller",
			operation.Object)
	})
}

func (l *loadBalancers) ensure(ctx context.Context, service *corev1.Service, names []string) error {
	nodes, err := l.named(names)
	if err != nil {
		return err
	}
	status, err := l.balancers.EnsureLoadBalancer(ctx, l.cluster, service.DeepCopy(), nodes)
	if err != nil {
		return err
	}
	if status == nil {
		return errors.New("the provider returned no status; this is a mistake in it")
	}
	l.applied.Store(service.UID, applied{service: service, nodes: names, status: *status})
	return nil
}

func (l *loadBalancers) update(ctx context.Context, service *corev1.Service, names []string) error {
	nodes, err := l.named(names)
	if err != nil {
		return err
	}
	if err := l.balancers.UpdateLoadBalancer(ctx, l.cluster, service.DeepCopy(), nodes); err != nil {
		return err
	}
	last, _ := l.last(service.UID)
	last.nodes = names
	l.applied.Store(service.UID, last)
	return nil
}

func (l *loadBalancers) delete(ctx context.Context, service *corev1.Service) error {
	err := l.balancers.EnsureLoadBalancerDeleted(ctx, l.cluster, service.DeepCopy())
	if err == nil || errors.Is(err, cloudprovider.ImplementedElsewhere) {
		l.applied.Delete(service.UID)
		return nil
	}
	return err
}

// named returns those of the Nodes that still exist.
func (l *loadBalancers) named(names []string) ([]*corev1.Node, error) {
	nodes := make([]*corev1.Node, 0, len(names))
	for _, identity := range names {
		name, _, _ := strings.Cut(identity, separator)
		if node, err := l.nodes().Get(name); err == nil {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 && len(names) > 0 {
		return nil, fmt.Errorf("none of the %d nodes is there any more; the load balancer keeps those it has",
			len(names))
	}
	return nodes, nil
}

// PlanDelete implements cloud.LoadBalancers. After a deletion that succeeded, nothing exists.
func (l *loadBalancers) PlanDelete(ctx context.Context, service *corev1.Service,
	written bool) (cloud.Comparison, error) {
	if written {
		return cloud.Comparison{}, nil
	}
	status, exists, err := l.balancers.GetLoadBalancer(ctx, l.cluster, service)
	if err != nil {
		return cloud.Comparison{}, fmt.Errorf("looking whether Service %s has a load balancer: %w", klog.KObj(service),
			reasonOf(err))
	}
	if !exists {
		l.applied.Delete(service.UID)
		return cloud.Comparison{}, nil
	}
	found := cloud.Comparison{Exists: true, Balancer: cloud.Actual{State: "ready"}}
	if status != nil {
		found.Balancer.Status = *status
	}
	name := l.balancers.GetLoadBalancerName(ctx, l.cluster, service)
	found.Plan = cloud.Plan{{Verb: cloud.Delete, Kind: kindBalancer, Name: name, Object: deleteCall{}}}
	return found, nil
}

// Refresh implements cloud.LoadBalancers: it has no cache.
func (l *loadBalancers) Refresh(context.Context) error { return nil }

// ClassifyError implements cloud.LoadBalancers.
func (l *loadBalancers) ClassifyError(err error) (transient bool, after time.Duration) {
	reason := cloud.ReasonOf(err)
	return reason.Waits(), reason.Until
}

// reasonOf returns an error as the controllers know it: with the time after which the cloud requests a retry.
func reasonOf(err error) error {
	if again, asked := errors.AsType[*api.RetryError](err); asked {
		return cloud.Reason{Err: err, Until: again.RetryAfter(), Reported: true}
	}
	return err
}

// ListManaged implements cloud.LoadBalancers: such a cloud cannot list them.
func (l *loadBalancers) ListManaged(context.Context) ([]cloud.ManagedObject, error) { return nil, nil }

// last returns the last successful call for a Service.
func (l *loadBalancers) last(uid types.UID) (applied, bool) {
	value, _ := l.applied.Load(uid)
	last, known := value.(applied)
	return last, known
}
