package inventory

import (
	"context"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Objects that lost labels of their owner are found by other properties: load balancers by their name, their addresses
// and the labels of their listeners; target groups and security groups by their name.

func nameKey(name string) string { return "name/" + name }

func balancerAddressKey(address string) string { return "reached/" + address }

// relatedKey is the key of objects that have the owner's label and lack others.
func relatedKey(owner string) string { return "related/" + owner }

// labelled reports whether an object has all labels by which its owner finds it.
func (i *Inventory) labelled(labels resource.Labels) bool {
	return resource.HasLabels(labels, i.owned) && labels[i.owner] != ""
}

// ofOtherCluster reports whether a label names another cluster. A missing or empty label does not.
func (i *Inventory) ofOtherCluster(labels resource.Labels) bool {
	for key, value := range i.owned {
		if labels[key] != "" && labels[key] != value {
			return true
		}
	}
	return false
}

// balancerKeys returns the index keys of a load balancer.
func (i *Inventory) balancerKeys(lb resource.LoadBalancer) []string {
	keys := append(i.labelKeys(lb.Labels), nameKey(lb.Name))
	if i.labelled(lb.Labels) {
		return keys
	}
	for _, address := range lb.Addresses() {
		keys = append(keys, balancerAddressKey(address))
	}
	for _, owner := range i.related(lb) {
		keys = append(keys, relatedKey(owner))
	}
	return keys
}

// related returns the owners in the labels of a load balancer and of its listeners.
func (i *Inventory) related(lb resource.LoadBalancer) []string {
	owners := []string{lb.Labels[i.owner]}
	for _, listener := range lb.Listeners {
		owners = append(owners, listener.Labels[i.owner])
	}
	return slices.DeleteFunc(owners, func(owner string) bool { return owner == "" })
}

// groupKeys returns the index keys of a target group.
func (i *Inventory) groupKeys(g resource.TargetGroup) []string {
	return i.labelKeys(g.Labels, nameKey(balancerNameOf(g.Name)))
}

// labelKeys returns the key of the owner in the labels and, if the owner does not find the object by it, the others.
func (i *Inventory) labelKeys(labels resource.Labels, others ...string) []string {
	var keys []string
	if resource.HasLabels(labels, i.owned) {
		keys = append(keys, ownerKey(labels[i.owner]))
	}
	if !i.labelled(labels) {
		keys = append(keys, others...)
	}
	return keys
}

// balancerNameOf returns the name of the load balancer in a target group's name: "a0a1b2c3d" for "a0a1b2c3d-http".
func balancerNameOf(name string) string {
	before, _, _ := strings.Cut(name, "-")
	return before
}

// LoadBalancersWithTraits returns the stored load balancers that have any of the traits and are not the owner's by
// their labels. With confirm, those that lists lack are requested.
func (i *Inventory) LoadBalancersWithTraits(ctx context.Context, traits resource.Traits,
	confirm bool) ([]resource.LoadBalancer, error) {
	keys := []string{relatedKey(traits.Owner)}
	for _, name := range traits.Names {
		keys = append(keys, nameKey(name))
	}
	for _, address := range traits.Addresses {
		keys = append(keys, balancerAddressKey(address))
	}
	for _, key := range keys {
		if !confirm {
			break
		}
		if err := i.balancers.ConfirmUnlisted(ctx, key); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(i.balancers.WithAnyKey(keys), func(lb resource.LoadBalancer) bool {
		return resource.HasLabels(lb.Labels, i.owned) && lb.Labels[i.owner] == traits.Owner
	}), nil
}

// TargetGroupsNamed returns the stored target groups that were created for the load balancer with the name and lack
// labels. Those that lists lack are requested.
func (i *Inventory) TargetGroupsNamed(ctx context.Context, balancer string) ([]resource.TargetGroup, error) {
	return i.groups.FindNow(ctx, nameKey(balancer))
}

// SecurityGroupsNamed returns the stored security groups that have one of the names and lack labels. Those that lists
// lack are requested.
func (i *Inventory) SecurityGroupsNamed(ctx context.Context, names ...string) ([]resource.SecurityGroup, error) {
	var all []resource.SecurityGroup
	for _, name := range names {
		found, err := i.securityGroups.FindNow(ctx, nameKey(name))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Unlabelled returns the stored load balancers that lack labels of an owner and have none of another cluster.
func (i *Inventory) Unlabelled() []resource.LoadBalancer {
	return i.balancers.Where(func(lb resource.LoadBalancer) bool {
		return !i.labelled(lb.Labels) && !i.ofOtherCluster(lb.Labels)
	})
}

// UserOf returns a stored load balancer that uses the target group or security group with the identity, is not being
// deleted, and is not excepted.
func (i *Inventory) UserOf(group string, except func(resource.LoadBalancer) bool) (user resource.LoadBalancer,
	used bool) {
	users := i.balancers.Where(func(lb resource.LoadBalancer) bool {
		leads := slices.ContainsFunc(lb.Listeners, func(l resource.Listener) bool { return l.TargetGroup == group })
		return (leads || slices.Contains(lb.SecurityGroups, group)) && !lb.Deleting() && !except(lb)
	})
	if len(users) == 0 {
		return resource.LoadBalancer{}, false
	}
	return users[0], true
}
