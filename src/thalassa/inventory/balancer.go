package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// gone reports whether an object with the status is deleted, although the cloud still returns it for some time.
func gone(status string) bool { return strings.EqualFold(status, statusDeleted) }

// balancerItem is as much of the API's load balancer as is needed.
type balancerItem struct {
	resource.LoadBalancer
	VPC              reference      `json:"vpc"`
	SubnetObject     reference      `json:"subnet"`
	ReservedIPObject reference      `json:"reservedIp"`
	SecurityGroups   []reference    `json:"securityGroups"`
	Listeners        []listenerItem `json:"loadbalancerListeners"`
}

// reference is an object as others contain it, and the beginning of all objects.
type reference struct {
	Identity string `json:"identity"`
}

// ObjectID implements the item of store.GetOne.
func (r reference) ObjectID() string { return r.Identity }

// identitiesOf returns the identities of the objects that another one contains.
func identitiesOf(references []reference) []string {
	var ids []string
	for _, one := range references {
		ids = append(ids, one.Identity)
	}
	return ids
}

// listenerItem is as much of the API's listener as is needed.
type listenerItem struct {
	resource.Listener
	TargetGroup reference `json:"targetGroup"`
}

// groupItem is as much of the API's target group as is needed. Of an attached machine that is its identity: the API
// shows all of it, in every group.
type groupItem struct {
	resource.TargetGroup
	VPC         reference   `json:"vpc"`
	Listeners   []reference `json:"loadbalancerListeners"`
	Attachments []struct {
		Machine reference `json:"virtualMachineInstance"`
	} `json:"loadbalancerTargetGroupAttachments"`
}

// ObjectID implements the item of store.GetOne.
func (lb balancerItem) ObjectID() string { return lb.ID }

func (lb balancerItem) object() resource.LoadBalancer {
	balancer := lb.LoadBalancer
	balancer.ExternalAddresses, balancer.InternalAddresses = addresses(lb.ExternalAddresses),
		addresses(lb.InternalAddresses)
	balancer.Subnet = cmp.Or(lb.Subnet, lb.SubnetObject.Identity)
	balancer.ReservedIP = cmp.Or(lb.ReservedIP, lb.ReservedIPObject.Identity)
	balancer.SecurityGroups = identitiesOf(lb.SecurityGroups)
	slices.Sort(balancer.SecurityGroups)
	for _, listener := range lb.Listeners {
		balancer.Listeners = append(balancer.Listeners, listener.object())
	}
	return balancer
}

// addresses returns the addresses sorted, without empty ones, so that another order is no difference.
func addresses(listed []string) []string {
	found := slices.DeleteFunc(slices.Clone(listed), func(address string) bool { return address == "" })
	slices.Sort(found)
	return found
}

func (l listenerItem) object() resource.Listener {
	listener := l.Listener
	listener.TargetGroup = l.TargetGroup.Identity
	return listener
}

// ObjectID implements the item of store.GetOne.
func (g groupItem) ObjectID() string { return g.ID }

func (g groupItem) object() resource.TargetGroup {
	group := g.TargetGroup
	group.Machines = slices.Grow(group.Machines, len(g.Attachments))
	for _, attachment := range g.Attachments {
		if id := attachment.Machine.Identity; id != "" {
			group.Machines = append(group.Machines, id)
		}
	}
	slices.Sort(group.Machines)
	group.Listeners = identitiesOf(g.Listeners)
	return group
}

// updated returns the load balancer after an update with the changes between from and to.
func updated(lb, from, to resource.LoadBalancer) resource.LoadBalancer {
	lb.Name, lb.Description, lb.Labels, lb.Annotations = to.Name, to.Description, to.Labels, to.Annotations
	lb.DeleteProtection, lb.SecurityGroups = to.DeleteProtection, to.SecurityGroups
	if from.Subnet != to.Subnet {
		lb.Subnet = to.Subnet
	}
	if from.ReservedIP != to.ReservedIP {
		lb.ReservedIP = to.ReservedIP
	}
	if from.InstanceSize != to.InstanceSize {
		lb.InstanceSize = to.InstanceSize
	}
	return lb
}

// withListener returns the load balancer with the listener added, or replaced if its identity is there already.
func withListener(lb resource.LoadBalancer, listener resource.Listener) resource.LoadBalancer {
	lb.Listeners = append(slices.Clone(withoutListener(lb, listener.ID).Listeners), listener)
	return lb
}

// withoutListener returns the load balancer without the listener with that identity.
func withoutListener(lb resource.LoadBalancer, id string) resource.LoadBalancer {
	lb.Listeners = slices.DeleteFunc(slices.Clone(lb.Listeners), func(l resource.Listener) bool { return l.ID == id })
	return lb
}
