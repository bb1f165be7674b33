package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// lifecycleComponent is the source of the events, as in k8s.io/cloud-provider.
const lifecycleComponent = "cloud-node-lifecycle-controller"

// LifecycleOptions are what a Lifecycle is made from.
type LifecycleOptions struct {
	Provider  Provider
	Behaviour Behaviour
	Client    kubernetes.Interface
	Nodes     coreinformers.NodeInformer
	// Period is the time between two passes over all Nodes.
	Period time.Duration
	// Workers is how many machines are looked at, and Nodes tainted, at a time.
	Workers int
	// Recorder takes what is told about Nodes; nil makes events of the API server.
	Recorder record.EventRecorder
}

// Lifecycle removes Nodes whose machines are gone, and taints those whose machines are shut down, in one pass after the other:
//
//	Nodes of the cache ─► one list of machines ─► judge each ─► taints
//	                                                   └─► due: credentials ─► a newer list ─► the machine itself ─► the Node itself ─► removal
//
// Nothing is removed on one answer, nor after an error: the next pass begins anew.
type Lifecycle struct {
	provider  Provider
	behaviour Behaviour
	client    kubernetes.Interface
	nodes     corelisters.NodeLister
	synced    cache.InformerSynced
	period    time.Duration
	workers   int
	recorder  record.EventRecorder
	metrics   *lifecycleMetrics

	// The rest is used by the goroutine of Run only.
	records   map[types.UID]*entry
	allowance allowance
	proofs    int     // how many were asked for
	stopped   telling // that more Nodes would go than may
	unlit     telling // that nobody knows how machines are
	voice     int     // how many events this pass may still make
}

// NewLifecycle returns a controller that begins its work with Run. The error is that it can do nothing with these options.
func NewLifecycle(o LifecycleOptions) (*Lifecycle, error) {
	if o.Period <= 0 || o.Workers < 1 {
		return nil, errors.New("looking after the life cycle of Nodes: --node-monitor-period and --concurrent-node-lifecycle-syncs must be more than nothing")
	}
	informer := o.Nodes.Informer()
	return &Lifecycle{
		provider: o.Provider, behaviour: o.Behaviour, client: o.Client, nodes: o.Nodes.Lister(), synced: informer.HasSynced,
		period: o.Period, workers: o.Workers, recorder: o.Recorder, metrics: newLifecycleMetrics(),
		allowance: allowance{share: o.Behaviour.MaxRemovals, window: o.Behaviour.RemovalWindow},
	}, nil
}

// Run makes one pass after the other, a period apart, until ctx ends.
func (l *Lifecycle) Run(ctx context.Context) {
	recorder, quiet := workerpool.Recorder(ctx, l.recorder, l.client, lifecycleComponent)
	defer quiet()
	l.recorder = recorder
	if !cache.WaitForNamedCacheSyncWithContext(ctx, l.synced) {
		return
	}
	l.allowance.began = time.Now()
	wait.UntilWithContext(ctx, l.pass, l.period)
}

// pass looks at all Nodes once.
func (l *Lifecycle) pass(ctx context.Context) {
	began := time.Now()
	nodes, err := l.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		klog.FromContext(ctx).Error(err, "Nodes cannot be listed")
		return
	}
	subjects := l.subjects(nodes, began)
	l.look(ctx, subjects)
	subjects = slices.DeleteFunc(subjects, (*subject).namesNone) // the keeper tells its owner
	if ctx.Err() != nil {
		return
	}
	witnesses := witnessesOf(subjects)
	for _, s := range subjects {
		s.history, s.step = judge(s.history, s.sight, l.behaviour.GracePeriod)
	}
	l.remember(subjects)
	l.voice = maxVoice
	l.calm(subjects)
	l.remove(ctx, subjects, witnesses) // which takes a bounded time, and taints do not
	l.retaint(ctx, subjects)
	l.metrics.passed(time.Since(began), subjects, l.records)
}

// Collectors are the controller's metrics.
func (l *Lifecycle) Collectors() []prometheus.Collector { return l.metrics.all() }

// DescribedLifecycle are metrics like those of a Lifecycle, with nothing to tell, for whoever describes them.
func DescribedLifecycle() []prometheus.Collector { return newLifecycleMetrics().all() }
