package balancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// leftOut are the nodes that should receive a Service's traffic and do not. The text is the same as long as the nodes
// are the same.
type leftOut struct {
	unidentified   string // nodes without a provider ID
	withoutMachine string // nodes whose machine does not exist, is being deleted, or is in another VPC
	unsure         string // nodes whose machine lists lack, and cannot be requested
	// all: no node remains.
	all bool
}

// leftOutOf compares the selected targets with the usable ones among them.
func leftOutOf(chosen, usable cloud.Targets) leftOut {
	out := leftOut{unidentified: list.Short(chosen.Unidentified), withoutMachine: list.Short(unusable(chosen, usable)),
		unsure: list.Short(usable.UnknownNames)}
	out.all = out != leftOut{} && len(usable.Identities) == 0
	return out
}

// unusable returns the names of the selected nodes that are not usable, sorted.
func unusable(chosen, usable cloud.Targets) []string {
	if len(chosen.Identities) == len(usable.Identities) {
		return nil // the usual case
	}
	var names []string
	for i, id := range chosen.Identities {
		_, used := slices.BinarySearch(usable.Identities, id)
		if !used && !slices.Contains(usable.UnknownNames, chosen.Names[i]) {
			names = append(names, chosen.Names[i])
		}
	}
	slices.Sort(names)
	return names
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
			"provider ID: %s. See the events of the nodes; spec.providerID must be set to %s.",
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
	return strings.Join(lines, " ")
}
