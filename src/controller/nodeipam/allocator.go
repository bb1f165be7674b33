package nodeipam

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// errStaleCache says that the cache does not contain the networks of a Node yet. When it does, the Node is reconciled
// again.
var errStaleCache = errors.New("the Node has its networks already")

// problem is an error that the owner of a Node can solve.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

// allocator records which Nodes have which networks. It is safe for concurrent use.
type allocator struct {
	mu    sync.Mutex
	pools []*cidrPool // one for each network of the cluster, in their order
	masks Masks
	// shortest are the shortest prefixes that Nodes may request.
	shortest    Masks
	domain      string
	allocations map[string]allocation // by the Node's name
	exhausted   bool                  // no network was free for a Node
	released    func(node string)     // is called when one of a Node is free again
	// deleted are Nodes that were recently deleted, and when: a list or a worker may still have them.
	deleted   map[types.UID]time.Time
	synced    bool // the networks that all Nodes had at the start are recorded
	competing competing
	metrics   metrics
}

// allocation is the networks of a Node, or those that are about to be written.
type allocation struct {
	uid      types.UID
	created  time.Time // when the Node was created
	networks []netip.Prefix
	// inSpec says that the networks are in the Node's spec.
	inSpec bool
	// warning is the reason of the event about the networks, according to the latest check; "" if there was none.
	warning string
}

// metrics have names like those of kube-controller-manager.
type metrics struct {
	allocations prometheus.Counter
	releases    prometheus.Counter
	usage       *prometheus.GaugeVec
	competing   prometheus.Gauge
}

func newAllocator(cidrs []netip.Prefix, masks Masks, domain string) *allocator {
	const subsystem = "node_ipam_controller"
	a := &allocator{masks: masks, shortest: masks.Limit(Masks{}, cidrs), domain: domain,
		allocations: map[string]allocation{}, released: func(string) {}, deleted: map[types.UID]time.Time{},
		metrics: metrics{
			allocations: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem,
				Name: "cidrset_cidrs_allocations_total",
				Help: "Number of Nodes that networks for their pods were allocated to."}),
			releases: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem,
				Name: "cidrset_cidrs_releases_total",
				Help: "Number of networks that were released because their Node was deleted."}),
			usage: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: "cidrset_usage_cidrs",
				Help: "Ratio of a network of the cluster that is allocated to Nodes, from 0 to 1."},
				[]string{"clusterCIDR"}),
			competing: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "competing_allocator",
				Help: "1 if this program allocates no networks because another program allocated networks to several " +
					"Nodes, otherwise 0."}),
		}}
	for _, network := range cidrs {
		a.pools = append(a.pools, newCIDRPool(network))
	}
	a.updateUsage()
	return a
}

func (a *allocator) collectors() []prometheus.Collector {
	return []prometheus.Collector{a.metrics.allocations, a.metrics.releases, a.metrics.usage, a.metrics.competing}
}

// Described returns the metrics of a Controller without values, to describe them.
func Described() []prometheus.Collector {
	a := newAllocator([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, Masks{IPv4: DefaultIPv4}, "")
	return a.collectors()
}

// excludes says that this controller does not allocate networks to a Node.
func (a *allocator) excludes(node *corev1.Node) bool { return cloud.ExcludedFromRoutes(node, a.domain) }

// countAllocation counts a Node whose networks were written.
func (a *allocator) countAllocation() { a.metrics.allocations.Inc() }

// recordNode records the networks in a Node's spec, and releases other networks that were reserved for it. The error is
// what is wrong with the Node's networks, as long as it is wrong. If two Nodes have the same network, the later one has
// the error.
func (a *allocator) recordNode(node *corev1.Node) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	networks := networksOf(node)
	before, known := a.allocations[node.Name]
	if a.isOld(node) {
		return nil
	}
	current := allocation{uid: node.UID, created: node.CreationTimestamp.Time, networks: networks, inSpec: true}
	same := known && before.uid == node.UID && slices.Equal(before.networks, networks)
	switch {
	case same && before.warning == "":
		a.allocations[node.Name] = current
		return nil
	case same:
		a.releaseAll(networks) // the check below must not find the Node's own networks
	case known:
		a.remove(node.Name)
	}
	// If another Node got an overlapping network later, the error is that Node's.
	if p := a.check(networks, !same || before.warning == reasonOverlap); p != nil {
		current.warning, err = p.reason, p
	}
	a.add(node.Name, current)
	return err
}

// check returns what is wrong with the networks of a Node, which are not recorded yet; nil if nothing is. It checks for
// overlaps only if these can be the error of this Node.
func (a *allocator) check(networks []netip.Prefix, checkOverlap bool) (found *problem) {
	for _, network := range networks {
		if tooLarge := a.tooLarge(network); tooLarge != nil {
			found = tooLarge
		}
		if checkOverlap && a.overlaps(network) {
			found = &problem{reasonOverlap, fmt.Sprintf(textOverlap, network)}
		}
	}
	return found
}

// nodesWithWarning are the Nodes whose networks were wrong at the latest check.
func (a *allocator) nodesWithWarning() (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, record := range a.allocations {
		if record.warning != "" {
			names = append(names, name)
		}
	}
	return names
}

