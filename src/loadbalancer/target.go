package loadbalancer

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// TaintToBeDeleted marks a node that the cluster autoscaler is about to remove
// (k8s.io/autoscaler, cluster-autoscaler/utils/taints).
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// Identify returns the cloud's identity of the machine behind a node, and false when the node does not (yet) say which
// machine it is or says it is somebody else's.
type Identify func(node *corev1.Node) (identity string, ours bool)

// Targets is the set of machines that should receive traffic.
type Targets struct {
	Identities []string // of machines, sorted, without duplicates
	// Names are the nodes on the machines, in the order of Identities.
	Names []string
	// Incomplete says that it is not the whole set: an eligible node has no usable identity yet, or no node was asked for at all. An
	// empty set that is incomplete means "not known", never "none".
	Incomplete bool
	// Unidentified are the names of the eligible nodes that do not say which machine they are, sorted.
	Unidentified []string
	// Endless says that the Service wants only nodes with an endpoint that is ready, and there is no such endpoint.
	Endless bool
}

// ChooseTargets returns the machines of all nodes that may receive traffic: those not excluded by the standard label, not
// marked for removal by the autoscaler, and not being deleted.
//
// Conditions do not matter: a health check notices a node that does not answer, while removing every node that is NotReady
// would empty all load balancers when it is the control plane that has the trouble.
func ChooseTargets(nodes []*corev1.Node, identify Identify) Targets {
	var targets Targets
	for _, node := range nodes {
		if !Eligible(node) {
			continue
		}
		identity, ours := identify(node)
		if !ours {
			targets.Incomplete = true
			targets.Unidentified = append(targets.Unidentified, node.Name)
			continue
		}
		targets.Identities = append(targets.Identities, identity)
		targets.Names = append(targets.Names, node.Name)
	}
	slices.Sort(targets.Unidentified)
	targets.order()
	return targets
}

// order sorts by identity. Of two nodes that say they are the same machine, the first by name stands for both.
func (t *Targets) order() {
	if slices.IsSorted(t.Identities) && len(slices.Compact(slices.Clone(t.Identities))) == len(t.Identities) {
		return
	}
	type target struct{ identity, name string }
	all := make([]target, len(t.Identities))
	for i := range all {
		all[i] = target{t.Identities[i], t.Names[i]}
	}
	slices.SortFunc(all, func(a, b target) int { return cmp.Or(cmp.Compare(a.identity, b.identity), cmp.Compare(a.name, b.name)) })
	all = slices.CompactFunc(all, func(a, b target) bool { return a.identity == b.identity })
	t.Identities, t.Names = t.Identities[:0], t.Names[:0]
	for _, one := range all {
		t.Identities, t.Names = append(t.Identities, one.identity), append(t.Names, one.name)
	}
}

// On returns the targets of a Service whose externalTrafficPolicy is Local: those on the nodes with an endpoint that is ready. Where
// there is no such endpoint, no node is better than another, and the set is not known.
func (t Targets) On(ready map[string]bool) Targets {
	if len(ready) == 0 {
		return Targets{Incomplete: len(t.Identities) > 0 || t.Incomplete, Endless: true}
	}
	local := Targets{Incomplete: t.Incomplete}
	for i, name := range t.Names {
		if ready[name] {
			local.Identities, local.Names = append(local.Identities, t.Identities[i]), append(local.Names, name)
		}
	}
	for _, name := range t.Unidentified {
		if ready[name] {
			local.Unidentified = append(local.Unidentified, name)
		}
	}
	// All endpoints may be on nodes that are leaving.
	local.Incomplete = len(local.Unidentified) > 0 || (len(local.Identities) == 0 && len(t.Identities) > 0)
	return local
}

// Only returns the targets without those machines that are not in identities, which is sorted.
func (t Targets) Only(identities []string) Targets {
	if len(identities) == len(t.Identities) {
		return t
	}
	only := t
	only.Identities, only.Names, only.Incomplete = nil, nil, true
	for i, identity := range t.Identities {
		if _, kept := slices.BinarySearch(identities, identity); kept {
			only.Identities, only.Names = append(only.Identities, identity), append(only.Names, t.Names[i])
		}
	}
	return only
}

// Over returns the set to aim at, given the one observed in the cloud: an empty set that is incomplete replaces nothing.
func (t Targets) Over(observed []string) []string {
	if len(t.Identities) == 0 && t.Incomplete {
		return observed
	}
	return t.Identities
}

// Eligible says whether a node may receive traffic, apart from which machine it is.
func Eligible(node *corev1.Node) bool {
	if excluded(node) || node.DeletionTimestamp != nil {
		return false
	}
	return !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == TaintToBeDeleted })
}

// excluded reads the standard label as k8s.io/cloud-provider does: any value but a false one excludes.
func excluded(node *corev1.Node) bool {
	text, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]
	value, err := strconv.ParseBool(text)
	return labelled && (err != nil || value)
}
