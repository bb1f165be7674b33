package wire

import (
	"encoding/json"
	"time"
)

// Meta is what almost every object of the API carries.
type Meta struct {
	Identity      string            `json:"identity"`
	Name          string            `json:"name"`
	Slug          string            `json:"slug"`
	Description   string            `json:"description"`
	CreatedAt     time.Time         `json:"createdAt"`
	UpdatedAt     time.Time         `json:"updatedAt"`
	ObjectVersion int               `json:"objectVersion"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

// Error is the body of every response with a status of 400 and above, except
// those of the token endpoint.
type Error struct {
	Message string `json:"message"`
}

// TokenError is the body of a refused token request (RFC 6749, section 5.2).
type TokenError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// Token is the answer to an accepted token request.
type Token struct {
	AccessToken string `json:"access_token"`
	Type        string `json:"token_type"`
	// ExpiresIn is the remaining life in whole seconds.
	ExpiresIn int `json:"expires_in"`
	// Scope is a space-separated list, absent when nothing is limited.
	Scope string `json:"scope,omitempty"`
	// IssuedType is there after a token exchange (RFC 8693).
	IssuedType string `json:"issued_token_type,omitempty"`
}

// Organisation is the owner of every other object.
type Organisation struct {
	Meta
}

// Membership says that a user belongs to an organisation.
type Membership struct {
	Identity     string        `json:"identity"`
	CreatedAt    time.Time     `json:"createdAt"`
	Organisation *Organisation `json:"organisation,omitempty"`
	User         *User         `json:"user,omitempty"`
	// Role is OWNER or MEMBER.
	Role string `json:"role"`
}

// User is the person or service behind a set of credentials.
type User struct {
	Subject   string    `json:"subject"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
}

// Region is a place with one or more zones.
type Region struct {
	Meta
	Zones []Zone `json:"zones"`
}

// Zone is a failure domain in a region. Nodes name it by its slug.
type Zone struct {
	Meta
	CloudRegionIdentity string `json:"cloudRegionIdentity"`
	// CloudRegion starts with a capital letter on the wire.
	CloudRegion *Region `json:"CloudRegion"`
}

// VPC is a private network with one or more address ranges.
type VPC struct {
	Meta
	Status       string        `json:"status"`
	CIDRs        []string      `json:"cidrs"`
	Organisation *Organisation `json:"organisation"`
	CloudRegion  *Region       `json:"cloudRegion"`
	Subnets      []Subnet      `json:"subnets"`
	// FirewallRules are those of the VPC: FirewallRule without its nested objects.
	FirewallRules []any `json:"firewallRules"`

	RouteTable *RouteTable `json:"routeTable,omitempty"`
}

// Subnet is a part of a VPC that machines and load balancers live in.
type Subnet struct {
	Meta
	// Type is IPv4, IPv6 or Dual.
	Type        string `json:"type"`
	VPCIdentity string `json:"vpcIdentity"`
	VPC         *VPC   `json:"vpc"`
	// CIDR is one prefix, or two separated by a comma when Type is Dual.
	CIDR           string `json:"cidr"`
	Status         string `json:"status"`
	V4UsingIPs     int    `json:"v4usingIPs"`
	V4AvailableIPs int    `json:"v4availableIPs"`
	V6UsingIPs     int    `json:"v6usingIPs"`
	V6AvailableIPs int    `json:"v6availableIPs"`

	RouteTable *RouteTable `json:"routeTable,omitempty"`
}

// Nullable is a field that distinguishes null from being left out.
type Nullable[T any] struct {
	// Value is nil when the field is null, and when it was left out.
	Value *T
	sent  bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Nullable[T]) UnmarshalJSON(content []byte) error {
	n.sent = true
	return json.Unmarshal(content, &n.Value)
}

// Null says that the field was there and was null.
func (n Nullable[T]) Null() bool { return n.sent && n.Value == nil }
