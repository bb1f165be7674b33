package balancer

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
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

// leftOutOf compares the selected targets with all usable ones. If their number is limited, other nodes may have the
// places of nodes that are not selected.
func leftOutOf(selected, usable cloud.Targets) leftOut {
	without, unsure := unusable(selected, usable)
	out := leftOut{unidentified: list.Short(selected.Unidentified), withoutMachine: list.Short(without),
		unsure: list.Short(unsure)}
	out.all = out != leftOut{} && len(usable.Identities) == 0
	return out
}

// unusable returns the names of the selected nodes whose machines do not exist, and of those for which this is not
// known, both sorted.
func unusable(selected, usable cloud.Targets) (without, unsure []string) {
	missing := missingNames(selected.Identities, selected.Names, usable.Identities)
	unknown := sets.New(usable.UnknownNames...)
	for _, name := range missing {
		if !unknown.Has(name) {
			without = append(without, name)
		}
	}
	missing = append(missing, missingNames(selected.Staying, selected.StayingNames, usable.Staying)...)
	for _, name := range missing {
		if unknown.Has(name) {
			unsure = append(unsure, name)
		}
	}
	slices.Sort(without)
	slices.Sort(unsure)
	return without, unsure
}

// anyLeftOut reports whether a selected machine, also of a node that is joining, is not usable.
func anyLeftOut(selected, usable cloud.Targets) bool {
	return len(missingNames(selected.Identities, selected.Names, usable.Identities)) > 0 ||
		len(missingNames(selected.Staying, selected.StayingNames, usable.Staying)) > 0
}

// missingNames returns the names of the nodes on machines that others lack. The machines are sorted.
func missingNames(machines, names, others []string) []string {
	if len(machines) == len(others) && (len(machines) == 0 || &machines[0] == &others[0]) {
		return nil // the usual case: the same list
	}
	var missing []string
	for i, machine := range machines {
		if _, found := slices.BinarySearch(others, machine); !found {
			missing = append(missing, names[i])
		}
	}
	return missing
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
	return list.Sentences(lines...)
}
