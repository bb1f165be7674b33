package nodeipam

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
)

// errBehind says that the cache does not show yet what a Node has. It will, and then the Node is looked at again.
var errBehind = errors.New("the Node has its networks already")

// problem is an error that the owner of a Node can do something about.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

// ledger is who has which networks. It is safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	pools []*pool // one for each network of the cluster, in their order
	masks Masks
	// shortest are the shortest prefixes that Nodes may ask for.
	shortest Masks
	domain   string
	records  map[string]holding // by the Node's name
	waiting  map[string]bool    // Nodes for which there was no room
	ready    bool               // what all Nodes had at the start is known
	rival    rival
	metrics  metrics
}

// holding is what a Node has, or is about to be given.
type holding struct {
	uid      types.UID
	created  time.Time // the Node
	networks []netip.Prefix
	// given says that the Node is known to have them: its spec says so.
	given bool
	// amiss is the reason of the event that tells what was wrong with them when that was last looked at; "" for
	// nothing.
	amiss string
}

// metrics are named like those of kube-controller-manager.
type metrics struct {
	allocations prometheus.Counter
	releases    prometheus.Counter
	usage       *prometheus.GaugeVec
	rival       prometheus.Gauge
}

func newLedger(cidrs []netip.Prefix, masks Masks, domain string) *ledger {
	const subsystem = "node_ipam_controller"
	l := &ledger{masks: masks, shortest: masks.Limit(Masks{}, cidrs), domain: domain, records: map[string]holding{},
		waiting: map[string]bool{}, metrics: metrics{
			allocations: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem,
				Name: "cidrset_cidrs_allocations_total",
				Help: "Number of Nodes that networks for their pods were allocated to."}),
			releases: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem,
				Name: "cidrset_cidrs_releases_total",
				Help: "Number of networks that were released because their Node was deleted."}),
			usage: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: "cidrset_usage_cidrs",
				Help: "Ratio of a network of the cluster that is allocated to Nodes, from 0 to 1."},
				[]string{"clusterCIDR"}),
			rival: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "rival",
				Help: "1 if this program allocates no networks because another program allocated networks to several " +
					"Nodes, otherwise 0."}),
		}}
	for _, network := range cidrs {
		l.pools = append(l.pools, newPool(network))
	}
	l.measure()
	return l
}

func (l *ledger) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.metrics.allocations, l.metrics.releases, l.metrics.usage, l.metrics.rival}
}

// Described are metrics like those of a controller, with nothing to tell, for whoever describes them.
func Described() []prometheus.Collector {
	l := newLedger([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, Masks{IPv4: DefaultIPv4}, "")
	return l.collectors()
}

// excludes says that somebody else sees to the network of a Node.
func (l *ledger) excludes(one *corev1.Node) bool { return optout.FromRoutes(one, l.domain) }

// given counts a Node that has been given its networks.
func (l *ledger) given() { l.metrics.allocations.Inc() }

// settle takes a Node's own word for what it has. What was reserved for it and is not what it got is free again, for
// those that wait. The error is what is wrong with its networks, for as long as it is: of two Nodes that have the same
// it is that of the later one.
func (l *ledger) settle(node *corev1.Node) (freed []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	networks := networksOf(node)
	before, known := l.records[node.Name]
	if known && before.outlives(node) {
		return nil, nil
	}
	now := holding{uid: node.UID, created: node.CreationTimestamp.Time, networks: networks, given: true}
	same := known && before.uid == node.UID && slices.Equal(before.networks, networks)
	switch {
	case same && before.amiss == "":
		l.records[node.Name] = now
		return nil, nil
	case same:
		l.giveUp(networks) // it is not in its own way
	case known:
		freed = l.drop(node.Name)
	}
	// What somebody else has come to have of it since is wrong with that one.
	if why := l.wrong(networks, !same || before.amiss == reasonOverlap); why != nil {
		now.amiss, err = why.reason, why
	}
	l.put(node.Name, now)
	return freed, err
}

// wrong is what the owner of a Node is told of its networks, which are not taken for it yet; nil for nothing. That
// others have some of them is looked at if it may be this Node's fault.
func (l *ledger) wrong(networks []netip.Prefix, later bool) (why *problem) {
	for _, network := range networks {
		if large := l.tooLarge(network); large != nil {
			why = large
		}
		if later && l.overlaps(network) {
			why = &problem{reasonOverlap, fmt.Sprintf("The network %s in spec.podCIDRs overlaps with a network of "+
				"another Node, or of Services, and was not allocated by this controller. Another program or user "+
				"also allocates networks. "+
				"Stop the other program, delete this Node, and let it register again.", network)}
		}
	}
	return why
}

// amiss are the Nodes with whose networks something was wrong.
func (l *ledger) amiss() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, r := range l.records {
		if r.amiss != "" {
			names = append(names, name)
		}
	}
	return names
}

// tooLarge is what the owner of a Node is told whose network is larger than any that it could be given; nil if it is
// not.
func (l *ledger) tooLarge(network netip.Prefix) *problem {
	for _, p := range l.pools {
		if p.network.Overlaps(network) && !l.shortest.Allows(network) {
			return &problem{reasonLarge, fmt.Sprintf("The network %s in spec.podCIDRs is larger than the networks "+
				"that this controller allocates, which have a prefix of %d bits. No other Node gets a part of it "+
				"while this Node exists. "+
				"If this is a mistake, find out which program set it, delete this Node, and let it register again. "+
				"If it is intended, set --shortest-node-cidr-mask-size-ipv4 or -ipv6.", network,
				l.shortest.of(network))}
		}
	}
	return nil
}

