package service

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// runDriftChecks checks for drift and orphans, periodically and when the cloud reports changes, until ctx ends.
func (c *Controller) runDriftChecks(ctx context.Context) {
	var tick <-chan time.Time
	if c.behaviour.DriftPeriod > 0 {
		ticker := time.NewTicker(c.behaviour.DriftPeriod)
		defer ticker.Stop()
		tick = ticker.C
	}
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			c.checkDrift(ctx)
		case <-c.driftDue:
			c.enqueueStates() // even without repair of drift: a Service may wait for its load balancer
			c.finishCheck(ctx, c.checkOrphans(ctx))
		case <-c.orphansDue:
			c.finishCheck(ctx, c.checkOrphans(ctx))
		case <-again:
			c.finishCheck(ctx, c.checkOrphans(ctx))
		}
		again = nil
		if c.changes != nil && (c.checkFailed || c.orphanSet.unconfirmed()) {
			again = time.After(orphanRecheckDelay)
		}
	}
}

// checkDrift checks once. It requests one set of lists for all Services, and queues them.
func (c *Controller) checkDrift(ctx context.Context) {
	err := c.provider.Refresh(ctx)
	if err == nil {
		if c.behaviour.Drift != cloud.Off {
			c.enqueueStates()
		}
		err = c.checkOrphans(ctx)
	}
	c.finishCheck(ctx, err)
}

// enqueueStates queues all Services that have or had a load balancer.
func (c *Controller) enqueueStates() {
	for _, key := range c.states.keys() {
		c.queue.Enqueue(key, priorityqueue.Relaxed, 0)
	}
}

// finishCheck records the result of a check for drift or orphans.
func (c *Controller) finishCheck(ctx context.Context, err error) {
	logger := klog.FromContext(ctx)
	switch was := c.checkFailed; {
	case ctx.Err() != nil:
	case err == nil:
		c.metrics.lastCheck.SetToCurrentTime()
		c.checkFailed = false
	case was:
		logger.V(1).Info("The cloud cannot be checked for drift and orphans", "reason", err.Error())
	default:
		c.checkFailed = true
		logger.Error(err, "The cloud cannot be checked for drift and orphans; the next check follows automatically")
	}
}

// checkOrphans finds objects of Services that do not exist or have another class.
func (c *Controller) checkOrphans(ctx context.Context) error {
	objects, err := c.provider.ListManaged(ctx)
	if err != nil {
		return err
	}
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return err
	}
	known := make(map[types.UID]*corev1.Service, len(services))
	for _, service := range services {
		known[service.UID] = service
	}
	orphaned, inUse := map[types.UID][]cloud.ManagedObject{}, map[types.UID]bool{}
	for _, object := range objects {
		switch service, exists := known[object.UID]; {
		case !exists || hasOtherClass(c.behaviour, service):
			orphaned[object.UID] = append(orphaned[object.UID], object)
		case object.Unlabelled: // Diff finds it
		default:
			inUse[object.UID] = true
			c.enqueueLeftovers(service)
		}
	}
	confirmed := c.orphanSet.update(orphaned, c.activeUIDs())
	for uid, one := range confirmed {
		_, one.otherClass = known[uid]
		c.handleOrphan(ctx, uid, one, len(confirmed) > len(inUse))
	}
	return nil
}

// enqueueLeftovers queues a Service that needs no load balancer but still has objects in the cloud, although its
// finalizer was removed.
func (c *Controller) enqueueLeftovers(service *corev1.Service) {
	if roleOf(c.behaviour, service) != roleUnmanaged {
		return
	}
	s := c.states.get(keyOf(service))
	s.Lock()
	s.hasLeftovers = true
	s.Unlock()
	c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, 0)
}
