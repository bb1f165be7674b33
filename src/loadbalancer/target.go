package loadbalancer

import (
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
	// Incomplete says that an eligible node has no usable identity yet. An empty set that is incomplete means "not known",
	// never "none".
	Incomplete bool
	// Unidentified are the names of the eligible nodes that do not say which machine they are, sorted.
	Unidentified []string
}

// ChooseTargets returns the machines of all nodes that may receive traffic: those not excluded by the standard label, not
// marked for removal by the autoscaler, and not being deleted.
//
// Conditions do not matter: a health check notices a node that does not answer, while removing every node that is NotReady
// would empty all load balancers when it is the control plane that has the trouble. And nobody would put a node back whose
// network was unavailable for a moment: the service controller of k8s.io/cloud-provider does not look at conditions.
func ChooseTargets(nodes []*corev1.Node, identify Identify) Targets {
	var targets Targets
	for _, node := range nodes {
		if !eligible(node) {
			continue
		}
		identity, ours := identify(node)
		if !ours {
			targets.Incomplete = true
			targets.Unidentified = append(targets.Unidentified, node.Name)
			continue
		}
		targets.Identities = append(targets.Identities, identity)
	}
	slices.Sort(targets.Unidentified)
	slices.Sort(targets.Identities)
	targets.Identities = slices.Compact(targets.Identities)
	return targets
}

// Over returns the set to aim at, given the one observed in the cloud: an empty set that is incomplete replaces nothing.
func (t Targets) Over(observed []string) []string {
	if len(t.Identities) == 0 && t.Incomplete {
		return observed
	}
	return t.Identities
}

func eligible(node *corev1.Node) bool {
	if excluded(node) || node.DeletionTimestamp != nil {
		return false
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == TaintToBeDeleted {
			return false
		}
	}
	return true
}

// excluded reads the standard label as k8s.io/cloud-provider does: any value but a false one excludes.
func excluded(node *corev1.Node) bool {
	text, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]
	value, err := strconv.ParseBool(text)
	return labelled && (err != nil || value)
}
