package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// Labels are labels or annotations of an object in the cloud: key -> value.
type Labels = map[string]string

// LoadBalancer is a load balancer with its listeners. It contains all values that an update must repeat, because the
// API replaces an object as a whole.
type LoadBalancer struct {
	ID, Name, Description string
	Labels, Annotations   Labels
	Status                string // "creating", "ready", "deleting", …
	CreatedAt             time.Time
	ExternalAddresses     []string
	InternalAddresses     []string
	Hostname              string
	DeleteProtection      bool
	Subnet                string   // identity; "" if the cloud does not return it
	ReservedIP            string   // identity; "": none
	InstanceSize          string   // "": the cloud's default, or not returned
	SecurityGroups        []string // identities, sorted
	Listeners             []Listener
}

// NewLoadBalancer is a load balancer to create, with its listeners.
type NewLoadBalancer struct {
	LoadBalancer
	Internal bool // without a public address
}

// Deleting reports whether the cloud has accepted the deletion and has not completed it.
func (lb LoadBalancer) Deleting() bool { return strings.EqualFold(lb.Status, StatusDeleting) }

// gone reports whether the load balancer is deleted, although the cloud still returns it for some time.
func (lb LoadBalancer) gone() bool { return strings.EqualFold(lb.Status, statusDeleted) }

// Listener is one port of a load balancer.
type Listener struct {
	ID, Name, Description string
	Labels, Annotations   Labels
	Protocol              string // "tcp" or "udp"
	Port                  int
	TargetGroup           string // identity
	MaxConnections        uint32 // 0: the cloud's default
	IdleTimeout           uint32 // seconds; 0: the cloud's default
	AllowedSources        []string
}

// TargetGroup is a set of machines that receive traffic on one port.
type TargetGroup struct {
	ID, Name, Description string
	Labels, Annotations   Labels
	Protocol              string // "tcp" or "udp"
	Port                  int    // on the machines
	Policy                string
	ProxyProtocol         bool
	HealthCheck           *iaas.BackendHealthCheck
	TargetSelector        map[string]string
	Machines              []string // identities of the attached machines, sorted
	Listeners             []string // identities of the listeners that use it, as the cloud returns them
}

// balancerItem is as much of the API's load balancer as is needed.
type balancerItem struct {
	Identity          string         `json:"identity"`
	Name              string         `json:"name"`
	Description       string         `json:"description"`
	Labels            Labels         `json:"labels"`
	Annotations       Labels         `json:"annotations"`
	Status            string         `json:"status"`
	CreatedAt         time.Time      `json:"createdAt"`
	VPC               reference      `json:"vpc"`
	ExternalAddresses []string       `json:"externalIpAddresses"`
	InternalAddresses []string       `json:"internalIpAddresses"`
	Hostname          string         `json:"hostname"`
	DeleteProtection  bool           `json:"deleteProtection"`
	Subnet            string         `json:"subnetIdentity"`
	SubnetObject      reference      `json:"subnet"`
	ReservedIP        string         `json:"reservedIpIdentity"`
	ReservedIPObject  reference      `json:"reservedIp"`
	InstanceSize      string         `json:"instanceSize"`
	SecurityGroups    []reference    `json:"securityGroups"`
	Listeners         []listenerItem `json:"loadbalancerListeners"`
}

// reference is an object within another one.
type reference struct {
	Identity string `json:"identity"`
}

// listenerItem is as much of the API's listener as is needed.
type listenerItem struct {
	Identity       string    `json:"identity"`
	Name           string    `json:"name"`
	Description    string    `json:"description"`
	Labels         Labels    `json:"labels"`
	Annotations    Labels    `json:"annotations"`
	Protocol       string    `json:"protocol"`
	Port           int       `json:"port"`
	TargetGroup    reference `json:"targetGroup"`
	MaxConnections uint32    `json:"maxConnections"`
	IdleTimeout    uint32    `json:"connectionIdleTimeout"`
	AllowedSources []string  `json:"allowedSources"`
}

// groupItem is as much of the API's target group as is needed. Of an attached machine that is its identity: the API
// shows all of it, in every group.
type groupItem struct {
	Identity       string                   `json:"identity"`
	Name           string                   `json:"name"`
	Description    string                   `json:"description"`
	Labels         Labels                   `json:"labels"`
	Annotations    Labels                   `json:"annotations"`
	VPC            reference                `json:"vpc"`
	Protocol       string                   `json:"protocol"`
	Port           int                      `json:"targetPort"`
	Policy         string                   `json:"loadbalancingPolicy"`
	ProxyProtocol  bool                     `json:"enableProxyProtocol"`
	HealthCheck    *iaas.BackendHealthCheck `json:"healthCheck"`
	TargetSelector map[string]string        `json:"targetSelector"`
	Listeners      []reference              `json:"loadbalancerListeners"`
	Attachments    []struct {
		Machine reference `json:"virtualMachineInstance"`
	} `json:"loadbalancerTargetGroupAttachments"`
}

func (lb balancerItem) identity() string { return lb.Identity }

func (g groupItem) identity() string { return g.Identity }

func (lb balancerItem) object() LoadBalancer {
	balancer := LoadBalancer{
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

func (l listenerItem) object() Listener {
	return Listener{
		ID: l.Identity, Name: l.Name, Description: l.Description, Labels: l.Labels, Annotations: l.Annotations,
		Protocol: l.Protocol, Port: l.Port, AllowedSources: l.AllowedSources, TargetGroup: l.TargetGroup.Identity,
		MaxConnections: l.MaxConnections, IdleTimeout: l.IdleTimeout,
	}
}

func (g groupItem) object() TargetGroup {
	group := TargetGroup{
		ID: g.Identity, Name: g.Name, Description: g.Description, Labels: g.Labels, Annotations: g.Annotations,
		Protocol: g.Protocol, Port: g.Port, Policy: g.Policy,
		ProxyProtocol: g.ProxyProtocol, HealthCheck: g.HealthCheck, TargetSelector: g.TargetSelector,
	}
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
func (lb LoadBalancer) updated(from, to LoadBalancer) LoadBalancer {
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
func (lb LoadBalancer) withListener(listener Listener) LoadBalancer {
	lb.Listeners = append(slices.Clone(lb.withoutListener(listener.ID).Listeners), listener)
	return lb
}

func (lb LoadBalancer) withoutListener(id string) LoadBalancer {
	lb.Listeners = slices.DeleteFunc(slices.Clone(lb.Listeners), func(l Listener) bool { return l.ID == id })
	return lb
}

// HasLabels reports whether labels contain all wanted labels.
func HasLabels(labels, wanted Labels) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}
