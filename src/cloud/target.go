package cloud

import (
	"cmp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// TaintToBeDeleted marks a node that the cluster autoscaler is about to remove
// (k8s.io/autoscaler, cluster-autoscaler/utils/taints).
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// Identify returns the identity of the machine of a Node in the cloud. It is "" if the Node does not say, or not yet,
// which machine of this cloud it is. Ours is false if the provider ID of the Node is another cloud's.
type Identify func(node *corev1.Node) (identity string, ours bool)

// Targets is the set of machines that should receive traffic. All lists are sorted.
type Targets struct {
	Identities []string // of machines, without duplicates
	// Names are the Nodes on the machines, in the order of Identities.
	Names []string
	// Staying are machines that are not added, and not removed if they are targets already, with their Nodes in
	// StayingNames. The Nodes are joining: they have no network yet, or lost it for a moment. With the policy Local,
	// they may also be draining: their last endpoints are terminating, and serve until they are gone.
	Staying, StayingNames []string
	// Unknown are machines that may or may not exist, with the Nodes in UnknownNames. As with Staying, they stay if
	// they are targets already.
	Unknown, UnknownNames []string
	// Incomplete means that this is not the whole set: an eligible Node has no usable identity yet, or no Node was
	// examined at all. An empty set that is incomplete means "not known", never "none".
	Incomplete bool
	// Unidentified are the names of the eligible Nodes that do not say which machine of this cloud they are.
	Unidentified []string
	// Unmatched means that the Service chooses its Nodes by their labels, and chooses none of the possible targets. The
	// set is incomplete then: an empty set would replace one that serves.
	Unmatched bool
	// NoEndpoints means that only Nodes with a ready endpoint can be targets, and no ready endpoint names a Node.
	NoEndpoints bool
	// Nameless means that the set is not known although an endpoint is ready: it names no Node.
	Nameless bool
	// Excluded are machines of Nodes that are excluded, marked for removal or being deleted, with the Nodes in
	// ExcludedNames. They are targets only if the Service requires Nodes with a ready endpoint and no other Node has
	// one.
	Excluded, ExcludedNames []string
	// LastResort means that the targets are such machines.
	LastResort bool
	// EndpointsElsewhere means that all ready endpoints of such a Service are on Nodes that do not exist in the
	// cluster, so that the set is not known.
	EndpointsElsewhere bool
	// EndpointsUnknown means that only Nodes with a ready endpoint can be targets, and endpoints cannot be read. The
	// set is empty and incomplete then.
	EndpointsUnknown bool

	// Postponed means that a subset is not complete yet: other machines take places when the cloud uses the latest
	// ones.
	Postponed bool

	machines []string                   // what Machines returns; nil if it is not computed yet
	lastOnly *atomic.Pointer[existence] // nil if it is not worth while to keep it
	ranking  *ranking                   // of all machines of eligible Nodes
	accepted time.Time                  // what AcceptedSince was given
	whole    *Targets                   // what IfAllExisted returns; nil if Only left out none
}

// ChooseTargets returns the machines of all Nodes that may receive traffic: those that are not excluded by the standard
// label, not marked for removal by the autoscaler, and not being deleted.
//
// Conditions remove no Node: if the control plane has a failure, all Nodes may be NotReady, and all load balancers
// would lose all targets. Health checks, where there are any, detect Nodes that do not answer. Only a Node that never
// had a network is not added. Subset prefers Nodes that are ready when it adds one.
//
// Nodes of other clouds are ignored, and so are unmanaged ones beside Nodes of this cloud. If there are only unmanaged
// Nodes, they explain why the set is empty: their kubelets may lack a flag.
func ChooseTargets(nodes []*corev1.Node, identify Identify) Targets {
	var targets Targets
	var ready, notReady []string // machines
	var unmanaged []string       // names
	zoneOf, readySince := map[string]string{}, map[string]time.Time{}
	for _, node := range nodes {
		identity, ours := identify(node)
		switch {
		case !ours:
			continue
		case !Eligible(node):
			if identity != "" && !WithoutNetwork(node) {
				targets.Excluded, targets.ExcludedNames = append(targets.Excluded, identity),
					append(targets.ExcludedNames, node.Name)
			}
			continue
		case identity == "" && Unmanaged(node):
			unmanaged = append(unmanaged, node.Name)
			continue
		case identity == "":
			targets.Unidentified = append(targets.Unidentified, node.Name)
			continue
		}
		addZone(zoneOf, identity, node)
		if Ready(node) {
			ready = append(ready, identity)
		} else {
			notReady = append(notReady, identity)
		}
		if WithoutNetwork(node) {
			targets.Staying, targets.StayingNames = append(targets.Staying, identity),
				append(targets.StayingNames, node.Name)
			continue
		}
		addReadySince(readySince, identity, node)
		targets.Identities, targets.Names = append(targets.Identities, identity), append(targets.Names, node.Name)
	}
	if targets.None() {
		targets.Unidentified = unmanaged
	}
	slices.Sort(targets.Unidentified)
	targets.Identities, targets.Names = sortByIdentity(targets.Identities, targets.Names)
	targets.Staying, targets.StayingNames = sortByIdentity(targets.Staying, targets.StayingNames)
	targets.Excluded, targets.ExcludedNames = sortByIdentity(targets.Excluded, targets.ExcludedNames)
	targets.Incomplete = len(targets.Unidentified)+len(targets.Staying) > 0
	targets.machines, targets.lastOnly = targets.Machines(), &atomic.Pointer[existence]{}
	slices.Sort(ready)
	notReady = Without(notReady, ready) // two Nodes may be on one machine
	targets.ranking = newRanking(targets.machines, zoneOf, notReady).withUsual(targets.Identities)
	targets.ranking.readySince = readySince
	return targets
}

// Unmanaged reports whether a Node has neither a provider ID nor the taint for uninitialised Nodes. It waits for no
// cloud: its kubelet runs without --cloud-provider=external, or a user has removed the taint.
func Unmanaged(node *corev1.Node) bool { return node.Spec.ProviderID == "" && !Uninitialised(node) }

// Uninitialised reports whether a Node has the taint for uninitialised Nodes, which its kubelet sets.
func Uninitialised(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == api.TaintExternalCloudProvider
	})
}

