package wire

// SecurityGroup is a set of traffic rules that machines, load balancers and NAT
// gateways of one VPC can be attached to.
type SecurityGroup struct {
	Meta
	Organisation *Organisation `json:"organisation,omitempty"`
	VPC          *VPC          `json:"vpc,omitempty"`
	// Status is provisioning, active, deleting or deleted.
	Status                string              `json:"status,omitempty"`
	AllowSameGroupTraffic bool                `json:"allowSameGroupTraffic"`
	IngressRules          []SecurityGroupRule `json:"ingressRules"`
	EgressRules           []SecurityGroupRule `json:"egressRules"`
}

// SecurityGroupRule allows or drops traffic from or to a remote side.
type SecurityGroupRule struct {
	Name string `json:"name"`
	// IPVersion is ipv4 or ipv6.
	IPVersion string `json:"ipVersion"`
	// Protocol is all, tcp, udp or icmp.
	Protocol string `json:"protocol"`
	Priority int32  `json:"priority"`
	// RemoteType says which of the two remote sides counts: address or
	// securityGroup.
	RemoteType string `json:"remoteType"`
	// RemoteAddress is a CIDR or an address.
	RemoteAddress               *string `json:"remoteAddress"`
	RemoteSecurityGroupIdentity *string `json:"remoteSecurityGroupIdentity"`
	PortRangeMin                int32   `json:"portRangeMin"`
	PortRangeMax                int32   `json:"portRangeMax"`
	// Policy is allow or drop.
	Policy string `json:"policy"`
}

// SecurityGroupInput is the body of POST and PUT on security groups. POST reads
// the VPC, PUT the version and whether the rules stay as they are.
type SecurityGroupInput struct {
	MetaInput
	VPCIdentity           string              `json:"vpcIdentity"`
	ObjectVersion         *int                `json:"objectVersion"`
	AllowSameGroupTraffic *bool               `json:"allowSameGroupTraffic"`
	IngressRules          []SecurityGroupRule `json:"ingressRules"`
	EgressRules           []SecurityGroupRule `json:"egressRules"`
	SkipRulesUpdate       bool                `json:"skipRulesUpdate"`
}

// RuleBatch is the body of PUT on ingress-rules/batch and egress-rules/batch:
// all rules of that direction from now on.
type RuleBatch struct {
	Rules []SecurityGroupRule `json:"rules"`
}
