package balancer

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// leftOut are the nodes that should receive a Service's traffic and do not. The text is the same as long as the nodes
// are the same.
type leftOut struct {
	unidentified   string // nodes without a provider ID, or with one that names no machine
	withoutMachine string // nodes whose machine does not exist, is being deleted, or is in another VPC
	unsure         string // nodes whose machine lists lack, and cannot be requested
	// all: no node remains.
	all bool
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

// leftOutOf returns the nodes that the targets leave out.
func leftOutOf(targets cloud.Targets) leftOut {
	out := leftOut{unidentified: event.Names(targets.Unidentified),
		withoutMachine: event.Names(cloud.NodesOf(targets.Missing)),
		unsure:         event.Names(cloud.NodesOf(targets.Unknown))}
	out.all = out != leftOut{} && len(targets.Serving) == 0
	return out
}

// notices describe which nodes receive no traffic.
func (out leftOut) notices(vpc string) []cloud.Notice {
	if (out == leftOut{}) {
		return nil
	}
	return []cloud.Notice{{Topic: cloud.Nodes, Reason: reasonLeftOut, Message: out.message(vpc)}}
}

// message describes which nodes are left out, why, and what to do.
func (out leftOut) message(vpc string) string {
	var lines []string
	if out.unidentified != "" {
		lines = append(lines, fmt.Sprintf("These nodes receive no traffic of this Service, because they have no "+
			"provider ID: %s. See the events of the nodes; spec.providerID must be set to %s. The kubelet of a node "+
			"without events may run without --cloud-provider=external.",
			out.unidentified, providerid.Of("<machine identity>")))
	}
	if out.withoutMachine != "" {
		lines = append(lines, fmt.Sprintf("These nodes receive no traffic of this Service, because VPC %s does not "+
			"contain their machines, or the machines are being deleted: %s. Delete nodes whose machines were "+
			"deleted. If the machines are in another VPC, set vpcIdentity in the cloud-config.",
			vpc, out.withoutMachine))
	}
	if out.unsure != "" {
		lines = append(lines, fmt.Sprintf("It is not known whether the machines of these nodes exist: %s. The "+
			"cloud's list does not contain them, and requests for them fail. Until a request succeeds, the nodes "+
			"stay targets where they are targets, and are not added elsewhere. It is retried automatically.",
			out.unsure))
	}
	if out.all {
		lines = append(lines,
			"No node remains: a new load balancer has no targets, and an existing load balancer keeps its targets.")
	}
	return event.Sentences(lines...)
}
