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

// patrol looks from time to time, until ctx ends, whether what Services have in the cloud is still what they should
// have, and whether the cloud has something of Services that are gone.
func (c *Controller) patrol(ctx context.Context) {
	if c.behaviour.DriftPeriod <= 0 {
		return
	}
	for tick := time.NewTicker(c.behaviour.DriftPeriod); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		c.round(ctx)
	}
}

// round is one look. All Services are compared with one set of lists.
func (c *Controller) round(ctx context.Context) {
	err := c.provider.Refresh(ctx)
	if err == nil {
		if c.behaviour.Drift != cloud.Off {
			for _, key := range c.memories.keys() {
				c.queue.Enqueue(key, priorityqueue.Relaxed, 0)
			}
		}
		err = c.inspect(ctx)
	}
	logger := klog.FromContext(ctx)
	switch was := c.lookFailed; {
	case ctx.Err() != nil:
	case err == nil:
		c.metrics.patrolled.SetToCurrentTime()
		c.lookFailed = false
	case was:
		logger.V(1).Info("The cloud cannot be checked for drift and orphans", "reason", err.Error())
	default:
		c.lookFailed = true
		logger.Error(err, "The cloud cannot be checked for drift and orphans; the next check follows automatically")
	}
}

// inspect looks for what belongs to Services that are not in the cluster any more, or have load balancers of others.
func (c *Controller) inspect(ctx context.Context) error {
	owned, err := c.provider.ListManaged(ctx)
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
	lost, living := map[types.UID][]cloud.ManagedObject{}, map[types.UID]bool{}
	for _, part := range owned {
		switch service, exists := known[part.UID]; {
		case !exists || ofOthers(c.behaviour, service):
			lost[part.UID] = append(lost[part.UID], part)
		case part.Unlabelled: // a comparison recognises it
		default:
			living[part.UID] = true
			c.reclaim(service)
		}
	}
	certain := c.orphanage.admit(lost, c.tended())
	for uid, one := range certain {
		_, one.served = known[uid]
		c.handle(ctx, uid, one, len(certain) > len(living))
	}
	return nil
}

// reclaim has removed what is left of a Service that wants no load balancer any more, whoever took its finalizer.
func (c *Controller) reclaim(service *corev1.Service) {
	if claimOf(c.behaviour, service) != foreign {
		return
	}
	m := c.memories.of(keyOf(service))
	m.Lock()
	m.abandoned = true
	m.Unlock()
	c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, 0)
}
