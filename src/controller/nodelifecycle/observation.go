package nodelifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// subject is a Node of this cloud during one pass.
type subject struct {
	node        *corev1.Node // of the cache; not modified
	observation observation
	history     history
	step        step
}

func (s *subject) ready() bool { return s.observation.ready == corev1.ConditionTrue }

// exists says that its machine was requested and exists.
func (s *subject) exists() bool {
	return s.observation.observed && s.observation.err == nil && s.observation.state != cloud.MachineGone
}

// missing says that its machine was requested and does not exist.
func (s *subject) missing() bool {
	return s.observation.observed && s.observation.err == nil && s.observation.state == cloud.MachineGone
}

// invalidProviderID says that no machine can have its provider ID. Such a Node proves nothing about its own machine or
// others.
func (s *subject) invalidProviderID() bool {
	return errors.Is(s.observation.err, cloud.ErrInvalidProviderID)
}

// errNotObserved is the error of machines that were not requested before ctx ended.
var errNotObserved = errors.New("the process ends")

// observationOf is what the Node itself shows.
func observationOf(node *corev1.Node, domain string, at time.Time) observation {
	s := observation{at: at, providerID: node.Spec.ProviderID, ready: corev1.ConditionUnknown,
		tainted: hasShutdownTaint(node), kept: cloud.Kept(node, domain)}
	if _, condition := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady); condition != nil {
		s.ready, s.reported = condition.Status, condition.LastHeartbeatTime
	}
	return s
}

// subjects are the Nodes of this cloud, sorted by name, with their histories before this pass.
func (c *Controller) subjects(nodes []*corev1.Node, began time.Time) []*subject {
	var subjects []*subject
	for _, node := range nodes {
		if node.Spec.ProviderID == "" || node.DeletionTimestamp != nil || !c.provider.Owns(node.Spec.ProviderID) {
			continue
		}
		s := &subject{node: node, observation: observationOf(node, c.behaviour.Domain, began)}
		if known := c.records[node.UID]; known != nil {
			s.history = known.history
		}
		s.history = updateHistory(s.history, s.observation)
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b *subject) int { return strings.Compare(a.node.Name, b.node.Name) })
	return subjects
}

// observeAll requests the machines of Nodes that are not ready, and of all Nodes if one list contains them.
func (c *Controller) observeAll(ctx context.Context, subjects []*subject) {
	var observed []*subject
	for _, s := range subjects {
		if !s.ready() || c.behaviour.Lists {
			s.observation.observed, s.observation.err = true, errNotObserved
			observed = append(observed, s)
		}
	}
	workqueue.ParallelizeUntil(ctx, c.workers, len(observed), func(i int) {
		c.observe(ctx, observed[i], observed[i].history.notBefore())
	})
}

func (c *Controller) observe(ctx context.Context, s *subject, notBefore time.Time) {
	s.observation.state, s.observation.err = c.provider.State(ctx, s.node, notBefore)
	s.observation.observed, s.observation.answered = true, time.Now()
}

// canariesOf are the Nodes whose machines certainly exist: the ready ones, or, if there is none, those whose machines
// the cloud shows.
func canariesOf(subjects []*subject) []*subject {
	var canaries, others []*subject
	for _, s := range subjects {
		switch {
		case s.ready() && (s.exists() || !s.observation.observed):
			canaries = append(canaries, s)
		case s.exists():
			others = append(others, s)
		}
	}
	if len(canaries) == 0 {
		return others
	}
	return canaries
}

// maxCanaries is the number of Nodes that the provider may choose from: one of them may just have lost its machine.
const maxCanaries = 3

// canaryNodes are the canaries for a credential check. Each check gets other ones, so that Nodes without a machine do
// not block removals for ever.
func canaryNodes(canaries []*subject, check int) []*corev1.Node {
	var nodes []*corev1.Node
	for n := range min(maxCanaries, len(canaries)) {
		nodes = append(nodes, canaries[(check*maxCanaries+n)%len(canaries)].node)
	}
	return nodes
}

// entry is what is kept of a Node between two passes.
type entry struct {
	history history
	blocked reason // why it is not deleted although its machine is missing; "" if nothing blocks it
}

// store stores the histories of the Nodes that exist, and deletes the others.
func (c *Controller) store(subjects []*subject) {
	records := make(map[types.UID]*entry, len(subjects))
	for _, s := range subjects {
		kept := c.records[s.node.UID]
		if kept == nil {
			kept = &entry{}
		}
		kept.history = s.history
		records[s.node.UID] = kept
	}
	c.records = records
	c.warnings.Retain(func(uid types.UID) bool { return records[uid] != nil })
}
