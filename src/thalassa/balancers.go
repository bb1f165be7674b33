package thalassa

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// balancers computes the difference between what Services should have and what exists in the cloud. State about a
// Service is in the inventory.
type balancers struct {
	config    cloudconfig.Config
	settings  balancer.Config
	inventory *inventory.Inventory
	uid       *cloud.ClusterUID
	executor  *executor
	schedule  *schedule
	sets      targetSets
}

var _ cloud.LoadBalancers = (*balancers)(nil)

func newBalancers(c cloudconfig.Config, known *inventory.Inventory, uid *cloud.ClusterUID) *balancers {
	return &balancers{
		config: c, settings: balancer.NewConfig(c), inventory: known, uid: uid,
		schedule: &schedule{interval: time.Duration(c.LoadBalancer.CreationPollInterval) * time.Second},
		executor: &executor{inventory: known, memory: newMemory()},
	}
}

// Identify implements cloud.LoadBalancers.
func (b *balancers) Identify(node *corev1.Node) (identity string, ours bool) { return identify(node) }

// NodeSelector implements cloud.LoadBalancers.
func (b *balancers) NodeSelector(service *corev1.Service) (labels.Selector, error) {
	return b.settings.NodeSelector(service)
}

// Diff implements cloud.LoadBalancers.
func (b *balancers) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets, settled bool) (cloud.Comparison, error) {
	o, err := b.observeForDiff(ctx, service)
	if err != nil {
		return cloud.Comparison{}, err
	}
	request, in := b.settings.Request(service, o), balancer.Input{Settled: settled}
	if in.Candidates, err = b.candidates(ctx, targets); err != nil {
		return cloud.Comparison{}, err
	}
	in.References = b.lookUp(ctx, request, o)
	if id := request.Adopts(); id != "" && o.Balancer() == nil {
		in.Adopted.Object, in.Adopted.Found, in.Adopted.Err = b.inventory.LoadBalancerByID(ctx, id)
	}
	in.Memory = b.memoryOf(service, o)
	return b.timed(request.Compare(in)), nil
}

// Apply implements cloud.LoadBalancers.
func (b *balancers) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	made, err := b.executor.apply(ctx, service, plan)
	if slices.ContainsFunc(made, takesTime) {
		b.schedule.begin()
	}
	return made, err
}

// takesTime reports whether the cloud goes on with the work after it has accepted the write, or may have.
func takesTime(tried cloud.Attempt) bool {
	if tried.Err != nil && !client.Uncertain(tried.Err) {
		return false
	}
	switch tried.Operation.Object.(type) {
	case balancer.CreateLoadBalancer, balancer.DeleteLoadBalancer:
		return true
	}
	return false
}

// timed adds the time of the next look to what the caller waits for.
func (b *balancers) timed(found cloud.Comparison) cloud.Comparison {
	if found.Wait != nil {
		_, found.Wait.Next = b.schedule.look()
	}
	return found
}

// Refresh implements cloud.LoadBalancers.
func (b *balancers) Refresh(ctx context.Context) error { return b.inventory.Refresh(ctx) }

// ListManaged implements cloud.LoadBalancers.
func (b *balancers) ListManaged(ctx context.Context) ([]cloud.ManagedObject, error) {
	all, groups, securityGroups, err := b.inventory.All(ctx, b.config.Inventory.MaxBalancerAge())
	if err != nil {
		return nil, err
	}
	return b.prove(balancer.ManagedObjects(all, groups, securityGroups, b.inventory.Unlabelled())), nil
}

// ClassifyError implements cloud.LoadBalancers.
func (b *balancers) ClassifyError(err error) (passing bool, after time.Duration) {
	passing = errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) ||
		errors.Is(err, client.ErrMalformed) ||
		errors.Is(err, client.ErrShutdown) || errors.Is(err, context.Canceled)
	return passing, client.RetryAfter(err)
}
