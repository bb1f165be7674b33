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
	// manyStrangers is how many Nodes somebody else must have given networks of ours until nothing is given any more.
	// One can be a kubelet, which may write its own Node, or somebody who sets one by hand.
	manyStrangers = 3
	// strangeFor is within which time.
	strangeFor = time.Hour
	// quietTime is after how long without another one networks are given again, from a new list.
	quietTime = 10 * time.Minute
	// watchPeriod is how often that is looked at, and what is wrong with the networks of Nodes.
	watchPeriod = time.Minute
)

// rival is what is known of another one that gives Nodes networks of ours. The zero value is that there is none.
type rival struct {
	strangers map[string]time.Time // Nodes that it gave networks lately
	last      time.Time
	stopped   bool
}

// met notes a Node that somebody else has given networks. Once there were enough, only when the last one was counts.
func (r *rival) met(node string, now time.Time) {
	if r.last = now; r.stopped {
		return
	}
	if r.strangers == nil {
		r.strangers = map[string]time.Time{}
	}
	r.strangers[node] = now
	maps.DeleteFunc(r.strangers, func(_ string, at time.Time) bool { return now.Sub(at) >= strangeFor })
	r.stopped = len(r.strangers) >= manyStrangers
}

// quiet says that networks may be given again.
func (r *rival) quiet(now time.Time) bool { return r.stopped && now.Sub(r.last) >= quietTime }

// err says why nothing is given, or what a stranger may mean.
func (r *rival) err() error {
	names := strings.Join(slices.Sorted(maps.Keys(r.strangers)), ", ")
	if !r.stopped {
		return &problem{reasonRival, fmt.Sprintf("Another program recently allocated networks of --cluster-cidr to "+
			"Nodes: %s. If it does so for %d Nodes within %s, this controller pauses, because two programs would "+
			"allocate the same networks. "+
			"Find out which program sets spec.podCIDRs. If it is kube-controller-manager, set "+
			"--allocate-node-cidrs=false for one of the two.", names, manyStrangers, strangeFor)}
	}
	return &problem{reasonRival, fmt.Sprintf("Another program allocated networks of --cluster-cidr to Nodes: %s. Two "+
		"programs would allocate the same networks, so this controller allocates none until the other program has "+
		"stopped for %s. "+
		"If kube-controller-manager allocates networks, set --allocate-node-cidrs=false for this program; otherwise "+
		"set it for kube-controller-manager.", names, quietTime)}
}

// foreign says of a Node that has just got networks whether somebody else gave them, and from those of the cluster.
// After some of them nothing is given any more: two that give networks do not know of each other what they are about to
// give.
func (l *ledger) foreign(node *corev1.Node) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	networks := networksOf(node)
	known := l.records[node.Name]
	ours := slices.ContainsFunc(l.pools, func(p *pool) bool {
		return slices.ContainsFunc(networks, p.network.Overlaps)
	})
	if !l.ready || !ours || known.uid == node.UID && slices.Equal(known.networks, networks) {
		return nil
	}
	l.rival.met(node.Name, time.Now())
	if l.rival.stopped {
		l.metrics.rival.Set(1)
	}
	return l.rival.err()
}

// rested says that nothing is given, and nobody else has given anything for long.
func (l *ledger) rested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rival.quiet(time.Now())
}

// resume lets networks be given again.
func (l *ledger) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rival = rival{}
	l.metrics.rival.Set(0)
}

// watch looks at Nodes again with whose networks something is wrong, for their owners are told when it lasts, and
// begins again whenever it was quiet for long. It returns when ctx ends.
func (c *Controller) watch(ctx context.Context) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, name := range c.ledger.amiss() {
			c.queue.Add(name)
		}
		if c.ledger.rested() && c.takeStock(ctx) {
			c.ledger.resume()
			klog.FromContext(ctx).
				Info("No other program allocates networks of Nodes any more, so this program does so again")
			c.lookAgain()
		}
	}
}

// lookAgain queues the Nodes that lack networks.
func (c *Controller) lookAgain() {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail, and each Node is tried again by itself
		return
	}
	for _, node := range nodes {
		if len(node.Spec.PodCIDRs) == 0 {
			c.released([]string{node.Name})
		}
	}
}
