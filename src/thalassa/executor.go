package thalassa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// executor carries out plans. It writes what they contain, and reads only load balancers, immediately before an update,
// because the API replaces them as a whole.
type executor struct {
	inventory *inventory.Inventory
	// separately: the cloud refused listeners in the creation of a load balancer, so they are created afterwards.
	separately atomic.Bool
	memory     *memory
}

// execution is one plan being carried out.
type execution struct {
	*executor
	created balancer.Identities
	left    string // what the latest write left in the cloud because it was refused; "" if nothing
}

// apply carries out the plan of a Service. The audit log contains the Service and the reason of each write. An error
// names the quotas that are used up.
func (e *executor) apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	run := &execution{executor: e, created: balancer.Identities{}}
	if len(plan) > 0 {
		e.memory.recordWrite(service, "")
	}
	var left []string // by each write
	made, err := plan.Each(ctx, func(ctx context.Context, operation cloud.Operation) error {
		run.left = ""
		defer func() { left = append(left, run.left) }()
		if operation.Verb == cloud.Create {
			if err := e.inventory.CheckAnswers(ctx); err != nil {
				return err
			}
		}
		cause := fmt.Sprintf("Service %s: %s", klog.KObj(service), operation)
		ctx, span := tracing.Start(ctx, "write", attribute.String("verb", string(operation.Verb)),
			attribute.String("kind", operation.Kind), attribute.String("name", operation.Name))
		err := e.withQuota(ctx, run.write(tracing.WithCause(ctx, cause), operation.Object))
		tracing.End(span, err)
		e.memory.recordWrite(service, deletedBy(operation, err))
		return err
	})
	for at := range made {
		made[at].Leaves = cmp.Or(left[at], made[at].Leaves)
	}
	return made, err
}

// deletedBy returns the identity of the object whose deletion was accepted; "" if the operation is none.
func deletedBy(operation cloud.Operation, err error) string {
	if err != nil {
		return ""
	}
	switch object := operation.Object.(type) {
	case balancer.DeleteLoadBalancer:
		return object.LoadBalancer.ID
	case balancer.DeleteTargetGroup:
		return object.TargetGroup
	case balancer.DeleteSecurityGroup:
		return object.SecurityGroup
	}
	return ""
}

// write carries out one operation.
func (e *execution) write(ctx context.Context, object any) error {
	switch o := object.(type) {
	case balancer.CreateLoadBalancer:
		return e.createLoadBalancer(ctx, o.LoadBalancer)
	case balancer.UpdateLoadBalancer:
		return e.updateLoadBalancer(ctx, o)
	case balancer.DeleteLoadBalancer:
		return e.inventory.DeleteLoadBalancer(ctx, o.LoadBalancer)
	case balancer.CreateListener:
		return e.createListener(ctx, o)
	case balancer.UpdateListener:
		return e.updateListener(ctx, o)
	case balancer.DeleteListener:
		return e.deleteListener(ctx, o)
	case balancer.CreateTargetGroup:
		return e.createTargetGroup(ctx, o.TargetGroup)
	case balancer.UpdateTargetGroup:
		return e.updateTargetGroup(ctx, o)
	case balancer.SetMachines:
		return e.setMachines(ctx, o)
	case balancer.DeleteTargetGroup:
		e.memory.forget(o.TargetGroup)
		return e.inventory.DeleteTargetGroup(ctx, o.TargetGroup)
	case balancer.CreateSecurityGroup:
		return e.createSecurityGroup(ctx, o.SecurityGroup)
	case balancer.UpdateSecurityGroup:
		return e.updateSecurityGroup(ctx, o)
	case balancer.DeleteSecurityGroup:
		return e.inventory.DeleteSecurityGroup(ctx, o.SecurityGroup)
	}
	return fmt.Errorf("a plan of this cloud contains no %T; this is a defect of the controller", object)
}

func (e *execution) createLoadBalancer(ctx context.Context, create resource.NewLoadBalancer) (err error) {
	if create.LoadBalancer, err = e.created.In(create.LoadBalancer); err != nil {
		return err
	}
	if e.separately.Load() {
		create.Listeners = nil
	}
	_, err = e.inventory.CreateLoadBalancer(ctx, create)
	if !errors.Is(err, client.ErrBadRequest) || len(create.Listeners) == 0 {
		return err
	}
	create.Listeners = nil
	if _, retried := e.inventory.CreateLoadBalancer(ctx, create); retried != nil {
		return err // the listeners were not the reason
	}
	e.separately.Store(true)
	return nil
}

func (e *execution) updateLoadBalancer(ctx context.Context, o balancer.UpdateLoadBalancer) error {
	from, err := e.created.In(o.From)
	if err != nil {
		return err
	}
	to, err := e.created.In(o.To)
	if err != nil {
		return err
	}
	if !o.Look {
		return e.inventory.UpdateLoadBalancer(ctx, from, to)
	}
	latest, err := e.latest(ctx, from)
	if err != nil {
		return err
	}
	return e.inventory.UpdateLoadBalancer(ctx, latest, resource.Changed(latest, from, to))
}

