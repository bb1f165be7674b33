package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// SecurityGroup is a set of rules that load balancers and machines can be attached to.
type SecurityGroup struct {
	ID, Name, Slug, Description string
	Labels, Annotations         Labels
	Version                     int    // that an update is based on
	Status                      string // "provisioning", "active", "ready", "deleting", …
	SameGroupTraffic            bool   // members reach each other
	Ingress, Egress             []Rule
}

// Deleting says that the deletion has been accepted and is under way.
func (g SecurityGroup) Deleting() bool { return strings.EqualFold(g.Status, StatusDeleting) }

// Rule allows or drops traffic from (ingress) or to (egress) a remote side. Rules can be compared with ==.
type Rule struct {
	Name          string
	IPVersion     string // "ipv4" or "ipv6"
	Protocol      string // "all", "tcp", "udp" or "icmp"
	Priority      int32  // 1 to 199
	RemoteType    string // "address" or "securityGroup": which of the two remote sides counts
	RemoteAddress string // a prefix or an address; "": none
	RemoteGroup   string // identity; "": none
	PortMin       int32
	PortMax       int32
	Policy        string // "allow" or "drop"
}

// securityGroupUse is how long security groups count as in use after somebody asked for one.
const securityGroupUse = 24 * time.Hour

// securityGroups are all of the VPC, ours and others'.
type securityGroups struct {
	lookup[SecurityGroup]
	asked *recent // "" while they are in use
	turns turns   // to change one that is not ours
}

// newSecurityGroups prepares the copy of all security groups, which is made when somebody asks for one.
func (i *Inventory) newSecurityGroups() securityGroups {
	k := newKind("security groups", i.listSecurityGroups, func(g SecurityGroup) string {
		return g.ID
	}, i.securityGroupKeys)
	k.leaving, k.ask = SecurityGroup.Deleting, i.getSecurityGroup
	return securityGroups{lookup: newLookup(k), asked: newRecent(securityGroupUse)}
}

func (i *Inventory) securityGroupKeys(g SecurityGroup) []string {
	keys := []string{slugKey(g.Slug)}
	if HasLabels(g.Labels, i.owned) {
		keys = append(keys, ownerKey(g.Labels[i.owner]))
	}
	if !i.labelled(g.Labels) {
		keys = append(keys, nameKey(g.Name))
	}
	return keys
}

// SecurityGroupsOf returns all security groups of the owner, from a list at most maxAge old. Only when there are any do
// they count as in use: also for a Service that never had one it is asked, at its end.
func (i *Inventory) SecurityGroupsOf(ctx context.Context, owner string, maxAge time.Duration) ([]SecurityGroup, error) {
	found, err := i.securityGroups.kind.find(ctx, ownerKey(owner), i.certain(owner, maxAge))
	if len(found) > 0 {
		i.securityGroups.asked.note("")
	}
	return found, err
}

// SecurityGroup returns the security group of the VPC with that identity or slug, whoever it belongs to, from a list at
// most maxAge old. "Not found" comes from a list that began after it was first missed, and is remembered for a minute.
func (i *Inventory) SecurityGroup(ctx context.Context, reference string,
	maxAge time.Duration) (group SecurityGroup, found bool, err error) {
	i.securityGroups.asked.note("")
	return i.securityGroups.one(ctx, "security group", reference, []string{reference, slugKey(reference)}, maxAge)
}

// SecurityGroupNames are the identities of all security groups of the VPC, with their slugs, sorted, for messages:
// "sg-1 (web)".
func (i *Inventory) SecurityGroupNames(ctx context.Context) ([]string, error) {
	all, err := i.securityGroups.kind.all(ctx, BalancerAge)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(all))
	for _, group := range all {
		names = append(names, fmt.Sprintf("%s (%s)", group.ID, group.Slug))
	}
	return names, nil
}

// ourSecurityGroups returns the security groups that are ours, from a list at most maxAge old. Nothing is read as long
// as there can be none: nobody asked for any lately, and none of our load balancers has one. Without the right to read
// them there is none to return, which is no error: whoever needs one is told.
func (i *Inventory) ourSecurityGroups(ctx context.Context, maxAge time.Duration,
	balancers []LoadBalancer) ([]SecurityGroup, error) {
	attached := slices.ContainsFunc(balancers, func(lb LoadBalancer) bool { return len(lb.SecurityGroups) > 0 })
	if !attached && !i.securityGroups.asked.has("") {
		return nil, nil
	}
	all, err := i.securityGroups.kind.all(ctx, maxAge)
	if lacksRight(err) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(g SecurityGroup) bool { return !HasLabels(g.Labels, i.owned) }), err
}

