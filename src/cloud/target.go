package cloud

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// TaintToBeDeleted marks a node that the cluster autoscaler is about to remove
// (k8s.io/autoscaler, cluster-autoscaler/utils/taints).
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// Identify returns the identity of the machine of a Node in the cloud. It is "" if the Node does not say, or not yet,
// which machine of this cloud it is. Ours is false if the provider ID of the Node is another cloud's.
type Identify func(node *corev1.Node) (identity string, ours bool)

// Target is a machine, and the Node on it.
type Target struct {
	Machine string // its identity
	Node    string // the name of the Node
	Zone    string // of the Node; "" if it names none
	Ready   bool   // the Node is ready
}

// Targets are the machines that should receive traffic, and the others. A machine is in each list at most once; all
// lists are sorted by machine. They are shared by many Services, and must not be changed.
type Targets struct {
	// Serving are the machines that receive traffic.
	Serving []Target
	// Joining are machines that are not added, and not removed if they are targets already. Their Nodes have no network
	// yet, or lost it for a moment. With the policy Local, they may also be draining: their last endpoints are
	// terminating, and serve until they are gone.
	Joining []Target
	// Unknown are machines that may or may not exist. As with Joining, they stay if they are targets already.
	Unknown []Target
	// Missing are machines that do not exist, although their Nodes do.
	Missing []Target
	// Excluded are machines of Nodes that are excluded, marked for removal or being deleted. They are targets only if
	// the Service requires Nodes with a ready endpoint and no other Node has one.
	Excluded []Target
	// LastResort means that Serving are such machines.
	LastResort bool
	// Unidentified are the names of the eligible Nodes that do not say which machine of this cloud they are.
	Unidentified []string
	// NotKnown is the reason why the whole set is not known; "" if it is.
	NotKnown NotKnown
}

// NotKnown is the reason why the targets of a Service are not known, so that they do not change.
type NotKnown string

// The reasons. NodesNotRead and NoNodeMatches are about every Service. The others are about Services whose targets are
// Nodes with a ready endpoint.
const (
	NodesNotRead       NotKnown = "no Node was examined"
	NoNodeMatches      NotKnown = "the Service chooses its Nodes by their labels, and no Node has these"
	EndpointsNotRead   NotKnown = "endpoints cannot be read"
	NoEndpointReady    NotKnown = "no endpoint is ready"
	EndpointsNameless  NotKnown = "ready endpoints name no Node"
	EndpointsElsewhere NotKnown = "all ready endpoints are on Nodes that are not in the cluster"
)

// Incomplete reports whether Serving is not the whole set. An empty set that is incomplete means "not known", never
// "none".
func (t Targets) Incomplete() bool {
	return t.NotKnown != "" || len(t.Joining)+len(t.Unknown)+len(t.Missing)+len(t.Unidentified) > 0
}

// ChooseTargets returns the machines of all Nodes that may receive traffic: those that are not excluded by the standard
// label, not marked for removal by the autoscaler, and not being deleted.
//
// Conditions remove no Node: if the control plane has a failure, all Nodes may be NotReady, and all load balancers
// would lose all targets. Health checks, where there are any, detect Nodes that do not answer. Only a Node that never
// had a network is not added.
//
// Nodes of other clouds are ignored, and so are unmanaged ones beside Nodes of this cloud. If there are only unmanaged
// Nodes, they explain why the set is empty: their kubelets may lack a flag.
func ChooseTargets(nodes []*corev1.Node, identify Identify) Targets {
	var targets Targets
	var unmanaged []string
	for _, node := range nodes {
		identity, ours := identify(node)
		one := Target{identity, node.Name, node.Labels[corev1.LabelTopologyZone], Ready(node)}
		switch {
		case !ours:
		case !Eligible(node):
			if identity != "" && !WithoutNetwork(node) {
				targets.Excluded = append(targets.Excluded, one)
			}
		case identity == "" && Unmanaged(node):
			unmanaged = append(unmanaged, node.Name)
		case identity == "":
			targets.Unidentified = append(targets.Unidentified, node.Name)
		case WithoutNetwork(node):
			targets.Joining = append(targets.Joining, one)
		default:
			targets.Serving = append(targets.Serving, one)
		}
	}
	if targets.None() {
		targets.Unidentified = unmanaged
	}
	slices.Sort(targets.Unidentified)
	targets.Serving, targets.Excluded = oncePerMachine(targets.Serving), oncePerMachine(targets.Excluded)
	targets.Joining = outside(targets.Serving, oncePerMachine(targets.Joining))
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

// oncePerMachine sorts targets by machine. Two Nodes may be on one machine, such as after one was registered under
// another name: the first name counts, and the machine is ready if one of the Nodes is.
func oncePerMachine(targets []Target) []Target {
	slices.SortFunc(targets, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Node, b.Node))
	})
	once := targets[:0]
	for _, one := range targets {
		last := len(once) - 1
		if last < 0 || once[last].Machine != one.Machine {
			once = append(once, one)
			continue
		}
		once[last].Ready = once[last].Ready || one.Ready
		once[last].Zone = cmp.Or(once[last].Zone, one.Zone)
	}
	return once
}

