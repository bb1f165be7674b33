package traffic

import "net/netip"

// Network is what there is besides the traffic of load balancers: machines and
// their disks, the addresses of load balancers, routes, and who may talk to whom. A description is
// complete: what it does not mention, is gone.
type Network struct {
	VPCs      []VPC
	Volumes   []Volume
	Snapshots []Snapshot
}

// Volume is a disk.
type Volume struct {
	Identity string
	// Size is in bytes.
	Size int64
	// Snapshot is the identity of what a new volume is a copy of; empty for an
	// empty volume.
	Snapshot string
	// Machine is the identity of the machine that has the disk now, or empty.
	Machine string
}

// Snapshot is a copy of a volume, made when it is first described.
type Snapshot struct {
	Identity, Volume string
	// Size is in bytes.
	Size int64
}

// VPC is a network of its own.
type VPC struct {
	Identity string
	Name     string
	Ranges   []netip.Prefix
	// Routes are those of the default route table: they hold for what comes from
	// outside of all subnets.
	Routes         []Route
	Subnets        []Subnet
	Machines       []Machine
	LoadBalancers  []Endpoint
	SecurityGroups []SecurityGroup
}

// Subnet is a part of a VPC.
type Subnet struct {
	Identity string
	// Ranges are one prefix, or one of each address family. The first address of
	// each is the gateway's.
	Ranges []netip.Prefix
	// Routes are those of the subnet's route table: they hold for what machines
	// and load balancers of the subnet send.
	Routes []Route
}

// Gateways are the addresses at which the subnet's machines find their router.
func (s Subnet) Gateways() []netip.Addr {
	var out []netip.Addr
	for _, r := range s.Ranges {
		out = append(out, r.Masked().Addr().Next())
	}
	return out
}

// Route sends what is for a destination to an address of the VPC.
type Route struct {
	Destination netip.Prefix
	Gateway     netip.Addr
}

// Machine is a machine that is there, running or not.
type Machine struct {
	Identity string
	// Name is the machine's slug, which is unique in its organisation or project.
	Name string
	// Subnet is an identity.
	Subnet string
	// MAC is the hardware address of the only interface; empty, like Addresses,
	// when the machine lost it.
	MAC       string
	Addresses []netip.Addr
	Running   bool
	// Boots counts how often the machine was switched on or restarted.
	Boots int
	// SecurityGroups are identities. None means that nothing is filtered.
	SecurityGroups []string
}

// Endpoint is where a load balancer that is ready is in the network.
type Endpoint struct {
	Identity  string
	Subnet    string
	Addresses []netip.Addr
	// SecurityGroups are identities. None means that nothing is filtered.
	SecurityGroups []string
}

// SecurityGroup says what its members may send and receive. What no rule allows
// is dropped; answers to what was allowed always pass.
type SecurityGroup struct {
	Identity string
	// SameGroupTraffic lets its members talk to each other.
	SameGroupTraffic bool
	Ingress, Egress  []Rule
}

// Rule allows or drops traffic. Of the rules of all groups of a member, the
// first that matches decides, in the order of their priorities.
type Rule struct {
	Drop bool
	// Priority is 1 (first) to 199.
	Priority int
	// IPv6 rules hold for IPv6 only, others for IPv4 only.
	IPv6 bool
	// Protocol is all, tcp, udp or icmp.
	Protocol string
	// FirstPort and LastPort are the destination ports; 0 and 0 mean all. For
	// icmp, 1 and 1 mean echo requests and everything else means all messages.
	FirstPort, LastPort uint16
	// Remote is the other side, unless RemoteGroup is the identity of the group
	// that it is a member of.
	Remote      netip.Prefix
	RemoteGroup string
}
