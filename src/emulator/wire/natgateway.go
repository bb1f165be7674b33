package wire

// NATGateway lets machines without a public address reach the outside.
type NATGateway struct {
	Meta
	// Status is creating, ready, deleting or deleted.
	Status         string        `json:"status"`
	Organisation   *Organisation `json:"organisation"`
	VPCIdentity    string        `json:"vpcIdentity"`
	VPC            *VPC          `json:"vpc"`
	SubnetIdentity string        `json:"subnetIdentity"`
	Subnet         *Subnet       `json:"subnet"`
	// EndpointIP is empty until the gateway can be used; V4IP and V6IP are its
	// public addresses of either family.
	EndpointIP     string          `json:"endpointIP"`
	V4IP           string          `json:"v4IP"`
	V6IP           string          `json:"v6IP"`
	ReservedIPID   string          `json:"reservedIpId,omitempty"`
	ReservedIP     *ReservedIP     `json:"reservedIp,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups"`
	InstanceSize   string          `json:"instanceSize,omitempty"`
}

// NATGatewayInput is the body of POST and PUT on NAT gateways. POST reads the
// subnet and ConfigureDefaultRoute.
type NATGatewayInput struct {
	MetaInput
	SubnetIdentity           string   `json:"subnetIdentity"`
	ConfigureDefaultRoute    bool     `json:"configureDefaultRoute"`
	SecurityGroupAttachments []string `json:"securityGroupAttachments"`
	ReservedIPID             *string  `json:"reservedIpId"`
	InstanceSize             *string  `json:"instanceSize"`
}