// outside returns the targets whose machines are not among the others. Both are sorted.
func outside(others, targets []Target) []Target {
	return keep(targets, func(one Target) bool { return !Contains(others, one.Machine) })
}

// keep returns the targets that are wanted.
func keep(targets []Target, wanted func(Target) bool) []Target {
	var kept []Target
	for _, one := range targets {
		if wanted(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// Contains reports whether a machine is among the targets, which are sorted.
func Contains(targets []Target, machine string) bool {
	_, found := slices.BinarySearchFunc(targets, machine, func(one Target, machine string) int {
		return cmp.Compare(one.Machine, machine)
	})
	return found
}

// merged returns the targets of both lists, once for each machine.
func merged(a, b []Target) []Target { return oncePerMachine(slices.Concat(a, b)) }

// MachinesOf returns the identities of the machines in lists of targets, sorted.
func MachinesOf(lists ...[]Target) []string {
	var machines []string
	for _, list := range lists {
		for _, one := range list {
			machines = append(machines, one.Machine)
		}
	}
	slices.Sort(machines)
	return slices.Compact(machines)
}

// NodesOf returns the names of the Nodes in lists of targets, sorted.
func NodesOf(lists ...[]Target) []string {
	var names []string
	for _, one := range slices.Concat(lists...) {
		names = append(names, one.Node)
	}
	slices.Sort(names)
	return names
}

// On returns the targets of a Service whose externalTrafficPolicy is Local: those on nodes with a ready endpoint. If
// all ready endpoints are on excluded nodes, these are the targets, because other nodes do not answer. If there is no
// ready endpoint, or none that names a node, the set is not known. In ready, "" is the name of no node.
//
// Draining are the nodes with an endpoint that serves and is terminating. Such a node stays if it is a target, even if
// it is excluded: it may be the only one that a health check has accepted.
func (t Targets) On(ready, draining map[string]bool) Targets {
	isReady := func(one Target) bool { return ready[one.Node] }
	excluded := keep(t.Excluded, isReady)
	switch {
	case t.NotKnown == NoNodeMatches && len(excluded) == 0: // whatever the endpoints are
		return Targets{NotKnown: t.NotKnown}
	case len(ready) == 0 || len(ready) == 1 && ready[""]:
		return Targets{NotKnown: t.withoutEndpoint(ready[""])}
	case t.None() && len(excluded) == 0: // the nodes are not known, whatever the endpoints are
		t.Excluded = nil
		return t
	}
	local := Targets{Serving: keep(t.Serving, isReady), Joining: keep(t.Joining, isReady)}
	for _, name := range t.Unidentified {
		if ready[name] {
			local.Unidentified = append(local.Unidentified, name)
		}
	}
	if len(local.Serving) == 0 {
		local.Serving, local.LastResort = excluded, len(excluded) > 0
	}
	switch {
	case !local.None() || len(t.Serving) == 0:
	case ready[""]:
		local.NotKnown = EndpointsNameless
	default:
		local.NotKnown = EndpointsElsewhere
	}
	return local.drainingOn(draining, t)
}

// withoutEndpoint returns why the targets are not known while no ready endpoint names a node; "" if there is no node.
func (t Targets) withoutEndpoint(nameless bool) NotKnown {
	switch {
	case len(t.Serving) == 0 && !t.Incomplete():
		return ""
	case nameless:
		return EndpointsNameless
	}
	return NoEndpointReady
}

// drainingOn returns the targets, with those machines of all that are on draining nodes and are no targets otherwise. A
// set that is not known stays so: then no target leaves.
func (t Targets) drainingOn(draining map[string]bool, all Targets) Targets {
	if len(t.Serving)+len(t.Joining) == 0 {
		return t
	}
	leaving := keep(slices.Concat(all.Serving, all.Joining, all.Excluded), func(one Target) bool {
		return draining[one.Node] && !Contains(t.Serving, one.Machine)
	})
	t.Joining = merged(t.Joining, leaving)
	return t
}

// None reports whether the targets contain no node, including nodes that are joining or not identified.
func (t Targets) None() bool { return len(t.Serving)+len(t.Joining)+len(t.Unidentified) == 0 }

// Outside returns the targets of a Service, which its node selector matched among all. If none match although there are
// some, the set is not known.
func (t Targets) Outside(all Targets) Targets {
	if t.None() && !all.None() {
		t.NotKnown = NoNodeMatches
	}
	return t
}

// Only returns the targets, given which of their machines exist, and for which of them this is not known. Both lists
// are sorted.
func (t Targets) Only(existing, unknown []string) Targets {
	if len(existing) == len(t.Serving)+len(t.Joining) {
		return t
	}
	exists := func(one Target) bool { return contains(existing, one.Machine) }
	gone := keep(slices.Concat(t.Serving, t.Joining), func(one Target) bool { return !exists(one) })
	t.Serving, t.Joining = keep(t.Serving, exists), keep(t.Joining, exists)
	t.Unknown = oncePerMachine(keep(gone, func(one Target) bool { return contains(unknown, one.Machine) }))
	t.Missing = oncePerMachine(keep(gone, func(one Target) bool { return !contains(unknown, one.Machine) }))
	return t
}

// Same reports whether the targets are the same lists in memory, with the same reason.
func (t Targets) Same(other Targets) bool {
	same := func(a, b []Target) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
	return same(t.Serving, other.Serving) && same(t.Joining, other.Joining) && same(t.Unknown, other.Unknown) &&
		same(t.Missing, other.Missing) && same(t.Excluded, other.Excluded) && t.LastResort == other.LastResort &&
		t.NotKnown == other.NotKnown && slices.Equal(t.Unidentified, other.Unidentified)
}

// Equal reports whether the targets are equal.
func (t Targets) Equal(other Targets) bool {
	return t.Same(other) || slices.Equal(t.Serving, other.Serving) && slices.Equal(t.Joining, other.Joining) &&
		slices.Equal(t.Unidentified, other.Unidentified) && t.NotKnown == other.NotKnown
}

// Staying returns those of the observed machines that stay targets although they would not be added, sorted.
func (t Targets) Staying(observed []string) []string {
	var staying []string
	for _, one := range slices.Concat(t.Joining, t.Unknown) {
		if contains(observed, one.Machine) {
			staying = append(staying, one.Machine)
		}
	}
	slices.Sort(staying)
	return slices.Compact(staying)
}

// Over returns the desired set of machines, given the observed one in the cloud, which is sorted. An empty set that is
// incomplete does not replace the observed one.
func (t Targets) Over(observed []string) []string {
	machines := MachinesOf(t.Serving)
	if staying := t.Staying(observed); len(staying) > 0 {
		machines = slices.Concat(machines, staying)
		slices.Sort(machines)
		machines = slices.Compact(machines)
	}
	if len(machines) == 0 && t.Incomplete() {
		return observed
	}
	return machines
}

func contains(machines []string, one string) bool {
	_, is := slices.BinarySearch(machines, one)
	return is
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