// tooLarge returns a problem if a network is larger than any that this controller allocates; nil if it is not.
func (a *allocator) tooLarge(network netip.Prefix) *problem {
	for _, p := range a.pools {
		if p.network.Overlaps(network) && !a.shortest.Allows(network) {
			return &problem{reasonLarge, fmt.Sprintf(textLarge, network, a.shortest.of(network))}
		}
	}
	return nil
}

// networksOf are the valid networks in a Node's spec.
func networksOf(node *corev1.Node) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// isOld says that the Node was deleted, or that the networks of a younger Node of the same name are recorded: the cache
// still contains the Node before it. It requires mu to be held.
func (a *allocator) isOld(node *corev1.Node) bool {
	_, isDeleted := a.deleted[node.UID]
	known := a.allocations[node.Name]
	return isDeleted || known.inSpec && known.uid != node.UID && node.CreationTimestamp.Time.Before(known.created)
}

// setSynced records that the initial sync is complete.
func (a *allocator) setSynced() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = true
}

func (a *allocator) overlaps(network netip.Prefix) bool {
	return slices.ContainsFunc(a.pools, func(p *cidrPool) bool {
		return p.network.Overlaps(network) && p.overlaps(network)
	})
}

// reserve allocates networks for a Node. They are the same as before if an earlier write may have succeeded.
func (a *allocator) reserve(node *corev1.Node) (networks []netip.Prefix, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.competing.paused {
		return nil, a.competing.err()
	}
	before, known := a.allocations[node.Name]
	switch {
	case a.isOld(node), known && before.uid == node.UID && before.inSpec: // the networks in a spec are immutable
		return nil, errStaleCache
	case known && before.uid == node.UID:
		return before.networks, nil
	case known:
		a.remove(node.Name)
	}
	for _, p := range a.pools {
		bits, err := a.maskOf(node, p.network)
		if err != nil {
			a.releaseAll(networks)
			return nil, err
		}
		network, found := p.allocate(bits)
		if !found {
			a.releaseAll(networks)
			a.exhausted = true
			return nil, &problem{reasonExhausted, fmt.Sprintf(textExhausted, bits, p.network)}
		}
		networks = append(networks, network)
	}
	a.allocations[node.Name] = allocation{uid: node.UID, created: node.CreationTimestamp.Time, networks: networks}
	a.updateUsage()
	return networks, nil
}

// releaseAll releases networks that are not recorded.
func (a *allocator) releaseAll(networks []netip.Prefix) {
	for _, network := range networks {
		a.release(network)
	}
}

func (a *allocator) release(network netip.Prefix) {
	for _, p := range a.pools {
		p.release(network)
	}
}

func (a *allocator) add(name string, record allocation) {
	for _, network := range record.networks {
		for _, p := range a.pools {
			p.occupy(network)
		}
	}
	a.allocations[name] = record
	a.updateUsage()
}

// remove releases the networks of a Node, so that Nodes that wait for one are retried.
func (a *allocator) remove(name string) {
	record, known := a.allocations[name]
	if !known {
		return
	}
	for _, network := range record.networks {
		a.release(network)
		a.metrics.releases.Inc()
	}
	delete(a.allocations, name)
	a.updateUsage()
	if a.exhausted {
		a.exhausted = false
		a.released(name)
	}
}

// nodeUIDs are the Nodes with allocated or reserved networks, by name.
func (a *allocator) nodeUIDs() map[string]types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := make(map[string]types.UID, len(a.allocations))
	for name, record := range a.allocations {
		found[name] = record.uid
	}
	return found
}

// removeNode calls remove if the allocation belongs to that Node, which was deleted, and not to a later one of its
// name.
func (a *allocator) removeNode(name string, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deleted[uid] = time.Now()
	if a.allocations[name].uid == uid {
		a.remove(name)
	}
}

// forgetDeleted removes the records of Nodes that were deleted some time ago. No list is under way.
func (a *allocator) forgetDeleted() {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.deleted, func(_ types.UID, at time.Time) bool { return time.Since(at) >= checkPeriod })
}

// releaseUnwritten calls remove for a Node whose write was refused, so that it certainly does not have the networks.
func (a *allocator) releaseUnwritten(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.allocations[name].inSpec {
		a.remove(name)
	}
}

// updateUsage updates the metric of the networks in use.
func (a *allocator) updateUsage() {
	for _, p := range a.pools {
		a.metrics.usage.WithLabelValues(p.network.String()).Set(min(1, p.used))
	}
}

// maskOf is the prefix length of a Node's network: from its annotation, else from its label, else from the flag.
func (a *allocator) maskOf(node *corev1.Node, network netip.Prefix) (int, error) {
	key := a.domain + "/node-cidr-mask-size-ipv4"
	if network.Addr().Is6() {
		key = a.domain + "/node-cidr-mask-size-ipv6"
	}
	text, found := node.Annotations[key]
	if !found {
		text, found = node.Labels[key]
	}
	if !found || a.domain == "" {
		return a.masks.of(network), nil
	}
	bits, err := strconv.Atoi(text)
	if shortest := a.shortest.of(network); err != nil || bits < shortest || bits > network.Addr().BitLen() {
		return 0, &problem{reasonMask, fmt.Sprintf(textMask, key, text, shortest, network.Addr().BitLen(), network)}
	}
	return bits, nil
}
