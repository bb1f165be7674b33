package wire

// RouteTable says where the traffic of its subnets goes.
type RouteTable struct {
	Meta
	Organisation      *Organisation `json:"organisation,omitempty"`
	VPC               *VPC          `json:"vpc"`
	Routes            []RouteEntry  `json:"routes,omitempty"`
	IsDefault         bool          `json:"isDefault"`
	AssociatedSubnets []Subnet      `json:"associatedSubnets"`
}

// RouteEntry is a route: a destination and one target.
type RouteEntry struct {
	Identity             string      `json:"identity"`
	RouteTable           *RouteTable `json:"routeTable,omitempty"`
	DestinationCIDRBlock string      `json:"destinationCidrBlock"`
	// TargetNATGateway and its identity are set for routes to a NAT gateway, the
	// next for those to another VPC, GatewayAddress for those to an address.
	TargetNATGatewayIdentity     string      `json:"targetNatGatewayIdentity,omitempty"`
	TargetNATGateway             *NATGateway `json:"targetNatGateway,omitempty"`
	TargetVPCPeeringConnectionID string      `json:"targetVpcPeeringConnectionId,omitempty"`
	GatewayAddress               string      `json:"gatewayAddress,omitempty"`
	// Type names the kind of target: natGateway, vpcPeering or gatewayAddress.
	Type string `json:"type"`
}

// RouteTableInput is the body of POST and PUT on route tables. VPCIdentity is
// read by POST only.
type RouteTableInput struct {
	MetaInput
	VPCIdentity string `json:"vpcIdentity"`
}

// RouteInput is the body of POST and PUT on routes: one target is set.
type RouteInput struct {
	DestinationCIDRBlock         string `json:"destinationCidrBlock"`
	TargetGatewayIdentity        string `json:"targetGatewayIdentity"`
	TargetNATGatewayIdentity     string `json:"targetNatGatewayIdentity"`
	TargetVPCPeeringConnectionID string `json:"targetVpcPeeringConnectionId"`
	GatewayAddress               string `json:"gatewayAddress"`
}

// RouteBatch is the body of PUT .../routes: all routes of the table from now on.
type RouteBatch struct {
	Routes []RouteInput `json:"routes"`
}
