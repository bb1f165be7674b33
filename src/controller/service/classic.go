package service

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

// kindBalancer is all that is known of what a classic provider makes.
const kindBalancer = "load balancer"

// classic makes a cloud.LoadBalancers of one that only has the interface of k8s.io/cloud-provider. Such a provider cannot say what
// differs, so it is called when a Service or its nodes are others than at its last success; there is no drift to be found with it.
type classic struct {
	balancers cloudprovider.LoadBalancer
	cluster   string // --cluster-name
	nodes     corelisters.NodeLister

	mu   sync.Mutex
	made map[types.UID]made
}

// made is what a provider was called with when it last succeeded, and what it said.
type made struct {
	service *corev1.Service
	nodes   []string // as Identify names them, sorted
	status  corev1.LoadBalancerStatus
}

// separator is in no name of a node.
const separator = " "

// Classic returns a provider that calls the methods of k8s.io/cloud-provider, with the name of the cluster they want.
func Classic(balancers cloudprovider.LoadBalancer, cluster string, nodes corelisters.NodeLister) cloud.LoadBalancers {
	return &classic{balancers: balancers, cluster: cluster, nodes: nodes, made: map[types.UID]made{}}
}

// Identify implements cloud.LoadBalancers: such a provider takes whole nodes, and looks for their machines itself. It may leave out one
// that does not say which machine it is yet, so a node that does is another one.
func (c *classic) Identify(node *corev1.Node) (identity string, ours bool) {
	return node.Name + separator + node.Spec.ProviderID, true
}

// NodeSelector implements cloud.LoadBalancers: such a provider knows of none.
func (c *classic) NodeSelector(*corev1.Service) (labels.Selector, error) { return nil, nil }

// Diff implements cloud.LoadBalancers.
func (c *classic) Diff(ctx context.Context, service *corev1.Service, targets cloud.Targets) (cloud.Comparison, error) {
	last, known := c.last(service.UID)
	wanted := targets.Over(last.nodes)
	name := c.balancers.GetLoadBalancerName(ctx, c.cluster, service)
	found := cloud.Comparison{Exists: known, Status: last.status, Machines: wanted}
	if known {
		found.State = "ready"
	}
	switch {
	case !known || !sameWish(last.service, service):
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
func (c *classic) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return plan.Each(ctx, func(ctx context.Context, operation cloud.Operation) error {
		switch call := operation.Object.(type) {
		case ensureCall:
			return c.ensure(ctx, service, call.Nodes)
		case updateCall:
			return c.update(ctx, service, call.Nodes)
		case deleteCall:
			return c.delete(ctx, service)
		}
		return fmt.Errorf("a plan of this provider contains no %T; this is a defect of the controller", operation.Object)
	})
}

func (c *classic) ensure(ctx context.Context, service *corev1.Service, names []string) error {
	nodes, err := c.named(names)
	if err != nil {
		return err
	}
	status, err := c.balancers.EnsureLoadBalancer(ctx, c.cluster, service.DeepCopy(), nodes)
	if err != nil {
		return err
	}
	if status == nil {
		return errors.New("the provider returned no status; this is a mistake in it")
	}
	c.remember(service.UID, made{service: service, nodes: names, status: *status})
	return nil
}

func (c *classic) update(ctx context.Context, service *corev1.Service, names []string) error {
	nodes, err := c.named(names)
	if err != nil {
		return err
	}
	if err := c.balancers.UpdateLoadBalancer(ctx, c.cluster, service.DeepCopy(), nodes); err != nil {
		return err
	}
	last, _ := c.last(service.UID)
	last.nodes = names
	c.remember(service.UID, last)
	return nil
}

func (c *classic) delete(ctx context.Context, service *corev1.Service) error {
	err := c.balancers.EnsureLoadBalancerDeleted(ctx, c.cluster, service.DeepCopy())
	if err == nil || errors.Is(err, cloudprovider.ImplementedElsewhere) {
		c.forget(service.UID)
		return nil
	}
	return err
}

// named are those of the nodes that are still there.
func (c *classic) named(names []string) ([]*corev1.Node, error) {
	nodes := make([]*corev1.Node, 0, len(names))
	for _, identity := range names {
		name, _, _ := strings.Cut(identity, separator)
		if node, err := c.nodes.Get(name); err == nil {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 && len(names) > 0 {
		return nil, fmt.Errorf("none of the %d nodes is there any more; the load balancer keeps those it has", len(names))
	}
	return nodes, nil
}

// PlanDelete implements cloud.LoadBalancers. A deletion that succeeded is believed.
func (c *classic) PlanDelete(ctx context.Context, service *corev1.Service, written bool) (cloud.Comparison, error) {
	if written {
		return cloud.Comparison{}, nil
	}
	status, exists, err := c.balancers.GetLoadBalancer(ctx, c.cluster, service)
	if err != nil {
		return cloud.Comparison{}, fmt.Errorf("looking whether Service %s has a load balancer: %w", klog.KObj(service), err)
	}
	if !exists {
		c.forget(service.UID)
		return cloud.Comparison{}, nil
	}
	found := cloud.Comparison{Exists: true, State: "ready"}
	if status != nil {
		found.Status = *status
	}
	name := c.balancers.GetLoadBalancerName(ctx, c.cluster, service)
	found.Plan = cloud.Plan{{Verb: cloud.Delete, Kind: kindBalancer, Name: name, Object: deleteCall{}}}
	return found, nil
}

// Refresh implements cloud.LoadBalancers: nothing is known that could be old.
func (c *classic) Refresh(context.Context) error { return nil }

// ClassifyError implements cloud.LoadBalancers.
func (c *classic) ClassifyError(err error) (passing bool, after time.Duration) {
	if again, asked := errors.AsType[*api.RetryError](err); asked {
		return true, again.RetryAfter()
	}
	return false, 0
}

// ListManaged implements cloud.LoadBalancers: such a provider cannot tell.
func (c *classic) ListManaged(context.Context) ([]cloud.ManagedObject, error) { return nil, nil }

func (c *classic) last(uid types.UID) (made, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.made[uid]
	return last, known
}

func (c *classic) remember(uid types.UID, last made) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[uid] = last
}

func (c *classic) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, uid)
}
