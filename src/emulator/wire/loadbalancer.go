package wire

// Loadbalancer is a layer 4 load balancer.
type Loadbalancer struct {
	Meta
	// Status is creating, ready, deleting or deleted.
	Status                string        `json:"status"`
	Organisation          *Organisation `json:"organisation"`
	VPCIdentity           string        `json:"vpcIdentity"`
	VPC                   *VPC          `json:"vpc"`
	SubnetIdentity        string        `json:"subnetIdentity"`
	Subnet                *Subnet       `json:"subnet"`
	ExternalIPAddresses   []string      `json:"externalIpAddresses"`
	InternalIPAddresses   []string      `json:"internalIpAddresses"`
	Hostname              string        `json:"hostname"`
	LoadbalancerListeners []Listener    `json:"loadbalancerListeners"`
	DeleteProtection      bool          `json:"deleteProtection"`
	InstanceSize          string        `json:"instanceSize,omitempty"`

	SecurityGroups     []SecurityGroup `json:"securityGroups"`
	ReservedIPIdentity string          `json:"reservedIpIdentity,omitempty"`
	ReservedIP         *ReservedIP     `json:"reservedIp,omitempty"`
}

// CreateLoadbalancer is the body of POST /v1/loadbalancers.
type CreateLoadbalancer struct {
	Name                     string            `json:"name"`
	Description              string            `json:"description"`
	Labels                   map[string]string `json:"labels"`
	Annotations              map[string]string `json:"annotations"`
	Subnet                   string            `json:"subnet"`
	InternalLoadbalancer     bool              `json:"internalLoadbalancer"`
	DeleteProtection         bool              `json:"deleteProtection"`
	Listeners                []ListenerInput   `json:"listeners"`
	SecurityGroupAttachments []string          `json:"securityGroupAttachments"`
	ReservedIPID             *string           `json:"reservedIpId"`
	InstanceSize             string            `json:"instanceSize"`
}

// UpdateLoadbalancer is the body of PUT /v1/loadbalancers/{id}.
type UpdateLoadbalancer struct {
	Name                     *string           `json:"name"`
	Description              *string           `json:"description"`
	Labels                   map[string]string `json:"labels"`
	Annotations              map[string]string `json:"annotations"`
	DeleteProtection         *bool             `json:"deleteProtection"`
	Subnet                   *string           `json:"subnet"`
	SecurityGroupAttachments []string          `json:"securityGroupAttachments"`
	ReservedIPID             *string           `json:"reservedIpId"`
	InstanceSize             *string           `json:"instanceSize"`
}

// Listener is a port of a load balancer.
type Listener struct {
	Meta
	Port        int          `json:"port"`
	Protocol    string       `json:"protocol"`
	TargetGroup *TargetGroup `json:"targetGroup"`
	// MaxConnections and ConnectionIdleTimeout (seconds) are absent when the
	// listener does not set them.
	MaxConnections        *uint32 `json:"maxConnections,omitempty"`
	ConnectionIdleTimeout *uint32 `json:"connectionIdleTimeout,omitempty"`
	// AllowedSources is empty when everybody may connect.
	AllowedSources []string `json:"allowedSources"`
}

// ListenerInput is the body of POST and PUT on listeners, and an element of
// CreateLoadbalancer.Listeners.
type ListenerInput struct {
	Name                  *string           `json:"name"`
	Description           *string           `json:"description"`
	Labels                map[string]string `json:"labels"`
	Annotations           map[string]string `json:"annotations"`
	Port                  *int              `json:"port"`
	Protocol              *string           `json:"protocol"`
	MaxConnections        *uint32           `json:"maxConnections"`
	ConnectionIdleTimeout *uint32           `json:"connectionIdleTimeout"`
	TargetGroup           *string           `json:"targetGroup"`
	AllowedSources        []string          `json:"allowedSources"`
}
