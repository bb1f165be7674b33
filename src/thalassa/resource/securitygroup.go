package resource

import "strings"

// SecurityGroup is a set of rules that is attached to load balancers and machines.
type SecurityGroup struct {
	ID, Name, Slug, Description string
	Labels, Annotations         Labels
	Version                     int    // on which an update is based
	Status                      string // "provisioning", "active", "ready", "deleting", …
	SameGroupTraffic            bool   // members reach each other
	Ingress, Egress             []Rule
}

// Deleting reports whether the cloud has accepted the deletion and has not completed it.
func (g SecurityGroup) Deleting() bool { return strings.EqualFold(g.Status, StatusDeleting) }

// Rule allows or drops traffic from (ingress) or to (egress) a remote side. Rules can be compared with ==.
type Rule struct {
	Name          string
	IPVersion     string // "ipv4" or "ipv6"
	Protocol      string // "all", "tcp", "udp" or "icmp"
	Priority      int32  // 1 to 199
	RemoteType    string // "address" or "securityGroup": which of the two remote sides counts
	RemoteAddress string // a prefix or an address; "": none
	RemoteGroup   string // identity; "": none
	PortMin       int32
	PortMax       int32
	Policy        string // "allow" or "drop"
}