func (i *Inventory) listSecurityGroups(ctx context.Context) ([]SecurityGroup, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint, []filters.Filter{i.inVPC()},
		i.securityGroupHere)
	return all, needing(err, "read security groups")
}

func (i *Inventory) getSecurityGroup(ctx context.Context, id string) (SecurityGroup, bool, error) {
	group, exists, err := getOne(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint, id, i.securityGroupHere)
	return group, exists, needing(err, "read security groups")
}

// securityGroupHere says whether it is in the VPC, and there.
func (i *Inventory) securityGroupHere(g securityGroupItem) (SecurityGroup, bool) {
	return g.object(), i.mayHave(g.VPC) && !strings.EqualFold(g.Status, statusDeleted)
}

// lacksRight says that the credentials may not do what only few need. A cloud may also hide what may not be seen.
func lacksRight(err error) bool {
	return errors.Is(err, client.ErrUnauthorised) || errors.Is(err, client.ErrNotFound)
}

// needing names the right that is missing when a call was not permitted: "read security groups".
func needing(err error, right string) error {
	if lacksRight(err) {
		return fmt.Errorf("%w; the credentials need the permission to %s", err, right)
	}
	return err
}

// securityGroupItem is as much of the API's security group as is needed.
type securityGroupItem struct {
	Identity         string     `json:"identity"`
	Name             string     `json:"name"`
	Slug             string     `json:"slug"`
	Description      string     `json:"description"`
	Labels           Labels     `json:"labels"`
	Annotations      Labels     `json:"annotations"`
	Version          int        `json:"objectVersion"`
	VPC              reference  `json:"vpc"`
	Status           string     `json:"status"`
	SameGroupTraffic bool       `json:"allowSameGroupTraffic"`
	Ingress          []ruleItem `json:"ingressRules"`
	Egress           []ruleItem `json:"egressRules"`
}

func (g securityGroupItem) identity() string { return g.Identity }

func (g securityGroupItem) object() SecurityGroup {
	return SecurityGroup{
		ID: g.Identity, Name: g.Name, Slug: g.Slug, Description: g.Description, Labels: g.Labels,
		Annotations: g.Annotations,
		Version:     g.Version, Status: g.Status, SameGroupTraffic: g.SameGroupTraffic, Ingress: rulesOf(g.Ingress),
		Egress: rulesOf(g.Egress),
	}
}

// ruleItem is the API's rule.
type ruleItem struct {
	Name          string  `json:"name"`
	IPVersion     string  `json:"ipVersion"`
	Protocol      string  `json:"protocol"`
	Priority      int32   `json:"priority"`
	RemoteType    string  `json:"remoteType"`
	RemoteAddress *string `json:"remoteAddress"`
	RemoteGroup   *string `json:"remoteSecurityGroupIdentity"`
	PortMin       int32   `json:"portRangeMin"`
	PortMax       int32   `json:"portRangeMax"`
	Policy        string  `json:"policy"`
}

func rulesOf(items []ruleItem) []Rule {
	var rules []Rule
	for _, item := range items {
		rule := Rule{
			Name: item.Name, IPVersion: item.IPVersion, Protocol: item.Protocol, Priority: item.Priority,
			RemoteType: item.RemoteType,
			PortMin:    item.PortMin, PortMax: item.PortMax, Policy: item.Policy,
		}
		if item.RemoteAddress != nil {
			rule.RemoteAddress = *item.RemoteAddress
		}
		if item.RemoteGroup != nil {
			rule.RemoteGroup = *item.RemoteGroup
		}
		rules = append(rules, rule)
	}
	return rules
}

// itemsOf is never nil: an empty list must be sent as such.
func itemsOf(rules []Rule) []ruleItem {
	items := make([]ruleItem, 0, len(rules))
	for _, rule := range rules {
		items = append(items, ruleItem{
			Name: rule.Name, IPVersion: rule.IPVersion, Protocol: rule.Protocol, Priority: rule.Priority,
			RemoteType:    rule.RemoteType,
			RemoteAddress: optional(rule.RemoteAddress), RemoteGroup: optional(rule.RemoteGroup),
			PortMin: rule.PortMin, PortMax: rule.PortMax, Policy: rule.Policy,
		})
	}
	return items
}
