package wire

import "time"

// CloudInit is a cloud-init template. Its timestamp has a key of its own style.
type CloudInit struct {
	Identity    string            `json:"identity"`
	Name        string            `json:"name"`
	Slug        string            `json:"slug"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	CreatedAt   time.Time         `json:"created_at"`
	Content     string            `json:"content"`
}

// CloudInitInput is the body of POST and PUT on cloud-init templates.
type CloudInitInput struct {
	Name        *string           `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Content     *string           `json:"content"`
}

// FirewallRule is a rule of a VPC's firewall.
type FirewallRule struct {
	Identity     string        `json:"identity"`
	Name         string        `json:"name"`
	Organisation *Organisation `json:"organisation,omitempty"`
	VPC          *VPC          `json:"vpc,omitempty"`
	CreatedAt    time.Time     `json:"createdAt"`
	FirewallMatch
	Interface         *Subnet `json:"interface,omitempty"`
	SourceSubnet      *Subnet `json:"sourceSubnet,omitempty"`
	DestinationSubnet *Subnet `json:"destinationSubnet,omitempty"`
}

// FirewallMatch is what a rule matches, and what becomes of it.
type FirewallMatch struct {
	Protocols FirewallProtocols `json:"protocols"`
	// Direction is inbound or outbound.
	Direction string `json:"direction"`
	// Source and Destination are CIDRs; null is anywhere.
	Source           *string `json:"source"`
	Destination      *string `json:"destination"`
	SourcePorts      []int32 `json:"sourcePorts"`
	DestinationPorts []int32 `json:"destinationPorts"`
	// Action is allow or drop.
	Action   string `json:"action"`
	Priority int32  `json:"priority"`
	// State is active, inactive or deleted.
	State string `json:"state"`
}

// FirewallProtocols are the protocols that a rule matches.
type FirewallProtocols struct {
	TCP  bool `json:"tcp"`
	UDP  bool `json:"udp"`
	ICMP bool `json:"icmp"`
	Any  bool `json:"any"`
}

// FirewallRuleInput is the body of POST and PUT on rules, and an element of
// FirewallRuleBatch, where Identity names the rule.
type FirewallRuleInput struct {
	Identity                  string             `json:"identity"`
	Name                      *string            `json:"name"`
	Protocols                 *FirewallProtocols `json:"protocols"`
	Direction                 *string            `json:"direction"`
	Source                    *string            `json:"source"`
	Destination               *string            `json:"destination"`
	SourcePorts               []int32            `json:"sourcePorts"`
	DestinationPorts          []int32            `json:"destinationPorts"`
	Action                    *string            `json:"action"`
	Priority                  *int32             `json:"priority"`
	State                     *string            `json:"state"`
	InterfaceIdentity         *string            `json:"interfaceIdentity"`
	SourceSubnetIdentity      *string            `json:"sourceSubnetIdentity"`
	DestinationSubnetIdentity *string            `json:"destinationSubnetIdentity"`
}

// FirewallRuleBatch is the body of PUT on a VPC's rules.
type FirewallRuleBatch struct {
	FirewallRules []FirewallRuleInput `json:"firewallRules"`
}

// Peering is a connection of two VPCs.
type Peering struct {
	Meta
	RequesterVPC          *NamedReference `json:"requesterVpc,omitempty"`
	AccepterVPC           *NamedReference `json:"accepterVpc,omitempty"`
	RequesterOrganisation *NamedReference `json:"requesterOrganisation,omitempty"`
	AccepterOrganisation  *NamedReference `json:"accepterOrganisation,omitempty"`
	// Status is pending, active or rejected.
	Status        string        `json:"status"`
	StatusMessage *string       `json:"statusMessage,omitempty"`
	ExpiresAt     *time.Time    `json:"expiresAt,omitempty"`
	Organisation  *Organisation `json:"organisation,omitempty"`
}

// NamedReference names an object.
type NamedReference struct {
	Identity string `json:"identity,omitempty"`
	Name     string `json:"name,omitempty"`
}

// PeeringInput is the body of POST and PUT on peerings; PUT reads what describes
// the connection only.
type PeeringInput struct {
	MetaInput
	RequesterVPCIdentity         string `json:"requesterVpcIdentity"`
	AccepterVPCIdentity          string `json:"accepterVpcIdentity"`
	AccepterOrganisationIdentity string `json:"accepterOrganisationIdentity"`
	AutoAccept                   bool   `json:"autoAccept"`
}

// PeeringRejection is the body of POST .../reject.
type PeeringRejection struct {
	Reason string `json:"reason"`
}

// Filesystem is an NFS file system.
type Filesystem struct {
	Meta
	Region         *Region         `json:"region,omitempty"`
	Organisation   *Organisation   `json:"organisation,omitempty"`
	VPC            *VPC            `json:"vpc,omitempty"`
	Subnet         *Subnet         `json:"subnet,omitempty"`
	Endpoints      []Endpoint      `json:"endpoints,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// Size is in GB.
	Size             int  `json:"size"`
	DeleteProtection bool `json:"deleteProtection"`
	// Status is Available, with a capital letter.
	Status              string     `json:"status"`
	LastStatusChangedAt *time.Time `json:"lastStatusChangedAt,omitempty"`
}

// Endpoint is an address of a service in a subnet.
type Endpoint struct {
	Identity            string            `json:"identity"`
	Name                string            `json:"name"`
	Labels              map[string]string `json:"labels,omitempty"`
	CreatedAt           time.Time         `json:"createdAt"`
	EndpointAddress     string            `json:"endpointAddress,omitempty"`
	EndpointAddressType string            `json:"endpointAddressType,omitempty"`
	EndpointType        string            `json:"endpointType,omitempty"`
	ResourceType        string            `json:"resourceType"`
	ResourceIdentity    string            `json:"resourceIdentity"`
}

// FilesystemInput is the body of POST and PUT on file systems; PUT ignores where
// they are.
type FilesystemInput struct {
	MetaInput
	CloudRegionIdentity      string   `json:"cloudRegionIdentity"`
	VPCIdentity              string   `json:"vpcIdentity"`
	SubnetIdentity           string   `json:"subnetIdentity"`
	Size                     *int     `json:"size"`
	SecurityGroupAttachments []string `json:"securityGroupAttachments"`
	DeleteProtection         *bool    `json:"deleteProtection"`
}
