package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// gone reports whether an object with the status is deleted, although the cloud still returns it for some time.
func gone(status string) bool { return strings.EqualFold(status, statusDeleted) }

// balancerItem is as much of the API's load balancer as is needed.
type balancerItem struct {
	reference
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	Labels            resource.Labels `json:"labels"`
	Annotations       resource.Labels `json:"annotations"`
	Status            string          `json:"status"`
	CreatedAt         time.Time       `json:"createdAt"`
	VPC               reference       `json:"vpc"`
	ExternalAddresses []string        `json:"externalIpAddresses"`
	InternalAddresses []string        `json:"internalIpAddresses"`
	Hostname          string          `json:"hostname"`
	DeleteProtection  bool            `json:"deleteProtection"`
	Subnet            string          `json:"subnetIdentity"`
	SubnetObject      reference       `json:"subnet"`
	ReservedIP        string          `json:"reservedIpIdentity"`
	ReservedIPObject  reference       `json:"reservedIp"`
	InstanceSize      string          `json:"instanceSize"`
	SecurityGroups    []reference     `json:"securityGroups"`
	Listeners         []listenerItem  `json:"loadbalancerListeners"`
}

// reference is an object as others contain it, and the beginning of all objects.
type reference struct {
	Identity string `json:"identity"`
}

func (r reference) identity() string { return r.Identity }

// listenerItem is as much of the API's listener as is needed.
type listenerItem struct {
	reference
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Labels         resource.Labels `json:"labels"`
	Annotations    resource.Labels `json:"annotations"`
	Protocol       string          `json:"protocol"`
	Port           int             `json:"port"`
	TargetGroup    reference       `json:"targetGroup"`
	MaxConnections uint32          `json:"maxConnections"`
	IdleTimeout    uint32          `json:"connectionIdleTimeout"`
	AllowedSources []string        `json:"allowedSources"`
}

// groupItem is as much of the API's target group as is needed. Of an attached machine that is its identity: the API
// shows all of it, in every group.
type groupItem struct {
	reference
	Name           string                `json:"name"`
	Description    string                `json:"description"`
	Labels         resource.Labels       `json:"labels"`
	Annotations    resource.Labels       `json:"annotations"`
	VPC            reference             `json:"vpc"`
	Protocol       string                `json:"protocol"`
	Port           int                   `json:"targetPort"`
	Policy         string                `json:"loadbalancingPolicy"`
	ProxyProtocol  bool                  `json:"enableProxyProtocol"`
	HealthCheck    *resource.HealthCheck `json:"healthCheck"`
	TargetSelector map[string]string     `json:"targetSelector"`
	Listeners      []reference           `json:"loadbalancerListeners"`
	Attachments    []struct {
		Machine reference `json:"virtualMachineInstance"`
	} `json:"loadbalancerTargetGroupAttachments"`
}

func (lb balancerItem) object() resource.LoadBalancer {
	balancer := resource.LoadBalancer{
		ID: lb.Identity, Name: lb.Name, Description: lb.Description,
		Labels: lb.Labels, Annotations: lb.Annotations,
		Status: lb.Status, CreatedAt: lb.CreatedAt,
		ExternalAddresses: addresses(lb.ExternalAddresses), InternalAddresses: addresses(lb.InternalAddresses),
		Hostname:         lb.Hostname,
		DeleteProtection: lb.DeleteProtection, InstanceSize: lb.InstanceSize,
		Subnet: cmp.Or(lb.Subnet, lb.SubnetObject.Identity), ReservedIP: cmp.Or(lb.ReservedIP,
			lb.ReservedIPObject.Identity),
	}
	for _, group := range lb.SecurityGroups {
		balancer.SecurityGroups = append(balancer.SecurityGroups, group.Identity)
	}
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
	return resource.Listener{
		ID: l.Identity, Name: l.Name, Description: l.Description, Labels: l.Labels, Annotations: l.Annotations,
		Protocol: l.Protocol, Port: l.Port, AllowedSources: l.AllowedSources, TargetGroup: l.TargetGroup.Identity,
		MaxConnections: l.MaxConnections, IdleTimeout: l.IdleTimeout,
	}
}

func (g groupItem) object() resource.TargetGroup {
	group := resource.TargetGroup{
		ID: g.Identity, Name: g.Name, Description: g.Description, Labels: g.Labels, Annotations: g.Annotations,
		Protocol: g.Protocol, Port: g.Port, Policy: g.Policy,
		ProxyProtocol: g.ProxyProtocol, HealthCheck: g.HealthCheck, TargetSelector: g.TargetSelector,
	}
	group.Machines = slices.Grow(group.Machines, len(g.Attachments))
	for _, attachment := range g.Attachments {
		if id := attachment.Machine.Identity; id != "" {
			group.Machines = append(group.Machines, id)
		}
	}
	slices.Sort(group.Machines)
	for _, listener := range g.Listeners {
		group.Listeners = append(group.Listeners, listener.Identity)
	}
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
