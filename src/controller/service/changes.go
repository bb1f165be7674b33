package service

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// watchCloud queues the Services whose load balancers the cloud reports as changed, until ctx ends.
func (c *Controller) watchCloud(ctx context.Context) {
	if c.changes != nil {
		c.changes(ctx, c.cloudChanged)
	}
}

// cloudChanged queues what a report of the cloud concerns. A load balancer without a Service may be an orphan.
func (c *Controller) cloudChanged(change cloud.Change) {
	switch key := change.Service.String(); {
	case change.All:
		signal(c.driftDue)
	case change.Service.Name == "":
	case c.states.has(key):
		c.queue.Enqueue(key, priorityqueue.Normal, 0)
	default:
		signal(c.orphansDue)
	}
	if change.Node == "" {
		return
	}
	// The machine of a target may be usable now.
	for _, key := range c.states.keysOf(func(s *snapshot) bool { return s.leftOut }) {
		c.queue.Enqueue(key, priorityqueue.Normal, 0)
	}
}

// signal fills a channel that has space for one request.
func signal(due chan struct{}) {
	select {
	case due <- struct{}{}:
	default:
	}
}
