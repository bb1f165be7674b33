package resource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// LoadBalancer is a load balancer with its listeners. It contains all values that an update must repeat, because the
// API replaces an object as a whole.
type LoadBalancer struct {
	ID                string     `json:"identity"`
	Name              string     `json:"name"`
	Description       string     `json:"description"`
	Labels            Labels     `json:"labels"`
	Annotations       Labels     `json:"annotations"`
	Status            string     `json:"status"` // "creating", "ready", "deleting", …
	CreatedAt         time.Time  `json:"createdAt"`
	ExternalAddresses []string   `json:"externalIpAddresses"`
	InternalAddresses []string   `json:"internalIpAddresses"`
	Hostname          string     `json:"hostname"`
	DeleteProtection  bool       `json:"deleteProtection"`
	Subnet            string     `json:"subnetIdentity"`              // "" if the cloud does not return it
	ReservedIP        string     `json:"reservedIpIdentity"`          // "": none
	InstanceSize      string     `json:"instanceSize"`                // "": the cloud's default, or not returned
	SecurityGroups    []string   `json:"securityGroups" change:"set"` // identities, sorted; the API has objects
	Listeners         []Listener `json:"loadbalancerListeners"`
}

// Deleting reports whether the cloud has accepted the deletion and has not completed it.
func (lb LoadBalancer) Deleting() bool { return strings.EqualFold(lb.Status, StatusDeleting) }

// Addresses returns all addresses of the load balancer, including its hostname, in their canonical spelling.
func (lb LoadBalancer) Addresses() []string {
	all := slices.Concat(lb.ExternalAddresses, lb.InternalAddresses)
	if lb.Hostname != "" {
		all = append(all, lb.Hostname)
	}
	for i, address := range all {
		all[i] = cloud.CanonicalAddress(address)
	}
	return all
}

// NewLoadBalancer is a load balancer to create, with its listeners.
type NewLoadBalancer struct {
	LoadBalancer
	Internal bool // without a public address
}

// Listener is one port of a load balancer.
type Listener struct {
	ID             string   `json:"identity,omitempty"`
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	Labels         Labels   `json:"labels,omitzero"`
	Annotations    Labels   `json:"annotations,omitzero"`
	Protocol       string   `json:"protocol"` // "tcp" or "udp"
	Port           int      `json:"port"`
	TargetGroup    string   `json:"targetGroup"`                     // identity; the API returns an object
	MaxConnections uint32   `json:"maxConnections,omitempty"`        // 0: the cloud's default
	IdleTimeout    uint32   `json:"connectionIdleTimeout,omitempty"` // seconds; 0: the cloud's default
	AllowedSources []string `json:"allowedSources,omitzero"`
}

// TargetGroup is a set of machines that receive traffic on one port.
type TargetGroup struct {
	ID             string            `json:"identity,omitempty"`
	Name           string            `json:"name"`
	Description    string            `json:"description"`
	Labels         Labels            `json:"labels"`
	Annotations    Labels            `json:"annotations"`
	Protocol       string            `json:"protocol"`   // "tcp" or "udp"
	Port           int               `json:"targetPort"` // on the machines
	Policy         string            `json:"loadbalancingPolicy,omitempty"`
	ProxyProtocol  bool              `json:"enableProxyProtocol"`
	HealthCheck    *HealthCheck      `json:"healthCheck,omitempty"`
	TargetSelector map[string]string `json:"targetSelector,omitzero"`
	// Machines are the identities of the attached machines, sorted. Listeners are those of the listeners that use it,
	// as the cloud returns them. The API has objects.
	Machines  []string `json:"loadbalancerTargetGroupAttachments,omitzero"`
	Listeners []string `json:"loadbalancerListeners,omitzero"`
}

// Policies by which a target group distributes connections over its machines, as the API names them.
const (
	PolicyRoundRobin = "ROUND_ROBIN"
	PolicyRandom     = "RANDOM"
	PolicyMaglev     = "MAGLEV"
)

// Protocols of listeners, target groups and health checks, as the API names them.
const (
	ProtocolTCP   = "tcp"
	ProtocolUDP   = "udp"
	ProtocolHTTP  = "http"
	ProtocolHTTPS = "https"
)

// HealthCheck is how a load balancer checks the machines of a target group, as the API reads and returns it.
type HealthCheck struct {
	Protocol           string `json:"protocol"` // "tcp", "udp", "http" or "https"
	Port               int32  `json:"port"`
	Path               string `json:"path"` // of requests with HTTP
	PeriodSeconds      int    `json:"periodSeconds"`
	TimeoutSeconds     int    `json:"timeoutSeconds"`
	UnhealthyThreshold int32  `json:"unhealthyThreshold"` // failures in a row
	HealthyThreshold   int32  `json:"healthyThreshold"`   // successes in a row
}

// String describes the health check; that of nil is "none".
func (h *HealthCheck) String() string {
	if h == nil {
		return "none"
	}
	return fmt.Sprintf("%s :%d%s every %ds, timeout %ds, %d good, %d bad",
		h.Protocol, h.Port, h.Path, h.PeriodSeconds, h.TimeoutSeconds, h.HealthyThreshold, h.UnhealthyThreshold)
}
