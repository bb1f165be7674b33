package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// reconcile makes what the Service of that key has in the cloud what it should be.
func (c *Controller) reconcile(ctx context.Context, key string) error {
	service, err := c.current(key)
	if err != nil {
		return err
	}
	m := c.memories.of(key)
	m.Lock()
	defer m.Unlock()
	service = m.newest(service)
	// A Service that was deleted without our finalizer, perhaps to make another one of that name.
	if former := m.service; former != nil && (service == nil || service.UID != former.UID) {
		if err := c.remove(ctx, m, former); err != nil {
			return c.failed(ctx, m, former, err)
		}
		m.reset()
	}
	foreign := service != nil && m.isForeign(c.behaviour, service)
	if service != nil && !foreign && claimOf(c.behaviour, service) == wanted {
		return c.keep(ctx, m, service)
	}
	c.fleet.unselect(key)
	switch {
	case service == nil:
		c.memories.forget(key)
		return nil
	case foreign:
		return c.leave(ctx, key, m, service)
	}
	return c.end(ctx, key, m, service)
}

// current is the Service of that key in the cache, nil when there is none.
func (c *Controller) current(key string) (*corev1.Service, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, fmt.Errorf("looking for Service %s: %w", key, err)
	}
	service, err := c.services.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return service, err
}

// isForeign says whether the Service is not ours. One that had a foreign class stays foreign when its type changes and
// the class, which goes with it, cannot be seen any more.
func (m *memory) isForeign(b cloud.LoadBalancerBehaviour, service *corev1.Service) bool {
	claim := claimOf(b, service)
	if claim != ending {
		m.foreign = ofOthers(b, service)
	}
	return claim == foreign || m.foreign
}

// leave is for a Service of others. What it had of ours, before it was theirs, is removed; its finalizer and its status
// are theirs. A Service of another type without our finalizer belongs to nobody: its conditions are ours, if it has
// any.
func (c *Controller) leave(ctx context.Context, key string, m *memory, service *corev1.Service) error {
	if m.service != nil || m.abandoned {
		if err := c.remove(ctx, m, service); err != nil {
			return c.failed(ctx, m, service, err)
		}
		m.reset()
		m.foreign = ofOthers(c.behaviour, service)
	}
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer && !m.foreign && hasConditions(service) {
		if err := c.release(ctx, m, service); err != nil {
			return c.failed(ctx, m, service, err)
		}
	}
	if !m.foreign {
		c.memories.forget(key)
	}
	return nil
}

// keep is for a Service that is to have a load balancer.
func (c *Controller) keep(ctx context.Context, m *memory, service *corev1.Service) error {
	if m.elsewhere && cloud.SameDesired(m.service, service) {
		return nil
	}
	m.elsewhere = false
	protect := c.writer.protectOnce(m, service)
	w := wish{service: service, protect: protect}
	var err error
	if w.targets, err = c.targetsOf(service); err != nil {
		return err
	}
	status, err := c.ensure(ctx, m, w)
	switch {
	case errors.Is(err, cloudprovider.ImplementedElsewhere):
		m.elsewhere = true
		return c.writer.unprotect(ctx, m, service)
	case errors.Is(err, errReported):
		c.lookAgain(m, service)
		return c.writer.publish(ctx, m, service, nil, m.conditions(service, c.stateOf(service, err)))
	case err != nil && ctx.Err() != nil:
		return err // the process ends, and the next one goes on
	case lasts(err): // trying again is of no use before the Service changes
		return c.writer.publish(ctx, m, service, status, m.conditions(service, c.stateOf(service, err)))
	case err != nil:
		how := c.stateOf(service, err)
		how.partly = status != nil
		return errors.Join(c.failed(ctx, m, service, err), c.writer.publish(ctx, m, service, status,
			m.conditions(service, how)))
	}
	// One that somebody took the finalizer from, or that was taken over without.
	if err = protect(ctx); err == nil {
		err = c.writer.publish(ctx, m, service, status, m.conditions(service, c.stateOf(service, nil)))
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return c.failed(ctx, m, service, err)
	}
	c.lookAgain(m, service)
	return nil
}

// lookAgain is for a Service one of whose targets is left out: a machine that is new may not be listed yet.
func (c *Controller) lookAgain(m *memory, service *corev1.Service) {
	if !m.leftOut.IsZero() {
		c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, min(max(time.Since(m.leftOut), minLookAgain),
			maxLookAgain))
	}
}

// While a target is not usable, it is looked for after as long a time again, within these bounds.
const (
	minLookAgain = 5 * time.Second
	maxLookAgain = 5 * time.Minute
)

// end is for a Service that is to have no load balancer any more.
func (c *Controller) end(ctx context.Context, key string, m *memory, service *corev1.Service) error {
	m.service = service
	err := c.remove(ctx, m, service)
	if err == nil {
		err = c.release(ctx, m, service)
	}
	if err != nil {
		return c.failed(ctx, m, service, err)
	}
	c.memories.forget(key)
	return nil
}

// release takes what is ours from a Service that has nothing in the cloud any more. When the Service has changed
// meanwhile, the error is an *api.RetryError: the Service is reconciled again as it is then.
func (c *Controller) release(ctx context.Context, m *memory, service *corev1.Service) error {
	switch err := c.writer.release(ctx, m, service); {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return api.NewRetryError(err.Error(), c.behaviour.PollInterval)
	default:
		return err
	}
}

// selectorOf chooses the nodes of a Service; nil chooses all. What is wrong with one that cannot be used the provider
// says when it compares.
func (k *keeper) selectorOf(service *corev1.Service) (selector labels.Selector, usable bool) {
	selector, err := k.provider.NodeSelector(service)
	return selector, err == nil
}

// targetsOf are the machines that a Service's traffic should go to, as nodes and endpoints are now.
func (c *Controller) targetsOf(service *corev1.Service) (cloud.Targets, error) {
	key := keyOf(service)
	selector, usable := c.selectorOf(service)
	if !usable {
		c.fleet.unselect(key)
		return cloud.Targets{Incomplete: true}, nil
	}
	targets, err := c.fleet.selectedBy(key, selector)
	if err != nil || !helpers.RequestsOnlyLocalTraffic(service) {
		return targets, err
	}
	if !c.endpoints.known() {
		return cloud.Targets{Incomplete: true, EndpointsUnknown: true}, nil
	}
	ready, err := readyNodesOf(c.endpoints.index, key)
	if err != nil {
		return cloud.Targets{}, err
	}
	local := targets.On(ready)
	if local.None() && selector != nil {
		all, err := c.fleet.targets()
		return local.Outside(all.On(ready)), err
	}
	return local, nil
}

// failed tells the Service's owner why it is not as it should be, unless it is only waited for, or by the next process.
func (c *Controller) failed(ctx context.Context, m *memory, service *corev1.Service, err error) error {
	if !isWait(err) && ctx.Err() == nil {
		c.tellFailure(m, service, err)
	}
	return err
}

// isWait says that an error is none: the cloud is busy.
func isWait(err error) bool {
	_, asked := retryAfter(err)
	_, judged := errors.AsType[*retry](err)
	return asked && !judged
}

// lasts says that only a change of the Service can end an error.
func lasts(err error) bool {
	_, lasting := errors.AsType[cloud.Lasting](err)
	return lasting
}

// retryAfter is when to look again, if the error says so.
func retryAfter(err error) (time.Duration, bool) {
	again, asked := errors.AsType[*api.RetryError](err)
	if !asked {
		return 0, false
	}
	return again.RetryAfter(), true
}
