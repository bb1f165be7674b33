package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// reconcile reconciles the Service with the key, and deletes the load balancer if the Service needs none.
func (c *Controller) reconcile(ctx context.Context, key string) error {
	service, err := c.current(key)
	if err != nil {
		return err
	}
	s := c.states.get(key)
	s.Lock()
	defer s.Unlock()
	service = s.latest(service)
	// The Service was deleted after its finalizer had been removed, perhaps to create another one with the name.
	if previous := s.service; previous != nil && (service == nil || service.UID != previous.UID) {
		if err := c.ensureDeleted(ctx, s, previous); err != nil {
			return c.failed(ctx, s, previous, err)
		}
		s.reset()
	}
	phase := phaseUnmanaged
	if service != nil {
		phase = phaseOf(c.behaviour, service, s.service != nil)
	}
	if phase == phaseManaged {
		return c.syncManaged(ctx, s, service)
	}
	c.nodeSet.removeSelector(key)
	if phase != phaseUnmanaged {
		err := c.remove(ctx, s, service, phase)
		switch {
		case err != nil && s.service == nil && !hasConditions(service):
			return err // no event: the Service may have nothing to do with this controller
		case err != nil:
			return c.failed(ctx, s, service, err)
		}
	}
	c.states.remove(key)
	return nil
}

// current returns the Service with the key from the cache; nil if there is none.
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

// syncManaged reconciles a Service that needs a load balancer.
func (c *Controller) syncManaged(ctx context.Context, s *serviceState, service *corev1.Service) error {
	if s.elsewhere && cloud.SameDesired(s.service, service) {
		return nil
	}
	s.elsewhere = false
	addFinalizer := func(ctx context.Context) error { return c.addFinalizer(ctx, s, service) }
	req := request{service: service, addFinalizer: addFinalizer}
	var err error
	if req.targets, err = (selection{c.provider, c.nodeSet, c.endpoints}).targetsOf(service); err != nil {
		return err
	}
	status, err := c.ensure(ctx, s, req)
	switch {
	case errors.Is(err, cloudprovider.ImplementedElsewhere):
		s.elsewhere, s.service = true, service
		return c.removeFinalizer(ctx, s, service)
	case err != nil && ctx.Err() != nil && !errors.Is(err, errDriftReported):
		return err // the process stops, and the next one continues
	case errors.Is(err, errDriftReported), cloud.ReasonOf(err).Lasts(): // a retry changes nothing
		c.recheck(s, service)
		if reason := cloud.ReasonOf(err); reason.Until > 0 && !reason.Lasts() { // the repair waits
			c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, reason.Until)
		}
		return c.writeOutcome(ctx, s, service, status, err)
	case err != nil:
		return errors.Join(c.failed(ctx, s, service, err), c.writeOutcome(ctx, s, service, status, err))
	}
	// The finalizer may have been removed, or the load balancer may have been adopted without one.
	if err = addFinalizer(ctx); err == nil {
		err = c.writeOutcome(ctx, s, service, status, nil)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return c.failed(ctx, s, service, err)
	}
	c.recheck(s, service)
	return nil
}

// recheck queues a Service again if one of its targets is not usable, because the cloud's list may not contain a new
// machine yet, or if targets leave when it is settled.
func (c *Controller) recheck(s *serviceState, service *corev1.Service) {
	switch seen := s.latestSeen(); {
	case !seen.leftOut.IsZero():
		c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, min(max(time.Since(seen.leftOut), minRecheckDelay),
			maxRecheckDelay))
	case seen.excess:
		c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, max(c.settledAfter()-time.Since(s.input.changed),
			minRecheckDelay))
	}
}

// Meanwhile, the time until the next check doubles, within these bounds.
const (
	minRecheckDelay = 5 * time.Second
	maxRecheckDelay = 5 * time.Minute
)

// remove deletes what the cloud has of a Service that needs no load balancer of this controller any more, and then
// releases the Service.
func (c *Controller) remove(ctx context.Context, s *serviceState, service *corev1.Service, phase phase) error {
	if phase == phaseLeaving && !hasOwnFinalizer(s.latest(service)) {
		claimed, err := c.claim(ctx, s, s.latest(service))
		switch {
		case apierrors.IsNotFound(err): // the Service is gone, its objects are not
		case err != nil || claimed == nil:
			return c.unlessChanged(err)
		default:
			service = claimed
		}
	}
	s.service = service
	if err := c.ensureDeleted(ctx, s, service); err != nil {
		return err
	}
	return c.unlessChanged(c.release(ctx, s, service, phase))
}

// claim finds out what the cloud has of a Service that another controller may manage, and records it in the Service
// before it is deleted: afterwards nothing else would show whose the finalizer and the addresses are. It returns the
// Service as written; nil if there is nothing to remove from it.
func (c *Controller) claim(ctx context.Context, s *serviceState, service *corev1.Service) (*corev1.Service, error) {
	found, err := c.planDelete(ctx, service, false)
	switch {
	case err != nil:
		return nil, c.withRetryAfter(err)
	case found.Exists && found.Balancer.State == "" && len(found.Plan) == 0 && found.Wait != nil &&
		found.Wait.Within > 0:
		return nil, cloud.Busy(found.Wait.Message, found.Wait.Within) // it is not certain yet
	case isManaged(service) && len(found.Balancer.Status.Ingress) == 0: // what is recorded is more
		return service, nil
	case found.Exists || hasConditions(service):
		return c.recordClaim(ctx, s, service, withValidAddresses(found).Balancer.Status)
	}
	return nil, nil
}

// unlessChanged returns the error of a write to a Service. If the Service has changed since it was read, it returns
// a cloud.Reason, so that the new version is reconciled. A Service that does not exist any more needs no write.
func (c *Controller) unlessChanged(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return cloud.Busy(err.Error(), min(c.behaviour.PollInterval, minRetryDelay))
	}
	return err
}

// selection chooses the targets of Services.
type selection struct {
	provider  cloud.LoadBalancers
	nodeSet   *nodeSet
	endpoints endpoints
}

// targetsOf returns the machines that should receive the traffic of a Service, from the current nodes and endpoints.
func (c selection) targetsOf(service *corev1.Service) (cloud.Targets, error) {
	key := keyOf(service)
	selector, err := c.provider.NodeSelector(service)
	if err != nil || selector == nil {
		c.nodeSet.removeSelector(key)
	}
	var targets cloud.Targets
	switch {
	case err != nil:
		return cloud.Targets{NotKnown: cloud.NodesNotRead}, nil //nolint:nilerr // Diff reports it
	case selector == nil:
		targets, err = c.nodeSet.targets()
	default:
		targets, err = c.nodeSet.selectedTargets(key, selector)
	}
	if err != nil || !helpers.RequestsOnlyLocalTraffic(service) {
		return targets, err
	}
	if !cache.IsDone(c.endpoints.synced) {
		return cloud.Targets{NotKnown: cloud.EndpointsNotRead}, nil
	}
	nodes, err := endpointNodesOf(c.endpoints.index, key)
	if err != nil {
		return cloud.Targets{}, err
	}
	local := targets.On(nodes.ready, nodes.draining)
	if local.None() && selector != nil {
		all, err := c.nodeSet.targets()
		return local.Outside(all.On(nodes.ready, nodes.draining)), err
	}
	return local, nil
}

// failed reports an error, unless the cloud is busy or the process stops, and returns it.
func (c *Controller) failed(ctx context.Context, s *serviceState, service *corev1.Service, err error) error {
	if !cloud.ReasonOf(err).Waits() && ctx.Err() == nil {
		c.reportFailure(s, service, err)
	}
	return err
}
