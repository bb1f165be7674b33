package inventory

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Objects that lost labels of their owner are found in the copies by what else they have: load balancers by their name,
// their addresses and the labels of their listeners, target groups and security groups by their name.

func nameKey(name string) string { return "name/" + name }

func reachedKey(address string) string { return "reached/" + address }

// relatedKey is for objects that have the owner's label and lack others.
func relatedKey(owner string) string { return "related/" + owner }

// labelled says whether an object has all labels by which its owner finds it.
func (i *Inventory) labelled(labels Labels) bool {
	return HasLabels(labels, i.owned) && labels[i.owner] != ""
}

// ofOthers says whether a label contradicts that an object belongs to this cluster. A missing or empty label does not.
func (i *Inventory) ofOthers(labels Labels) bool {
	for key, value := range i.owned {
		if labels[key] != "" && labels[key] != value {
			return true
		}
	}
	return false
}

// balancerKeys are what a load balancer is found by.
func (i *Inventory) balancerKeys(lb LoadBalancer) []string {
	keys := []string{nameKey(lb.Name)}
	if HasLabels(lb.Labels, i.owned) {
		keys = append(keys, ownerKey(lb.Labels[i.owner]))
	}
	if i.labelled(lb.Labels) {
		return keys
	}
	for _, address := range lb.Addresses() {
		keys = append(keys, reachedKey(address))
	}
	for _, owner := range i.related(lb) {
		keys = append(keys, relatedKey(owner))
	}
	return keys
}

// related are the owners that the labels of a load balancer and of its listeners name.
func (i *Inventory) related(lb LoadBalancer) []string {
	owners := []string{lb.Labels[i.owner]}
	for _, listener := range lb.Listeners {
		owners = append(owners, listener.Labels[i.owner])
	}
	return slices.DeleteFunc(owners, func(owner string) bool { return owner == "" })
}

// groupKeys are what a target group is found by.
func (i *Inventory) groupKeys(g TargetGroup) []string {
	var keys []string
	if HasLabels(g.Labels, i.owned) {
		keys = append(keys, ownerKey(g.Labels[i.owner]))
	}
	if !i.labelled(g.Labels) {
		keys = append(keys, nameKey(stem(g.Name)))
	}
	return keys
}

// stem is the part of a target group's name that says which load balancer it was made for: "a0a1b2c3d" of
// "a0a1b2c3d-http".
func stem(name string) string {
	before, _, _ := strings.Cut(name, "-")
	return before
}

// Addresses are all that the load balancer is reached by, its hostname included.
func (lb LoadBalancer) Addresses() []string {
	return addresses(slices.Concat(lb.ExternalAddresses, lb.InternalAddresses, []string{lb.Hostname}))
}

// Likeness is what an object has that lost labels of its owner.
type Likeness struct {
	Owner     string
	Names     []string
	Addresses []string // only of load balancers that lack labels
}

// LoadBalancersLike returns the load balancers in the copy, as it is, that have something of the likeness and are not
// the owner's by their labels. Sure asks for those that lists left out.
func (i *Inventory) LoadBalancersLike(ctx context.Context, like Likeness, sure bool) ([]LoadBalancer, error) {
	keys := []string{relatedKey(like.Owner)}
	for _, name := range like.Names {
		keys = append(keys, nameKey(name))
	}
	for _, address := range like.Addresses {
		keys = append(keys, reachedKey(address))
	}
	for _, key := range keys {
		if !sure {
			break
		}
		if err := i.balancers.askForMissed(ctx, key); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(i.balancers.having(keys), func(lb LoadBalancer) bool {
		return HasLabels(lb.Labels, i.owned) && lb.Labels[i.owner] == like.Owner
	}), nil
}

// TargetGroupsNamed returns the target groups in the copy, as it is, that were made for the load balancer of that name
// and lack labels. Those that lists left out are asked for.
func (i *Inventory) TargetGroupsNamed(ctx context.Context, balancer string) ([]TargetGroup, error) {
	return i.groups.findNow(ctx, nameKey(balancer))
}

// SecurityGroupsNamed returns the security groups in the copy, as it is, that have one of the names and lack labels.
// Those that lists left out are asked for.
func (i *Inventory) SecurityGroupsNamed(ctx context.Context, names ...string) ([]SecurityGroup, error) {
	var all []SecurityGroup
	for _, name := range names {
		found, err := i.securityGroups.kind.findNow(ctx, nameKey(name))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Unlabelled returns the load balancers in the copy, as it is, that lack labels of an owner, and have none of another
// cluster.
func (i *Inventory) Unlabelled() []LoadBalancer {
	return i.balancers.where(func(lb LoadBalancer) bool { return !i.labelled(lb.Labels) && !i.ofOthers(lb.Labels) })
}

// UserOf returns a load balancer in the copy, as it is, that is not being deleted, is not one of the excepted, and uses
// the target group or security group with that identity.
func (i *Inventory) UserOf(group string, except func(LoadBalancer) bool) (user LoadBalancer, used bool) {
	return i.balancers.any(func(lb LoadBalancer) bool {
		leads := slices.ContainsFunc(lb.Listeners, func(l Listener) bool { return l.TargetGroup == group })
		return (leads || slices.Contains(lb.SecurityGroups, group)) && !lb.Deleting() && !except(lb)
	})
}

// having returns the objects with any of the keys in the copy as it is, each once, sorted by identity.
func (k *kind[T]) having(keys []string) []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := map[string]bool{}
	for _, key := range keys {
		for id := range k.index[key] {
			ids[id] = true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found := make([]T, 0, len(ids))
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		found = append(found, k.objects[id])
	}
	return found
}

// where returns the objects of the copy, as it is, for which the condition holds, sorted by identity.
func (k *kind[T]) where(holds func(T) bool) []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found []T
	for _, id := range slices.Sorted(maps.Keys(k.objects)) {
		if object := k.objects[id]; holds(object) {
			found = append(found, object)
		}
	}
	return found
}

// any returns an object of the copy, as it is, for which the condition holds; of several the one whose identity is the
// first.
func (k *kind[T]) any(holds func(T) bool) (object T, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := ""
	for id, candidate := range k.objects {
		if (!found || id < first) && holds(candidate) {
			first, object, found = id, candidate, true
		}
	}
	return object, found
}