// Ready reports whether the node has the condition Ready, which the kubelet sets.
func Ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// WithoutNetwork reports whether the pods on the node cannot be reached, because its routes are missing.
func WithoutNetwork(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue
	})
}

// sortByIdentity sorts by identity. If two nodes have the same machine, it keeps the node whose name is first.
func sortByIdentity(identities, names []string) (sortedIdentities, sortedNames []string) {
	type target struct{ identity, name string }
	all := make([]target, len(identities))
	for i := range all {
		all[i] = target{identities[i], names[i]}
	}
	slices.SortFunc(all, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.identity, b.identity), cmp.Compare(a.name, b.name))
	})
	all = slices.CompactFunc(all, func(a, b target) bool { return a.identity == b.identity })
	for _, one := range all {
		sortedIdentities, sortedNames = append(sortedIdentities, one.identity), append(sortedNames, one.name)
	}
	return sortedIdentities, sortedNames
}

// On returns the targets of a Service whose externalTrafficPolicy is Local: those on nodes with a ready endpoint. If
// all ready endpoints are on excluded nodes, these are the targets, because other nodes do not answer. If there is no
// ready endpoint, or none that names a node, the set is not known. In ready, "" is the name of no node.
//
// Draining are the nodes with an endpoint that serves and is terminating. Such a node stays if it is a target, even if
// it is excluded: it may be the only one that a health check has accepted.
func (t Targets) On(ready, draining map[string]bool) Targets {
	if len(ready) == 0 || (len(ready) == 1 && ready[""]) {
		return Targets{Incomplete: len(t.Identities) > 0 || t.Incomplete, Unmatched: t.Unmatched, NoEndpoints: true,
			Nameless: ready[""]}
	}
	excluded, excludedNames := filterByNode(ready, t.Excluded, t.ExcludedNames)
	if t.None() && len(excluded) == 0 { // the nodes are not known, whatever the endpoints are
		t.Excluded, t.ExcludedNames = nil, nil
		return t
	}
	var local Targets
	local.Identities, local.Names = filterByNode(ready, t.Identities, t.Names)
	local.Staying, local.StayingNames = filterByNode(ready, t.Staying, t.StayingNames)
	_, local.Unidentified = filterByNode(ready, t.Unidentified, t.Unidentified)
	if len(local.Identities) == 0 {
		local.Identities, local.Names, local.LastResort = excluded, excludedNames, len(excluded) > 0
	}
	local.EndpointsElsewhere = local.None() && len(t.Identities) > 0
	local.Nameless = local.EndpointsElsewhere && ready[""]
	local.Incomplete = len(local.Unidentified) > 0 || len(local.Staying) > 0 || local.EndpointsElsewhere
	return local.drainingOn(draining, t)
}

