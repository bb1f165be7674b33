package inventory

import (
	"context"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Load balancers that lost labels of their owner are found by their name, their addresses and the owner's label. Their
// target groups and security groups are found by them.

func nameKey(name string) string { return "name/" + name }

func balancerAddressKey(address string) string { return "reached/" + address }

// relatedKey is the key of objects that have the owner's label and lack others.
func relatedKey(owner string) string { return "related/" + owner }

// labelled reports whether an object has all labels by which its owner finds it.
func (i *Inventory) labelled(labels resource.Labels) bool {
	return i.isOurs(labels) && labels[i.owner] != ""
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
	if owner := lb.Labels[i.owner]; owner != "" {
		keys = append(keys, relatedKey(owner))
	}
	return keys
}

// groupKeys returns the index keys of a target group.
func (i *Inventory) groupKeys(g resource.TargetGroup) []string { return i.labelKeys(g.Labels) }

// labelKeys returns the key of the owner in the labels.
func (i *Inventory) labelKeys(labels resource.Labels) []string {
	if !i.isOurs(labels) {
		return nil
	}
	return []string{ownerKey(labels[i.owner])}
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
		return i.isOurs(lb.Labels) && lb.Labels[i.owner] == traits.Owner
	}), nil
}

// AttachedSecurityGroups returns the stored security groups that are attached to the load balancer and lack labels of
// an owner. Those that lists lack are requested.
func (i *Inventory) AttachedSecurityGroups(ctx context.Context,
	balancer resource.LoadBalancer) ([]resource.SecurityGroup, error) {
	var all []resource.SecurityGroup
	for _, id := range balancer.SecurityGroups {
		found, err := i.securityGroups.FindNow(ctx, id)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(g resource.SecurityGroup) bool { return i.labelled(g.Labels) }), nil
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
