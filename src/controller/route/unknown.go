package route

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// reportUnknownMachines sets the pending condition of Nodes with pod networks whose machines the cloud does not show.
// The gateways of their routes are not known, and pods would be scheduled to them too early. The cloud usually shows a
// machine a moment later, so the condition is set only after slowAfter. The cloud is asked again at growing intervals.
func (c *Controller) reportUnknownMachines(ctx context.Context, members []cloud.RouteMember, result *outcome) {
	var late []*corev1.Node
	for _, member := range members {
		node := member.Node
		if member.Known || uninitialised(node) || len(podCIDRs(node)) == 0 {
			c.state.setKnown(node.UID)
			continue
		}
		age := c.state.unknownFor(node.UID)
		if age < slowAfter {
			result.retryAfter(slowAfter - age)
			continue
		}
		late = append(late, node)
		result.retryAfter(min(max(age, minRetryDelay), maxRetryDelay))
	}
	c.setPending(ctx, late, result)
}

// withoutCondition are the current Nodes that wait for routes and have no condition. They may be more than at the
// beginning of the sync: a slow cloud delays the routes of new Nodes, too. Nodes whose condition this sync writes
// itself are omitted, so that it is written once.
func (c *Controller) withoutCondition(reported map[types.UID]bool) []*corev1.Node {
	return slices.DeleteFunc(c.currentNodes(), func(node *corev1.Node) bool {
		return reported[node.UID] || c.excludes(node) || len(podCIDRs(node)) == 0 || !c.hasNoCondition(node) ||
			!c.provider.Owns(node)
	})
}

// currentNodes are the Nodes in the cache now.
func (c *Controller) currentNodes() []*corev1.Node {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		return nil
	}
	return nodes
}

// unknownFor is how long the cloud has not shown a Node's machine.
func (s *state) unknownFor(node types.UID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknownSince[node].IsZero() {
		s.unknownSince[node] = time.Now()
	}
	return time.Since(s.unknownSince[node])
}

// setKnown records that the cloud shows a Node's machine.
func (s *state) setKnown(node types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unknownSince, node)
}
