package thalassa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
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
	// writes are the last writes of Services, by their UIDs.
	writes *store.TTLCache[lastWrite]
	// began is when this process compared the first Service.
	began func() time.Time
}

var _ cloud.LoadBalancers = (*balancers)(nil)

func newBalancers(c cloudconfig.Config, known *inventory.Inventory, uid *cloud.ClusterUID) *balancers {
	return &balancers{
		config: c, settings: balancer.NewConfig(c), inventory: known, uid: uid,
		schedule: &schedule{interval: time.Duration(c.LoadBalancer.CreationPollInterval) * time.Second},
		executor: &executor{
			inventory: known,
			removals:  store.NewTTLCache[removal](targetWriteAge),
			targets:   store.NewTTLCache[targetWrite](targetWriteAge),
		},
		writes: store.NewTTLCache[lastWrite](time.Hour),
		began:  sync.OnceValue(time.Now),
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
	targets cloud.Targets) (cloud.Comparison, error) {
	b.began()
	o, err := b.observeForDiff(ctx, service)
	if err != nil {
		return cloud.Comparison{}, err
	}
	usable, err := b.existingTargets(ctx, targets)
	if err != nil {
		return cloud.Comparison{}, err
	}
	request := b.settings.Request(service, o)
	if request.LimitsTargets() {
		request = request.WithWrites(b.writesOf(o.Groups))
	}
	found, creates := request.Compare(targets, usable, b.lookUp(ctx, request, o))
	if !creates {
		return b.timed(found), nil
	}
	b.expectFromPreviousLeader(service)
	if within := b.inventory.Expecting(string(service.UID)); within > 0 {
		return balancer.Await(found, within), nil
	}
	if request.Adopts() != "" {
		b.adopt(ctx, request, &found)
	}
	return found, nil
}

// adopt looks up the load balancer that the Service asks to adopt, and adds the write that adopts it.
func (b *balancers) adopt(ctx context.Context, request balancer.Request, found *cloud.Comparison) {
	balancer, exists, err := b.inventory.LoadBalancerByID(ctx, request.Adopts())
	if err != nil {
		found.Refused = fmt.Errorf("looking for the load balancer to adopt: %w", err)
		return
	}
	if found.Plan, found.Refused = request.Adopt(balancer, exists); found.Refused == nil {
		found.Exists = true
	}
}

// expectFromPreviousLeader is called for a Service without objects in the lists. If it has the finalizer, the previous
// leader may have created objects recently. If it had none when this process saw it first, nobody has.
func (b *balancers) expectFromPreviousLeader(service *corev1.Service) {
	if helpers.HasLBFinalizer(service) {
		b.inventory.ExpectFromPreviousLeader(string(service.UID))
		return
	}
	b.inventory.OwnerKnown(string(service.UID))
}

// Apply implements cloud.LoadBalancers.
func (b *balancers) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	made, err := b.executor.apply(ctx, service, plan)
	if len(made) > 0 {
		last, _ := b.writes.Get(string(service.UID))
		last.at = time.Now()
		b.writes.Put(string(service.UID), last)
	}
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

// writesOf returns the latest writes of the targets of target groups, by the identities of these. A process does not
// know the writes of the one before: the targets that it finds count as written, and while that may be recent, as
// written at its start.
func (b *balancers) writesOf(groups []resource.TargetGroup) map[string]balancer.TargetWrite {
	writes := make(map[string]balancer.TargetWrite, len(groups))
	began, now := b.began(), time.Now()
	for _, group := range groups {
		write, written := b.executor.targets.Get(group.ID)
		if !written && now.Sub(began) < time.Hour { // health checks need 55 minutes at most
			write.at = began
		}
		if write.machines == nil {
			write.machines = notNil(group.Machines)
		}
		b.executor.targets.Put(group.ID, write) // it is remembered as long as the group is compared
		of := balancer.TargetWrite{Machines: write.machines}
		if group.HealthCheck != nil {
			of.Accepted = now.Add(-group.HealthCheck.AcceptsWithin())
			of.Recent = write.at.After(of.Accepted)
		}
		writes[group.ID] = of
	}
	return writes
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
