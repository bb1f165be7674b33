package resource

import "strings"

// SecurityGroup is a set of rules that is attached to load balancers and machines.
type SecurityGroup struct {
	ID               string `json:"identity,omitempty"`
	Name             string `json:"name"`
	Slug             string `json:"slug,omitempty"`
	Description      string `json:"description"`
	Labels           Labels `json:"labels"`
	Annotations      Labels `json:"annotations"`
	Version          int    `json:"objectVersion"`         // on which an update is based
	Status           string `json:"status,omitempty"`      // "provisioning", "active", "ready", "deleting", …
	SameGroupTraffic bool   `json:"allowSameGroupTraffic"` // members reach each other
	Ingress          []Rule `json:"ingressRules"`
	Egress           []Rule `json:"egressRules"`
}

// Deleting reports whether the cloud has accepted the deletion and has not completed it.
func (g SecurityGroup) Deleting() bool { return strings.EqualFold(g.Status, StatusDeleting) }

// Rule allows or drops traffic from (ingress) or to (egress) a remote side. Rules can be compared with ==.
type Rule struct {
	Name          string `json:"name"`
	IPVersion     string `json:"ipVersion"`                   // "ipv4" or "ipv6"
	Protocol      string `json:"protocol"`                    // "all", "tcp", "udp" or "icmp"
	Priority      int32  `json:"priority"`                    // 1 to 199
	RemoteType    string `json:"remoteType"`                  // "address" or "securityGroup": which of the two counts
	RemoteAddress string `json:"remoteAddress"`               // a prefix or an address; "": none
	RemoteGroup   string `json:"remoteSecurityGroupIdentity"` // "": none
	PortMin       int32  `json:"portRangeMin"`
	PortMax       int32  `json:"portRangeMax"`
	Policy        string `json:"policy"` // "allow" or "drop"
}
