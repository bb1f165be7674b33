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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
)

// subject is a Node of ours during one pass.
type subject struct {
	node        *corev1.Node // of the cache, so nobody changes it
	observation observation
	history     history
	step        step
}

func (s *subject) ready() bool { return s.observation.ready == corev1.ConditionTrue }

// there says that its machine was looked for and found.
func (s *subject) there() bool {
	return s.observation.looked && s.observation.err == nil && s.observation.state != cloud.MachineGone
}

// absent says that its machine was looked for, and the cloud says that it is gone.
func (s *subject) absent() bool {
	return s.observation.looked && s.observation.err == nil && s.observation.state == cloud.MachineGone
}

// namesNone says that its provider ID can never name a machine. So it says nothing about machines, neither of itself
// nor of others.
func (s *subject) namesNone() bool { return errors.Is(s.observation.err, cloud.ErrInvalidProviderID) }

// errNoTime is why a machine was not looked at.
var errNoTime = errors.New("the process ends")

// seen is what the Node itself shows.
func seen(node *corev1.Node, domain string, at time.Time) observation {
	s := observation{at: at, providerID: node.Spec.ProviderID, ready: corev1.ConditionUnknown,
		tainted: hasShutdownTaint(node), kept: optout.Kept(node, domain)}
	if _, condition := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady); condition != nil {
		s.ready, s.reported = condition.Status, condition.LastHeartbeatTime
	}
	return s
}

// subjects are the Nodes of ours, in the order of their names, as they were before this pass.
func (c *Controller) subjects(nodes []*corev1.Node, began time.Time) []*subject {
	var subjects []*subject
	for _, node := range nodes {
		if node.Spec.ProviderID == "" || node.DeletionTimestamp != nil || !c.provider.Owns(node.Spec.ProviderID) {
			continue
		}
		s := &subject{node: node, observation: seen(node, c.behaviour.Domain, began)}
		if known := c.records[node.UID]; known != nil {
			s.history = known.history
		}
		s.history = meet(s.history, s.observation)
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b *subject) int { return strings.Compare(a.node.Name, b.node.Name) })
	return subjects
}

// look looks at the machines of the Nodes: of those that are not ready, and of all where it costs no call of their own.
func (c *Controller) look(ctx context.Context, subjects []*subject) {
	var wanted []*subject
	for _, s := range subjects {
		if !s.ready() || c.behaviour.Lists {
			s.observation.looked, s.observation.err = true, errNoTime
			wanted = append(wanted, s)
		}
	}
	workqueue.ParallelizeUntil(ctx, c.workers, len(wanted), func(i int) {
		c.observe(ctx, wanted[i], wanted[i].history.since())
	})
}

func (c *Controller) observe(ctx context.Context, s *subject, notBefore time.Time) {
	s.observation.state, s.observation.err = c.provider.State(ctx, s.node, notBefore)
	s.observation.looked, s.observation.answered = true, time.Now()
}

// witnessesOf are those of the Nodes whose machines are certainly there: the ready ones, or, when there is none, those
// that the cloud shows.
func witnessesOf(subjects []*subject) []*subject {
	var witnesses, others []*subject
	for _, s := range subjects {
		switch {
		case s.ready() && (s.there() || !s.observation.looked):
			witnesses = append(witnesses, s)
		case s.there():
			others = append(others, s)
		}
	}
	if len(witnesses) == 0 {
		return others
	}
	return witnesses
}

// maxWitnesses is how many Nodes the provider may choose from: one of them may have lost its machine just now.
const maxWitnesses = 3

// called are the witnesses that the provider is given: for each proof others, so that Nodes without a machine do not
// block removals for ever.
func called(witnesses []*subject, proof int) []*corev1.Node {
	var nodes []*corev1.Node
	for n := range min(maxWitnesses, len(witnesses)) {
		nodes = append(nodes, witnesses[(proof*maxWitnesses+n)%len(witnesses)].node)
	}
	return nodes
}

// entry is what is kept of a Node between two passes.
type entry struct {
	history history
	blocked reason // why it is not removed although its machine is missing; "" for nothing
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
