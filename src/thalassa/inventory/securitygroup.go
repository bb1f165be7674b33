package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// securityGroupUse is how long security groups count as in use after one was requested.
const securityGroupUse = 24 * time.Hour

// newSecurityGroups returns the store of all security groups of the VPC, including those of others. It is filled when
// one is needed.
func (i *Inventory) newSecurityGroups() *store.Store[resource.SecurityGroup] {
	s := store.New("security groups", i.listSecurityGroups, func(g resource.SecurityGroup) string { return g.ID },
		i.securityGroupKeys)
	s.Deleting, s.Get = resource.SecurityGroup.Deleting, i.getSecurityGroup
	return s
}

// useSecurityGroups records that security groups are in use.
func (i *Inventory) useSecurityGroups() { i.securityGroupsUsed.Put("", time.Now()) }

func (i *Inventory) securityGroupKeys(g resource.SecurityGroup) []string {
	return append(i.labelKeys(g.Labels), slugKey(g.Slug))
}

// SecurityGroupsOf returns all security groups of the owner, from a list at most maxAge old, in the same way as
// LoadBalancersOf. Security groups count as in use only if there are any, because this is also called at the end of a
// Service that never had one.
func (i *Inventory) SecurityGroupsOf(ctx context.Context, owner string, maxAge time.Duration,
	expected int) ([]resource.SecurityGroup, error) {
	found, err := i.securityGroups.FindExpected(ctx, ownerKey(owner), i.maxAgeFor(owner, maxAge), expected)
	if len(found) > 0 {
		i.useSecurityGroups()
	}
	return found, err
}

// SecurityGroup returns the security group of the VPC with the identity or slug, from a list at most maxAge old. It may
// belong to others. "Not found" comes from a list that began after the first lookup, and is cached for a minute.
func (i *Inventory) SecurityGroup(ctx context.Context, reference string,
	maxAge time.Duration) (group resource.SecurityGroup, found bool, err error) {
	i.useSecurityGroups()
	return i.securityGroups.LookUpOne(ctx, "security group", reference, []string{reference, slugKey(reference)}, maxAge)
}

// SecurityGroupNames returns the identities of all security groups of the VPC, with their slugs, sorted, for messages:
// "sg-1 (web)".
func (i *Inventory) SecurityGroupNames(ctx context.Context) ([]string, error) {
	all, err := i.securityGroups.All(ctx, BalancerAge)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(all))
	for _, group := range all {
		names = append(names, fmt.Sprintf("%s (%s)", group.ID, group.Slug))
	}
	return names, nil
}

// ourSecurityGroups returns the security groups of this cluster, from a list at most maxAge old. There is no list while
// none are in use: none was requested recently, and none is attached to a load balancer of this cluster. A missing
// permission to read them is no error here, because callers that need a group report it.
func (i *Inventory) ourSecurityGroups(ctx context.Context, maxAge time.Duration,
	balancers []resource.LoadBalancer) ([]resource.SecurityGroup, error) {
	attached := func(lb resource.LoadBalancer) bool { return len(lb.SecurityGroups) > 0 }
	if _, used := i.securityGroupsUsed.Get(""); !used && !slices.ContainsFunc(balancers, attached) {
		return nil, nil
	}
	all, err := i.securityGroups.All(ctx, maxAge)
	if store.LacksPermission(err) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(g resource.SecurityGroup) bool { return !i.isOurs(g.Labels) }), err
}

func (i *Inventory) listSecurityGroups(ctx context.Context) ([]resource.SecurityGroup, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint, []filters.Filter{i.inVPC()},
		i.securityGroupInVPC)
	return all, store.WithPermission(err, "read security groups")
}

func (i *Inventory) getSecurityGroup(ctx context.Context, id string) (resource.SecurityGroup, bool, error) {
	group, exists, err := store.GetOne(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint, id,
		i.securityGroupInVPC)
	return group, exists, store.WithPermission(err, "read security groups")
}

// securityGroupInVPC reports whether it is in the VPC and exists.
func (i *Inventory) securityGroupInVPC(g securityGroupItem) (resource.SecurityGroup, bool) {
	group := g.SecurityGroup
	group.Labels = i.seen(group.Labels, group.Annotations)
	return group, i.inVPCOrUnknown(g.VPC) && !gone(g.Status)
}

// securityGroupItem is as much of the API's security group as is needed.
type securityGroupItem struct {
	resource.SecurityGroup
	VPC reference `json:"vpc"`
}

// ObjectID implements the item of store.GetOne.
func (g securityGroupItem) ObjectID() string { return g.ID }

// ruleItem is a rule in requests. The side that it does not have is null there.
type ruleItem struct {
	resource.Rule
	RemoteAddress *string `json:"remoteAddress"`
	RemoteGroup   *string `json:"remoteSecurityGroupIdentity"`
}

// itemsOf returns items that are not nil, because an empty list must be sent.
func itemsOf(rules []resource.Rule) []ruleItem {
	items := make([]ruleItem, 0, len(rules))
	for _, rule := range rules {
		items = append(items, ruleItem{rule, optional(rule.RemoteAddress), optional(rule.RemoteGroup)})
	}
	return items
}
