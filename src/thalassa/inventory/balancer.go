package inventory

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// Labels are what the cloud stores about an object for its owner: key -> value.
type Labels = map[string]string

// LoadBalancer is a load balancer with its listeners. Besides what we decide about, it holds what an update must repeat,
// because the API replaces an object as a whole.
type LoadBalancer struct {
	ID, Name, Description string
	Labels, Annotations   Labels
	Status                string // "creating", "ready", "deleting", …
	CreatedAt             time.Time
	ExternalAddresses     []string
	InternalAddresses     []string
	Hostname              string
	DeleteProtection      bool
	SecurityGroups        []string // identities
	Listeners             []Listener
}

// Deleting says that the deletion has been accepted and is under way.
func (lb LoadBalancer) Deleting() bool { return strings.EqualFold(lb.Status, StatusDeleting) }

// gone says that the load balancer is deleted, although the cloud still shows it for a while.
func (lb LoadBalancer) gone() bool { return strings.EqualFold(lb.Status, "deleted") }

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

// TargetGroup is a set of machines that answer on one port.
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
}

func loadBalancerOf(lb iaas.VpcLoadbalancer) LoadBalancer {
	balancer := LoadBalancer{
		ID: lb.Identity, Name: lb.Name, Description: lb.Description,
		Labels: lb.Labels, Annotations: lb.Annotations,
		Status: lb.Status, CreatedAt: lb.CreatedAt,
		ExternalAddresses: addresses(lb.ExternalIpAddresses), InternalAddresses: addresses(lb.InternalIpAddresses), Hostname: lb.Hostname,
		DeleteProtection: lb.DeleteProtection,
	}
	for _, group := range lb.SecurityGroups {
		balancer.SecurityGroups = append(balancer.SecurityGroups, group.Identity)
	}
	for _, listener := range lb.LoadbalancerListeners {
		balancer.Listeners = append(balancer.Listeners, listenerOf(listener))
	}
	return balancer
}

// addresses leaves out empty ones, and sorts: another order is no change.
func addresses(listed []string) []string {
	found := slices.DeleteFunc(slices.Clone(listed), func(address string) bool { return address == "" })
	slices.Sort(found)
	return found
}

func listenerOf(l iaas.VpcLoadbalancerListener) Listener {
	listener := Listener{
		ID: l.Identity, Name: l.Name, Description: l.Description, Labels: l.Labels, Annotations: l.Annotations,
		Protocol: string(l.Protocol), Port: l.Port, AllowedSources: l.AllowedSources,
		MaxConnections: value(l.MaxConnections), IdleTimeout: value(l.ConnectionIdleTimeout),
	}
	if l.TargetGroup != nil {
		listener.TargetGroup = l.TargetGroup.Identity
	}
	return listener
}

func targetGroupOf(g iaas.VpcLoadbalancerTargetGroup) TargetGroup {
	group := TargetGroup{
		ID: g.Identity, Name: g.Name, Description: g.Description, Labels: g.Labels, Annotations: g.Annotations,
		Protocol: string(g.Protocol), Port: g.TargetPort, Policy: string(value(g.LoadbalancingPolicy)),
		ProxyProtocol: value(g.EnableProxyProtocol), HealthCheck: g.HealthCheck, TargetSelector: g.TargetSelector,
	}
	for _, attachment := range g.LoadbalancerTargetGroupAttachments {
		if attachment.VirtualMachineInstance != nil {
			group.Machines = append(group.Machines, attachment.VirtualMachineInstance.Identity)
		}
	}
	slices.Sort(group.Machines)
	return group
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

// HasLabels says whether all of wanted are among labels.
func HasLabels(labels, wanted Labels) bool {
	for key := range maps.Keys(wanted) {
		if labels[key] != wanted[key] {
			return false
		}
	}
	return true
}

func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
