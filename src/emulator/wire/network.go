package wire

// MetaInput is what the bodies of POST and PUT say about the meta data.
type MetaInput struct {
	Name        *string           `json:"name"`
	Description *string           `json:"description"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// VPCInput is the body of POST and PUT on VPCs. The region is read by POST only.
type VPCInput struct {
	MetaInput
	CloudRegionIdentity string   `json:"cloudRegionIdentity"`
	VPCCIDRs            []string `json:"vpcCidrs"`
}

// SubnetInput is the body of POST and PUT on subnets. VPC and CIDR are read by
// POST only.
type SubnetInput struct {
	MetaInput
	VPCIdentity string `json:"vpcIdentity"`
	// CIDR is one prefix, or one of each address family, separated by a comma.
	CIDR                         string  `json:"cidr"`
	AssociatedRouteTableIdentity *string `json:"associatedRouteTableIdentity"`
}
