package cloud

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// addZone adds the zone of a machine. If two Nodes on it have different ones, the order of the Nodes does not matter.
func addZone(zoneOf map[string]string, machine string, node *corev1.Node) {
	if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
		zoneOf[machine] = min(cmp.Or(zoneOf[machine], zone), zone)
	}
}

// addReadySince adds the time since which the Node of a machine has been ready and has had a network. If two Nodes on
// it have different ones, the earlier one counts.
func addReadySince(readySince map[string]time.Time, machine string, node *corev1.Node) {
	if !Ready(node) {
		return
	}
	var since time.Time
	for _, c := range node.Status.Conditions {
		decides := c.Type == corev1.NodeReady || c.Type == corev1.NodeNetworkUnavailable
		if decides && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	if other, known := readySince[machine]; !known || since.Before(other) {
		readySince[machine] = since
	}
}

// Subset returns at most limit of the targets of a Service, which the UID of the Service decides by rendezvous hashing:
// in each zone, those with the highest hash of UID and machine. The zones have equally many, or one more, as far as
// they have enough. So Services have different targets, each process chooses the same ones, and a machine that joins or
// leaves changes only the subsets that it is in, or takes the place of another one in. A limit of 0 is none.
//
// A machine takes no place of another one before it can receive traffic. Machines that are joining or unknown, or whose
// Node is not ready, count if they are in the observed set of targets in the cloud. Other machines whose Node is not
// ready fill places that would be empty. If no machine of the subset can be added, the limit is exceeded.
//
// Machines are added before others are removed: if few of the observed targets that serve would stay, some more stay
// until the new ones serve, and the limit is exceeded for that time. The held ones are those that the cloud had
// after a change so recent that it may not use all of them yet. Then no other machine takes the place of one of them.
// In both cases Postponed is set. Targets serve if they are usable or unknown, and their Nodes are ready. Those whose
// Nodes are so for as long as AcceptedSince requires stay first.
func (t Targets) Subset(uid string, limit int, observed, held []string) Targets {
	candidates := t.Over(observed)
	if limit == 0 || len(t.Identities) == 0 || len(candidates) <= limit {
		return t
	}
	ranking := t.rankingOf(candidates)
	seed := hashOf(uid)
	chosen := ranking.chooseReady(seed, limit, candidates, observed)
	present := common(observed, candidates)
	ready := ranking.serving(sorted(common(present, t.Identities), common(present, t.Unknown)), time.Time{})
	serving := [][]string{ranking.serving(slices.Clone(ready), t.accepted), ready}
	if len(ready) == 0 {
		serving = [][]string{present} // each of them may serve
	}
	besides := func(chosen []string) []string {
		if len(common(chosen, t.Identities)) > 0 {
			return chosen
		}
		return sorted(chosen, ranking.chooseReady(seed, limit, t.Identities, nil))
	}
	chosen, t.Postponed = ranking.approach(seed, limit, besides(chosen), present, serving, common(held, candidates))
	return t.among(besides(chosen))
}

// AcceptedSince returns the targets for Subset, given that health checks have accepted a machine again if its Node has
// been ready, and has had a network, at this time and since. Zero means that they accept it at once.
func (t Targets) AcceptedSince(since time.Time) Targets {
	t.accepted = since
	return t
}

// IfAllExisted returns the targets as they would be if the machines that Only left out existed, and their Nodes were
// ready, and whether there are such machines.
func (t Targets) IfAllExisted() (whole Targets, missing bool) {
	if t.whole == nil {
		return t, false
	}
	return *t.whole, true
}

// rankingOf returns the ranking of the targets, or of these machines if there is none.
func (t Targets) rankingOf(machines []string) *ranking {
	if t.ranking == nil {
		return newRanking(machines, nil, nil)
	}
	return t.ranking
}

// among returns the targets whose machines were chosen, which are sorted.
func (t Targets) among(chosen []string) Targets {
	t.machines, t.lastOnly = nil, nil
	t.Identities, t.Names = matching(chosen, t.Identities, t.Names)
	t.Staying, t.StayingNames = matching(chosen, t.Staying, t.StayingNames)
	t.Unknown, t.UnknownNames = matching(chosen, t.Unknown, t.UnknownNames)
	return t
}

// DependOn reports whether Subset would choose other targets if these were not those in the cloud, apart from targets
// that it postpones. The observed ones are sorted.
func (t Targets) DependOn(observed []string) bool {
	if len(common(t.Staying, observed)) > 0 || len(common(t.Unknown, observed)) > 0 {
		return true
	}
	if t.ranking == nil {
		return false
	}
	_, found := t.ranking.observedNotReady(observed)
	return found
}

// matching returns the machines that were chosen, with their names. All lists are sorted by machine.
func matching(chosen, machines, names []string) (found, foundNames []string) {
	for _, machine := range chosen {
		if at, is := slices.BinarySearch(machines, machine); is {
			found, foundNames = append(found, machine), append(foundNames, names[at])
		}
	}
	return found, foundNames
}
