// Package nodelifecycle deletes a Node whose machine does not exist, and taints one whose machine is shut down, for any
// cloud.
//
// The controller never concludes from one answer or from an error that a machine does not exist.
package nodelifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// Options are what a Controller is made from.
type Options struct {
	Provider  cloud.Machines
	Behaviour cloud.MachineBehaviour
	Changes   cloud.Changes // of the cloud; may be nil
	Client    kubernetes.Interface
	Nodes     coreinformers.NodeInformer
	// Period is the time between two passes over all Nodes. If the cloud reports that a machine has changed, a pass
	// follows at once.
	Period time.Duration
	// Workers is how many machines are requested, and Nodes tainted, at a time.
	Workers int
	// Recorder records events about Nodes.
	Recorder record.EventRecorder
}

// changeWindow is how long changes of machines are collected before a pass.
const changeWindow = 200 * time.Millisecond

// pass is the key in the queue of passes.
const pass = "pass"

// Controller deletes Nodes whose machines do not exist, and taints those whose machines are shut down, in one pass
// after the other:
//
//	Nodes of the cache ─► one list of machines ─► decision for each ─► taints
//	                         └─► due: credentials ─► a newer list ─► the machine itself ─► the Node itself ─► deletion
//
// Nothing is deleted after one answer or an error: the next pass starts over.
type Controller struct {
	provider  cloud.Machines
	behaviour cloud.MachineBehaviour
	changes   cloud.Changes
	client    kubernetes.Interface
	nodes     corelisters.NodeLister
	synced    cache.DoneChecker
	period    time.Duration
	workers   int
	recorder  record.EventRecorder
	metrics   *metrics

	// The rest is used by the goroutine of Run only.
	records          map[types.UID]*entry
	budget           budget
	credentialChecks int          // number of credential checks
	warnings         event.Filter // by the names of Nodes
	common           event.Filter // warnings that concern several Nodes: blockedBudget, blockedNoAnswer
}

// New returns a controller that begins its work with Run. The error is that it can do nothing with these options.
func New(o Options) (*Controller, error) {
	if o.Period <= 0 || o.Workers < 1 {
		return nil, errors.New("looking after the life cycle of Nodes: --node-monitor-period and " +
			"--concurrent-node-lifecycle-syncs must be more than nothing")
	}
	informer := o.Nodes.Informer()
	return &Controller{
		provider: o.Provider, behaviour: o.Behaviour, changes: o.Changes, client: o.Client,
		nodes: o.Nodes.Lister(), synced: informer.HasSyncedChecker(),
		period: o.Period, workers: o.Workers, recorder: o.Recorder, metrics: newMetrics(),
		budget: budget{share: o.Behaviour.MaxRemovals, window: o.Behaviour.RemovalWindow},
	}, nil
}

// Run makes one pass after the other, a period apart, until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitFor(ctx, "caches", c.synced) {
		return
	}
	c.budget.started = time.Now()
	passes := workqueue.NewTypedDelayingQueue[string]()
	passes.Add(pass)
	workerpool.Work(ctx, passes, 1, func(ctx context.Context, _ string) {
		c.reconcile(ctx)
		passes.AddAfter(pass, c.period) // unless one is due earlier
	}, func(ctx context.Context) {
		c.changes.Watch(ctx, func(change cloud.Change) {
			if change.All || change.Node != "" {
				passes.AddAfter(pass, changeWindow)
			}
		})
	})
}

// reconcile compares all Nodes with their machines once.
func (c *Controller) reconcile(ctx context.Context) {
	began := time.Now()
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		klog.FromContext(ctx).Error(err, "Nodes cannot be listed")
		return
	}
	subjects := c.subjects(nodes, began)
	c.observeAll(ctx, subjects)
	subjects = slices.DeleteFunc(subjects, (*subject).invalidProviderID) // the node controller reports it
	if ctx.Err() != nil {
		return
	}
	canaries := canariesOf(subjects)
	for _, s := range subjects {
		s.history, s.step = decide(s.history, s.observation, c.behaviour.GracePeriod)
	}
	c.store(subjects)
	c.clearBlocked(subjects)
	c.remove(ctx, subjects, canaries) // first, because its duration is limited and that of taints is not
	c.retaint(ctx, subjects)
	c.metrics.reconciled(ctx, time.Since(began), subjects, c.records)
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector { return c.metrics.all() }

// Described returns the metrics of a Controller without values, to describe them.
func Described() []prometheus.Collector { return newMetrics().all() }