// networksOf are those that a Node says it has.
func networksOf(node *corev1.Node) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// outlives says that what is known is of a younger Node of the same name: the cache still shows the one before it.
func (h holding) outlives(node *corev1.Node) bool {
	return h.given && h.uid != node.UID && node.CreationTimestamp.Time.Before(h.created)
}

// stocked says that what all Nodes had at the start has been settled.
func (l *ledger) stocked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
}

func (l *ledger) overlaps(network netip.Prefix) bool {
	return slices.ContainsFunc(l.pools, func(p *pool) bool {
		return p.network.Overlaps(network) && p.overlaps(network)
	})
}

// reserve takes networks for a Node: the same as before, if an earlier write of them may have happened.
func (l *ledger) reserve(node *corev1.Node) (networks []netip.Prefix, freed []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rival.stopped {
		return nil, nil, l.rival.err()
	}
	before, known := l.records[node.Name]
	if known && before.outlives(node) {
		return nil, nil, errBehind
	}
	if known && before.uid == node.UID && !before.given {
		return before.networks, nil, nil
	}
	if known && before.uid == node.UID { // nobody can take from a Node what it has
		return nil, nil, errBehind
	}
	if known {
		freed = l.drop(node.Name)
	}
	for _, p := range l.pools {
		bits, err := l.maskOf(node, p.network)
		if err != nil {
			l.giveUp(networks)
			return nil, freed, err
		}
		network, found := p.take(bits)
		if !found {
			l.giveUp(networks)
			l.waiting[node.Name] = true
			return nil, freed, &problem{reasonExhausted, fmt.Sprintf("No network with a prefix of %d bits is free in "+
				"%s of --cluster-cidr for the pods of this Node. Delete Nodes that are not needed, or allocate "+
				"smaller networks. The Node gets a network as soon as one is free.", bits, p.network)}
		}
		networks = append(networks, network)
	}
	delete(l.waiting, node.Name)
	l.records[node.Name] = holding{uid: node.UID, created: node.CreationTimestamp.Time, networks: networks}
	l.measure()
	return networks, freed, nil
}

// giveUp frees networks that are in no record.
func (l *ledger) giveUp(networks []netip.Prefix) {
	for _, network := range networks {
		l.release(network)
	}
}

func (l *ledger) release(network netip.Prefix) {
	for _, p := range l.pools {
		p.release(network)
	}
}

func (l *ledger) put(name string, r holding) {
	for _, network := range r.networks {
		for _, p := range l.pools {
			p.occupy(network)
		}
	}
	l.records[name] = r
	delete(l.waiting, name)
	l.measure()
}

// drop frees what a Node has, and returns who waits for room.
func (l *ledger) drop(name string) (waiting []string) {
	r, known := l.records[name]
	if !known {
		return nil
	}
	for _, network := range r.networks {
		l.release(network)
		l.metrics.releases.Inc()
	}
	delete(l.records, name)
	l.measure()
	for one := range l.waiting {
		waiting = append(waiting, one)
	}
	return waiting
}

// holders are the Nodes that have something, or are about to, by name.
func (l *ledger) holders() map[string]types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]types.UID, len(l.records))
	for name, r := range l.records {
		found[name] = r.uid
	}
	return found
}

// forget is drop for Nodes of a name that are gone: what another one of that name has stays taken.
func (l *ledger) forget(name string, gone []types.UID) (waiting []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(gone) > 0 {
		delete(l.waiting, name)
	}
	if !slices.Contains(gone, l.records[name].uid) {
		return nil
	}
	return l.drop(name)
}

// giveBack is drop for a Node whose write was refused: it has certainly not happened.
func (l *ledger) giveBack(name string) (waiting []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.records[name].given {
		return nil
	}
	return l.drop(name)
}

// measure tells how much is in use.
func (l *ledger) measure() {
	for _, p := range l.pools {
		l.metrics.usage.WithLabelValues(p.network.String()).Set(min(1, p.used))
	}
}

// maskOf is how long the prefix of a Node's network is: what its annotation says, else its label, else the flag.
func (l *ledger) maskOf(node *corev1.Node, network netip.Prefix) (int, error) {
	key := l.domain + "/node-cidr-mask-size-ipv4"
	if network.Addr().Is6() {
		key = l.domain + "/node-cidr-mask-size-ipv6"
	}
	text, asked := node.Annotations[key]
	if !asked {
		text, asked = node.Labels[key]
	}
	if !asked || l.domain == "" {
		return l.masks.of(network), nil
	}
	bits, err := strconv.Atoi(text)
	if shortest := l.shortest.of(network); err != nil || bits < shortest || bits > network.Addr().BitLen() {
		return 0, &problem{reasonMask, fmt.Sprintf("No network for the pods of this Node: its label or annotation %s "+
			"is %q; want a whole number from %d to %d, the length of a prefix within %s. "+
			"--shortest-node-cidr-mask-size-ipv4 and -ipv6 limit the size of a Node's network.",
			key, text, shortest, network.Addr().BitLen(), network)}
	}
	return bits, nil
}
