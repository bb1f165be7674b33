package thalassa

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
)

// existing leaves out targets whose server is gone, going or in another VPC: its node may outlive it for a while, and
// the cloud refuses the whole set because of one of them. What is left out makes the set incomplete. One of which it
// cannot be found out now stays where it is and goes nowhere else.
func (b *balancers) existing(ctx context.Context, targets cloud.Targets) (cloud.Targets, error) {
	existing, unsure, err := b.inventory.TargetMachines(ctx, targets.Machines(), b.config.Inventory.balancerAge())
	if err != nil {
		return cloud.Targets{}, fmt.Errorf("choosing targets: %w", err)
	}
	return targets.Only(existing, unsure), nil
}

// leftOut are the nodes that should get a Service's traffic and do not, in words that are the same as long as the nodes
// are.
type leftOut struct {
	unidentified string // they do not say which server they are
	serverless   string // they name one that is gone, going or in another VPC
	unsure       string // they name one that lists lack and that the cloud says nothing about
	// all: no node is left.
	all bool
}

// leftOutOf compares the targets that were chosen with the usable ones among them.
func leftOutOf(chosen, usable cloud.Targets) leftOut {
	out := leftOut{unidentified: list.Short(chosen.Unidentified), serverless: list.Short(unusable(chosen, usable)),
		unsure: list.Short(usable.UnknownNames)}
	out.all = out != leftOut{} && len(usable.Identities) == 0
	return out
}

// unusable are the names of the chosen nodes that are not among the usable ones, sorted.
func unusable(chosen, usable cloud.Targets) []string {
	if len(chosen.Identities) == len(usable.Identities) {
		return nil // which is so for almost all Services, all the time
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

// notices tell the Service's owner which nodes get no traffic.
func (out leftOut) notices(vpc string) []cloud.Notice {
	if (out == leftOut{}) {
		return nil
	}
	return []cloud.Notice{{Topic: cloud.Nodes, Reason: reasonLeftOut, Message: out.message(vpc)}}
}

// message says which nodes are left out, why, and what to do about it.
func (out leftOut) message(vpc string) string {
	var lines []string
	if out.unidentified != "" {
		lines = append(lines, fmt.Sprintf("These nodes receive no traffic of this Service, because they have no "+
			"provider ID: %s. See the events of the nodes; spec.providerID must be set to %s.",
			out.unidentified, providerID("<machine identity>")))
	}
	if out.serverless != "" {
		lines = append(lines, fmt.Sprintf("These nodes receive no traffic of this Service, because VPC %s does not "+
			"contain their machines, or the machines are being deleted: %s. Delete nodes whose machines were "+
			"deleted. If the machines are in another VPC, set vpcIdentity in the cloud-config.",
			vpc, out.serverless))
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
