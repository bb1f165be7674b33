package service

import (
	"context"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// watchCloud queues what the cloud reports as changed, until ctx ends.
func (c *Controller) watchCloud(ctx context.Context) { c.changes.Watch(ctx, c.cloudChanged) }

// watchOutages tries again what failed when an outage of the cloud has ended, until ctx ends.
func (c *Controller) watchOutages(ctx context.Context) { c.recovered.Watch(ctx, c.queue.RetryNow) }

// cloudChanged queues what a report of the cloud concerns. A load balancer without a Service may be an orphan. A
// machine may be a target of any Service.
func (c *Controller) cloudChanged(change cloud.Change) {
	switch key := change.Service.String(); {
	case change.All:
		c.enqueueStates() // even without repair of drift: a Service may wait for its load balancer
		c.checks.Add(checkOrphans)
	case change.Service.Name == "":
	case c.states.has(key):
		c.queue.Enqueue(key, priorityqueue.Normal, 0)
	default:
		c.checks.Add(checkOrphans)
	}
	if change.Node != "" {
		c.queue.Enqueue(allServices, priorityqueue.Normal, machineWindow)
	}
}

// machineWindow is how long reports of changed machines are collected before the Services are compared.
const machineWindow = 200 * time.Millisecond
