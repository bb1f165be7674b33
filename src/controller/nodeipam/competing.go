package nodeipam

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
)

const (
	// maxCompeting is the number of Nodes with networks from another program at which this controller pauses. Fewer can
	// have other reasons: a kubelet may write its own Node, and a user may set a network by hand.
	maxCompeting = 3
	// competingWindow is the time within which they are counted.
	competingWindow = time.Hour
	// resumeAfter is the time without another program after which the controller resumes, with a new list.
	resumeAfter = 10 * time.Minute
	// checkPeriod is the time between two checks of that, and of the networks of Nodes with warnings.
	checkPeriod = time.Minute
)

// competing records what another program allocates from the networks of the cluster. The zero value is that there is
// none.
type competing struct {
	nodes  map[string]time.Time // those to which it recently allocated networks
	last   time.Time
	paused bool
}

// record records a Node to which another program allocated a network. While the controller is paused, only the time
// matters.
func (c *competing) record(node string) {
	if c.last = time.Now(); c.paused {
		return
	}
	if c.nodes == nil {
		c.nodes = map[string]time.Time{}
	}
	c.nodes[node] = c.last
	maps.DeleteFunc(c.nodes, func(_ string, at time.Time) bool { return c.last.Sub(at) >= competingWindow })
	c.paused = len(c.nodes) >= maxCompeting
}

// err says why nothing is allocated, or that this controller will pause.
func (c *competing) err() error {
	names := strings.Join(slices.Sorted(maps.Keys(c.nodes)), ", ")
	if !c.paused {
		return &problem{reasonCompeting, fmt.Sprintf(textCompeting, names, maxCompeting, competingWindow)}
	}
	return &problem{reasonCompeting, fmt.Sprintf(textCompetingStops, names, resumeAfter)}
}

// checkCompeting checks whether another program wrote the networks that a Node just got, and whether they are from
// those of the cluster. After maxCompeting such Nodes the controller pauses, because neither program has a record of
// what the other one is about to allocate.
func (a *allocator) checkCompeting(node *corev1.Node) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	networks := networksOf(node)
	known := a.allocations[node.Name]
	inCluster := slices.ContainsFunc(a.pools, func(p *cidrPool) bool {
		return slices.ContainsFunc(networks, p.network.Overlaps)
	})
	if !a.synced || !inCluster || known.uid == node.UID && slices.Equal(known.networks, networks) {
		return nil
	}
	a.competing.record(node.Name)
	if a.competing.paused {
		a.metrics.competing.Set(1)
	}
	return a.competing.err()
}

// mayResume says that the controller is paused, and the other program has allocated nothing for resumeAfter.
func (a *allocator) mayResume() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.competing.paused && time.Since(a.competing.last) >= resumeAfter
}

// resume ends the pause.
func (a *allocator) resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.competing = competing{}
	a.metrics.competing.Set(0)
}

// check reconciles Nodes with warnings, whose events are repeated as long as the problem lasts, and resumes after a
// pause.
func (c *Controller) check(ctx context.Context) {
	c.allocator.forgetDeleted()
	for _, name := range c.allocator.nodesWithWarning() {
		c.queue.Add(name)
	}
	if c.allocator.mayResume() && c.initialSync(ctx) {
		c.allocator.resume()
		klog.FromContext(ctx).
			Info("No other program allocates networks of Nodes any more, so this program does so again")
		c.enqueueOthers("")
	}
}

// enqueueOthers queues the Nodes without networks, except one: its own networks have just been released, and would be
// reserved and released again without a pause.
func (c *Controller) enqueueOthers(except string) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail, and each Node is retried anyway
		return
	}
	for _, node := range nodes {
		if len(node.Spec.PodCIDRs) == 0 && node.Name != except {
			c.queue.Forget(node.Name)
			c.queue.Add(node.Name)
		}
	}
}