// latest returns a load balancer as it is now. An update repeats all values that it does not change, and the cached
// values may be minutes old: without this read it could open a port that was closed in the meantime.
func (e *execution) latest(ctx context.Context, known resource.LoadBalancer) (resource.LoadBalancer, error) {
	now, found, err := e.inventory.LoadBalancerByID(ctx, known.ID)
	switch {
	case err != nil:
		return resource.LoadBalancer{}, fmt.Errorf("looking at what is to be changed: %w", err)
	case !found:
		return known, nil // the write then returns the error
	}
	return now, nil
}

func (e *execution) createListener(ctx context.Context, o balancer.CreateListener) (err error) {
	if o.Listener.TargetGroup, err = e.created.Of(o.Listener.TargetGroup); err != nil {
		return err
	}
	err = e.inventory.CreateListener(ctx, o.LoadBalancer, o.Listener)
	if errors.Is(err, client.ErrBadRequest) {
		// The creation of the load balancer was refused because of this listener, not because of listeners in general.
		e.separately.Store(false)
	}
	return err
}

func (e *execution) updateListener(ctx context.Context, o balancer.UpdateListener) (err error) {
	if o.To.TargetGroup, err = e.created.Of(o.To.TargetGroup); err != nil {
		return err
	}
	balancer, err := e.latest(ctx, o.LoadBalancer)
	if err != nil {
		return err
	}
	latest := o.From
	same := func(l resource.Listener) bool { return l.ID == o.From.ID }
	if at := slices.IndexFunc(balancer.Listeners, same); at >= 0 {
		latest = balancer.Listeners[at]
	}
	return e.inventory.UpdateListener(ctx, balancer.ID, resource.Changed(latest, o.From, o.To))
}

func (e *execution) deleteListener(ctx context.Context, o balancer.DeleteListener) error {
	if o.Label != nil {
		if err := e.updateTargetGroup(ctx, *o.Label); err != nil {
			return err
		}
	}
	return e.inventory.DeleteListener(ctx, o.LoadBalancer, o.Listener)
}

func (e *execution) createTargetGroup(ctx context.Context, group resource.TargetGroup) error {
	created, err := e.inventory.CreateTargetGroup(ctx, group)
	e.created[group.ID] = created.ID
	return err
}

func (e *execution) updateTargetGroup(ctx context.Context, o balancer.UpdateTargetGroup) error {
	err := e.inventory.UpdateTargetGroup(ctx, o.From, o.To)
	switch {
	case err == nil:
		e.memory.recordRemoval(o.From, o.To)
	case o.MayBeRefused:
		return e.unlessRefused(err, o.LeavesIfRefused)
	}
	return err
}

func (e *execution) setMachines(ctx context.Context, o balancer.SetMachines) (err error) {
	if o.TargetGroup.ID, err = e.created.Of(o.TargetGroup.ID); err != nil {
		return err
	}
	return e.inventory.SetMachines(ctx, o.TargetGroup, o.Machines)
}

func (e *execution) createSecurityGroup(ctx context.Context, group resource.SecurityGroup) error {
	created, err := e.inventory.CreateSecurityGroup(ctx, group)
	e.created[group.ID] = created.ID
	return err
}

func (e *execution) updateSecurityGroup(ctx context.Context, o balancer.UpdateSecurityGroup) error {
	if o.DeleteUnused {
		err := e.inventory.DeleteSecurityGroup(ctx, o.From.ID)
		if !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrBadRequest) {
			return err
		}
	}
	err := e.inventory.UpdateSecurityGroup(ctx, o.From, o.To)
	if o.MayBeRefused {
		return e.unlessRefused(err, o.LeavesIfRefused)
	}
	return err
}

// unlessRefused returns nil if the cloud refused a write that a deletion can do without, and records what this leaves:
// a retry would be refused as well.
func (e *execution) unlessRefused(err error, leaves string) error {
	if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrForbidden) {
		e.left = leaves
		return nil
	}
	return err
}

// withQuota adds the quotas that are used up to an error that may have been caused by one.
func (e *executor) withQuota(ctx context.Context, err error) error {
	if err == nil || !client.MayBeQuota(err) {
		return err
	}
	all, unknown := e.inventory.Quotas(ctx)
	if unknown != nil {
		return err // the refusal is the more important error
	}
	var full []string
	for _, quota := range all {
		if quota.Max > 0 && quota.Used >= quota.Max {
			full = append(full, fmt.Sprintf("%s, %d of %d", quota.Name, quota.Used, quota.Max))
		}
	}
	if len(full) == 0 {
		return err
	}
	return fmt.Errorf("%w; these quotas of the organisation are used up: %s: delete objects that are not needed, or "+
		"ask the cloud's support to raise the quotas", err, strings.Join(full, "; "))
}
