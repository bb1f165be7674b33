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
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// The keys of the checks.
const (
	checkDrift   = "drift" // and orphans
	checkOrphans = "orphans"
)

// repairInterval is the shortest time between two repairs of the same difference, unless the period of checks for drift
// is shorter. Without it, a program that reverts each repair would cause a write at each report of the cloud.
const repairInterval = 5 * time.Minute

// check checks for orphans, and for drift if that is the key: it requests one set of lists for all Services, and queues
// them. If the cloud reports changes, a check that found too little is repeated.
func (c *Controller) check(ctx context.Context, key string) {
	var err error
	if key == checkDrift {
		if err = c.provider.Refresh(ctx); err == nil && c.behaviour.Drift != cloud.Off {
			c.enqueueStates()
		}
	}
	if err == nil {
		err = c.findOrphans(ctx)
	}
	c.finishCheck(ctx, err)
	if c.changes != nil && (c.checkFailed || c.orphanSet.undecided()) {
		c.checks.AddAfter(checkOrphans, orphanRecheckDelay)
	}
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
		tracing.Fail(ctx, err)
		logger.V(1).Info("The cloud cannot be checked for drift and orphans", "reason", err.Error())
	default:
		c.checkFailed = true
		tracing.Fail(ctx, err)
		logger.Error(err, "The cloud cannot be checked for drift and orphans; the next check follows automatically")
	}
}

// findOrphans finds objects of Services that do not exist or have another class.
func (c *Controller) findOrphans(ctx context.Context) error {
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
	return c.findForeign(ctx, known)
}

// enqueueLeftovers queues a Service that needs no load balancer but still has objects in the cloud, although its
// finalizer was removed.
func (c *Controller) enqueueLeftovers(service *corev1.Service) {
	phase := phaseOf(c.behaviour, service, false)
	if phase == phaseManaged || phase == phaseDeleting || c.states.has(keyOf(service)) {
		return
	}
	s := c.states.get(keyOf(service))
	s.Lock()
	s.service = service
	s.Unlock()
	c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, 0)
}
