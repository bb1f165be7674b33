package balancer

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// Candidates are the machines that may be targets of Services, prepared for [Request.Compare]. They depend on their
// targets only, so that all Services with the same targets can share them.
type Candidates struct {
	cloud.Targets
	machines []string // of Serving, sorted
	decisive []string // the machines that decide about places: the ready ones of Serving, or all if frozen is set
	zones    []zone
	// frozen means that most Nodes are not ready. This is rather a failure of the control plane than of the Nodes, so
	// that no machine takes the place of another one.
	frozen bool
}

// NewCandidates returns the candidates among targets.
func NewCandidates(targets cloud.Targets) Candidates {
	c := Candidates{Targets: targets, machines: cloud.MachinesOf(targets.Serving)}
	var names []string
	for _, one := range slices.Concat(targets.Serving, targets.Joining, targets.Unknown, targets.Missing) {
		if one.Zone != "" {
			names = append(names, one.Zone)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c.zones = append(c.zones, zone{hash: hashOf(name)})
	}
	if len(c.zones) == 0 {
		c.zones = make([]zone, 1)
	}
	for _, one := range targets.Serving {
		c.add(one)
		if one.Ready {
			c.decisive = append(c.decisive, one.Machine)
		}
	}
	if c.frozen = 2*len(c.decisive) < len(c.machines); c.frozen {
		c.decisive = c.machines
	}
	return c
}

// over returns the machines without a limit, given those that are targets now.
func (c Candidates) over(present []string) []string {
	staying := cloud.MachinesOf(c.staying(present))
	switch {
	case len(c.machines)+len(staying) == 0 && c.Incomplete():
		return present
	case len(staying) == 0:
		return c.machines
	}
	return sorted(slices.Concat(c.machines, staying))
}

// staying returns those of the present machines that stay although they would not be added. A machine without a network
// counts as one that is not ready.
func (c Candidates) staying(present []string) []cloud.Target {
	var staying []cloud.Target
	for _, one := range c.Joining {
		if contains(present, one.Machine) {
			one.Ready = false
			staying = append(staying, one)
		}
	}
	for _, one := range c.Unknown {
		if contains(present, one.Machine) {
			staying = append(staying, one)
		}
	}
	return staying
}

// usable reports whether a machine that is a target may stay one.
func (c Candidates) usable(machine string) bool {
	return contains(c.machines, machine) || cloud.Contains(c.Joining, machine) || cloud.Contains(c.Unknown, machine)
}

// contains reports whether a machine is in the list, which is sorted.
func contains(machines []string, one string) bool {
	_, is := slices.BinarySearch(machines, one)
	return is
}

// leavesOut returns the targets without those machines that would have no place if they existed.
func (d desired) leavesOut() cloud.Targets {
	targets := d.candidates.Targets
	if d.limit == 0 {
		return targets
	}
	if len(targets.Serving) >= d.limit {
		targets.Unidentified = nil // other nodes have their places
	}
	gone := slices.Concat(targets.Missing, targets.Unknown)
	for i := range gone {
		gone[i].Ready = !d.candidates.frozen // its Node is not ready because of it
	}
	if len(gone) == 0 {
		return targets
	}
	chosen := d.candidates.plus(gone).Choose(string(d.Owner.UID), d.limit)
	without := func(one cloud.Target) bool { return !slices.Contains(chosen, one.Machine) }
	targets.Missing = slices.DeleteFunc(slices.Clone(targets.Missing), without)
	targets.Unknown = slices.DeleteFunc(slices.Clone(targets.Unknown), without)
	return targets
}

// leftOutNotices describe which nodes should receive the Service's traffic and do not, why, and what to do. The text is
// the same as long as the nodes are the same.
func leftOutNotices(targets cloud.Targets, vpc string) []cloud.Notice {
	var lines []string
	if names := event.Names(targets.Unidentified); names != "" {
		lines = append(lines, fmt.Sprintf(textWithoutProviderID, names, providerid.Of("<machine identity>")))
	}
	if names := event.Names(cloud.NodesOf(targets.Missing)); names != "" {
		lines = append(lines, fmt.Sprintf(textWithoutMachine, vpc, names))
	}
	if names := event.Names(cloud.NodesOf(targets.Unknown)); names != "" {
		lines = append(lines, fmt.Sprintf(textUnsureMachine, names))
	}
	if len(lines) == 0 {
		return nil
	}
	if len(targets.Serving) == 0 {
		lines = append(lines, textNoNodeRemains)
	}
	return []cloud.Notice{{Topic: cloud.Nodes, Reason: reasonLeftOut, Message: event.Sentences(lines...)}}
}
