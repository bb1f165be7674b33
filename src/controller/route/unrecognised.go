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

// tellUnrecognised lets Nodes with networks of pods, whose machines the cloud does not show, say that they wait: nobody
// knows where their routes could lead, and pods would come too early. A machine is most often shown a moment later, so
// they say so after a while only. It is asked for again, ever more rarely.
func (c *Controller) tellUnrecognised(ctx context.Context, members []cloud.RouteMember, result *outcome) {
	var late []*corev1.Node
	for _, member := range members {
		node := member.Node
		if member.Known || joining(node) || len(podCIDRs(node)) == 0 {
			c.memory.recognise(node.UID)
			continue
		}
		age := c.memory.unrecognised(node.UID)
		if age < slow {
			result.later(slow - age)
			continue
		}
		late = append(late, node)
		result.later(min(max(age, minRetryDelay), maxRetryDelay))
	}
	c.sayWaiting(ctx, late, result)
}

// silent are the Nodes that wait for routes if they take part, and say nothing. They are those of this moment, more
// perhaps than the pass that is under way knows: a cloud that is slow is so for them, too. Those that this pass speaks
// for itself are left out, so that nobody contradicts it.
func (c *Controller) silent(spoken map[types.UID]bool) []*corev1.Node {
	return slices.DeleteFunc(c.present(), func(node *corev1.Node) bool {
		return spoken[node.UID] || c.excludes(node) || len(podCIDRs(node)) == 0 || !c.saysNothing(node) ||
			!c.provider.Owns(node)
	})
}

// present are the Nodes of this moment.
func (c *Controller) present() []*corev1.Node {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		return nil
	}
	return nodes
}

// unrecognised is for how long a Node's machine has not been shown.
func (m *memory) unrecognised(node types.UID) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unseen[node].IsZero() {
		m.unseen[node] = time.Now()
	}
	return time.Since(m.unseen[node])
}

// recognise forgets that a Node's machine was not shown.
func (m *memory) recognise(node types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unseen, node)
}
