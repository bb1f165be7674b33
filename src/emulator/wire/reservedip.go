package wire

import "time"

// ReservedIP is a public address that outlives what it is attached to.
type ReservedIP struct {
	Identity    string            `json:"identity"`
	Name        string            `json:"name"`
	Slug        string            `json:"slug"`
	Description string            `json:"description"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   *time.Time        `json:"updatedAt,omitempty"`
	Region      *Region           `json:"region,omitempty"`
	// Status is creating, available, attached, deleting or deleted.
	Status      string `json:"status"`
	IPv4Address string `json:"ipv4Address,omitempty"`
	IPv6Address string `json:"ipv6Address,omitempty"`
	// AttachedToResourceType is cloud_vpc_loadbalancer or cloud_vpc_nat_gateway.
	AttachedToResourceType     string `json:"attachedToResourceType,omitempty"`
	AttachedToResourceIdentity string `json:"attachedToResourceIdentity,omitempty"`
}

// ReservedIPInput is the body of POST and PUT on reserved IPs. Region is read by
// POST only.
type ReservedIPInput struct {
	MetaInput
	Region string `json:"region"`
}

// AssociateReservedIP is the body of POST .../associate: exactly one is set.
type AssociateReservedIP struct {
	LoadbalancerIdentity string `json:"loadbalancerIdentity"`
	NATGatewayIdentity   string `json:"natGatewayIdentity"`
}
