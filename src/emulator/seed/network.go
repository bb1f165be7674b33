package seed

import (
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// RouteTable is a route table of a VPC.
type RouteTable struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// Default makes it the table of subnets that name none. A VPC without such
	// a table gets an empty one.
	Default bool    `yaml:"default,omitempty"`
	Routes  []Route `yaml:"routes,omitempty"`
	// Subnets are the identities of subnets that name the table, in the order in which they are listed here.
	Subnets []string `yaml:"subnets,omitempty"`

	Details `yaml:",inline"`
}

// Route is a route to an address in the VPC.
type Route struct {
	Destination    netip.Prefix `yaml:"destination"`
	GatewayAddress netip.Addr   `yaml:"gatewayAddress"`
	// NATGateway and Peering are identities; one of them may be there instead of the address.
	NATGateway string `yaml:"natGateway,omitempty"`
	Peering    string `yaml:"peering,omitempty"`
	// WithGateway: the route was made with its NAT gateway, and goes with it.
	WithGateway bool   `yaml:"withGateway,omitempty"`
	Identity    string `yaml:"identity,omitempty"`
}

// SecurityGroup is a security group of a VPC.
type SecurityGroup struct {
	Identity         string            `yaml:"identity,omitempty"`
	Name             string            `yaml:"name,omitempty"`
	Labels           map[string]string `yaml:"labels,omitempty"`
	SameGroupTraffic bool              `yaml:"allowSameGroupTraffic,omitempty"`
	Ingress          []Rule            `yaml:"ingress,omitempty"`
	Egress           []Rule            `yaml:"egress,omitempty"`
	// IngressRules and EgressRules are rules as the API has them, after those of Ingress and Egress.
	IngressRules JSON[[]wire.SecurityGroupRule] `yaml:"ingressRules,omitempty"`
	EgressRules  JSON[[]wire.SecurityGroupRule] `yaml:"egressRules,omitempty"`

	Details `yaml:",inline"`
	Life    `yaml:",inline"`
}

// Rule is a rule of a security group that allows traffic.
type Rule struct {
	Name string `yaml:"name,omitempty"`
	// Protocol is all, tcp, udp or icmp.
	Protocol string `yaml:"protocol,omitempty"`
	// Priority is 1 to 199.
	Priority int32 `yaml:"priority,omitempty"`
	// Remote is where the traffic may come from or go to.
	Remote netip.Prefix `yaml:"remote"`
	// Ports is the first and the last port.
	Ports [2]int32 `yaml:"ports,omitempty"`
}

// ReservedIP is a reserved IP. What it is attached to names it.
type ReservedIP struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// Region is a region's name.
	Region string `yaml:"region,omitempty"`
	// Addresses are public addresses of the region; they are taken from it when
	// empty.
	Addresses []netip.Addr `yaml:"addresses,omitempty"`

	Details `yaml:",inline"`
	Life    `yaml:",inline"`
}