// drainingOn returns the targets, with those machines of all that are on draining nodes and are no targets otherwise. A
// set that is not known stays so: then no target leaves.
func (t Targets) drainingOn(draining map[string]bool, all Targets) Targets {
	if len(t.Identities)+len(t.Staying) == 0 {
		return t
	}
	for _, nodes := range []struct{ identities, names []string }{{all.Identities, all.Names},
		{all.Staying, all.StayingNames}, {all.Excluded, all.ExcludedNames}} {
		for i, name := range nodes.names {
			if _, is := slices.BinarySearch(t.Identities, nodes.identities[i]); draining[name] && !is {
				t.Staying, t.StayingNames = append(t.Staying, nodes.identities[i]), append(t.StayingNames, name)
			}
		}
	}
	t.Staying, t.StayingNames = sortByIdentity(t.Staying, t.StayingNames)
	return t
}

// None reports whether the targets contain no node, including nodes that are joining or not identified.
func (t Targets) None() bool { return len(t.Identities)+len(t.Staying)+len(t.Unidentified) == 0 }

// Outside returns the targets of a Service, which its node selector matched among all. If none match although there are
// some, the set is not known.
func (t Targets) Outside(all Targets) Targets {
	if t.None() && !all.None() {
		t.Incomplete, t.Unmatched = true, true
	}
	return t
}

// filterByNode returns the identities and the names of the nodes that are in ready.
func filterByNode(ready map[string]bool, identities, names []string) (filteredIdentities, filteredNames []string) {
	for i, name := range names {
		if ready[name] {
			filteredIdentities, filteredNames = append(filteredIdentities, identities[i]), append(filteredNames, name)
		}
	}
	return filteredIdentities, filteredNames
}

// Only returns the targets whose machines are in existing. Machines in unknown are in Unknown of the result. Both
// lists are sorted, and must not be changed afterwards.
func (t Targets) Only(existing, unknown []string) Targets {
	if len(existing) == len(t.Machines()) {
		return t
	}
	if t.lastOnly == nil {
		return t.with(t.divide(existing, unknown))
	}
	last := t.lastOnly.Load()
	if last == nil || !slices.Equal(last.existing, existing) || !slices.Equal(last.unknown, unknown) {
		last = &existence{existing, unknown, t.divide(existing, unknown)}
		t.lastOnly.Store(last)
	}
	return t.with(last.divided)
}

// existence is what exists of the machines of targets, and what Only returned: with many nodes, it is computed once for
// all Services.
type existence struct {
	existing, unknown []string
	divided           Targets
}

// with returns the targets with the lists of others.
func (t Targets) with(others Targets) Targets {
	t.Incomplete, t.machines, t.lastOnly, t.ranking, t.whole = true, others.machines, nil, others.ranking, others.whole
	t.Identities, t.Names, t.Staying, t.StayingNames, t.Unknown, t.UnknownNames = others.Identities, others.Names,
		others.Staying, others.StayingNames, others.Unknown, others.UnknownNames
	return t
}

// divide returns the lists of Only.
func (t Targets) divide(existing, unknown []string) Targets {
	found := t.among(existing)
	nodes, names := matching(unknown, t.Identities, t.Names)
	joining, joiningNames := matching(unknown, t.Staying, t.StayingNames)
	found.Unknown, found.UnknownNames = sortByIdentity(append(nodes, joining...), append(names, joiningNames...))
	found.ranking = t.ranking.withUsual(found.Identities)
	t.ranking = t.ranking.withReady(Without(t.Machines(), found.Machines())).withUsual(t.Identities)
	found.whole, found.machines = &t, found.Machines()
	return found
}

// Machines returns all machines, including those of joining nodes, sorted. Each call for what ChooseTargets returned
// returns the same slice, which must not be changed.
func (t Targets) Machines() []string {
	switch {
	case t.machines != nil:
		return t.machines
	case len(t.Staying) == 0:
		return t.Identities
	}
	all := slices.Concat(t.Identities, t.Staying)
	slices.Sort(all)
	return slices.Compact(all)
}

// Over returns the desired set of targets, given the observed one in the cloud, which is sorted. An empty set that is
// incomplete does not replace the observed one. Machines that are staying or unknown are in the set if they are in the
// observed one.
func (t Targets) Over(observed []string) []string {
	if staying := common(slices.Concat(t.Staying, t.Unknown), observed); len(staying) > 0 {
		t.Identities = slices.Compact(sorted(t.Identities, staying)) // two Nodes may be on one machine
	}
	if len(t.Identities) == 0 && t.Incomplete {
		return observed
	}
	return t.Identities
}

// Eligible reports whether a node may receive traffic, whatever its machine is.
func Eligible(node *corev1.Node) bool {
	if excluded(node) || node.DeletionTimestamp != nil {
		return false
	}
	return !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == TaintToBeDeleted
	})
}

// excluded reports whether the standard label excludes the node. As in k8s.io/cloud-provider, any value except a false
// one excludes it.
func excluded(node *corev1.Node) bool {
	text, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]
	value, err := strconv.ParseBool(text)
	return labelled && (err != nil || value)
}
