package seed

import "net/netip"

// RouteTable is a route table of a VPC.
type RouteTable struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Default makes it the table of subnets that name none. A VPC without such
	// a table gets an empty one.
	Default bool    `yaml:"default"`
	Routes  []Route `yaml:"routes"`
}

// Route is a route to an address in the VPC.
type Route struct {
	Destination    netip.Prefix `yaml:"destination"`
	GatewayAddress netip.Addr   `yaml:"gatewayAddress"`
}

// SecurityGroup is a security group of a VPC.
type SecurityGroup struct {
	Identity         string            `yaml:"identity"`
	Name             string            `yaml:"name"`
	Labels           map[string]string `yaml:"labels"`
	SameGroupTraffic bool              `yaml:"allowSameGroupTraffic"`
	Ingress          []Rule            `yaml:"ingress"`
	Egress           []Rule            `yaml:"egress"`
}

// Rule is a rule of a security group that allows traffic.
type Rule struct {
	Name string `yaml:"name"`
	// Protocol is all, tcp, udp or icmp.
	Protocol string `yaml:"protocol"`
	// Priority is 1 to 199.
	Priority int32 `yaml:"priority"`
	// Remote is where the traffic may come from or go to.
	Remote netip.Prefix `yaml:"remote"`
	// Ports is the first and the last port.
	Ports [2]int32 `yaml:"ports"`
}

// ReservedIP is a reserved IP that is attached to nothing.
type ReservedIP struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Region is a region's name.
	Region string `yaml:"region"`
	// Addresses are public addresses of the region; they are taken from it when
	// empty.
	Addresses []netip.Addr `yaml:"addresses"`
}
