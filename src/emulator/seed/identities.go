package seed

import "time"

// Token is a personal access token with limited rights.
type Token struct {
	Token  string `yaml:"token,omitempty"`
	Scopes Scopes `yaml:"scopes,omitempty"`
}

// Scopes limit what credentials may do. Without any key there is no limit, and an empty list permits nothing.
type Scopes []string

// IsZero keeps an empty list in what is printed.
func (s Scopes) IsZero() bool { return s == nil }

// Client are OIDC client credentials.
type Client struct {
	ID     string `yaml:"id,omitempty"`
	Secret string `yaml:"secret,omitempty"`
	// Scopes limit what its tokens may do, e.g. api:read; none means no limit.
	Scopes Scopes `yaml:"scopes,omitempty"`
	// Project binds its tokens to a project, by identity or slug.
	Project string `yaml:"project,omitempty"`
}

// Member is a person in an organisation.
type Member struct {
	Identity string `yaml:"identity,omitempty"`
	// Subject is what requests name the person by; it is made up when empty.
	Subject string `yaml:"subject,omitempty"`
	Name    string `yaml:"name,omitempty"`
	Email   string `yaml:"email,omitempty"`
	// Role is OWNER or MEMBER; MEMBER when empty.
	Role string `yaml:"role,omitempty"`

	History `yaml:",inline"`
}

// Invite is an invitation to an organisation.
type Invite struct {
	Identity string `yaml:"identity,omitempty"`
	Email    string `yaml:"email,omitempty"`
	// Role is as in Member.
	Role string `yaml:"role,omitempty"`
	// Code is made up when empty.
	Code      string    `yaml:"code,omitempty"`
	CreatedAt time.Time `yaml:"createdAt,omitempty"`
}

// Team is a group of members.
type Team struct {
	Object  `yaml:",inline"`
	Members []TeamMember `yaml:"members,omitempty"`
}

// TeamMember is a member of the organisation in a team.
type TeamMember struct {
	Identity string `yaml:"identity,omitempty"`
	// User is the subject of a member, or the identity of the membership.
	User string `yaml:"userIdentity,omitempty"`
	// Role is as in Member.
	Role      string    `yaml:"role,omitempty"`
	CreatedAt time.Time `yaml:"createdAt,omitempty"`
}

// Role is a set of permissions.
type Role struct {
	Object   `yaml:",inline"`
	Rules    []RoleRule    `yaml:"rules,omitempty"`
	Bindings []RoleBinding `yaml:"bindings,omitempty"`
}

// RoleRule is a permission of a role.
type RoleRule struct {
	Identity           string    `yaml:"identity,omitempty"`
	Resources          []string  `yaml:"resources,omitempty"`
	ResourceIdentities []string  `yaml:"resourceIdentities,omitempty"`
	Permissions        []string  `yaml:"permissions,omitempty"`
	Note               string    `yaml:"note,omitempty"`
	CreatedAt          time.Time `yaml:"createdAt,omitempty"`
}

// RoleBinding gives a role to a member, a team or a service account: to one of these.
type RoleBinding struct {
	Object `yaml:",inline"`
	// User is as in TeamMember. Team and ServiceAccount are identities or slugs.
	User           string `yaml:"userIdentity,omitempty"`
	Team           string `yaml:"teamIdentity,omitempty"`
	ServiceAccount string `yaml:"serviceAccountIdentity,omitempty"`
}

// ServiceAccount is a service account that others may act as.
type ServiceAccount struct {
	Identity            string              `yaml:"identity,omitempty"`
	Name                string              `yaml:"name,omitempty"`
	FederatedIdentities []FederatedIdentity `yaml:"federatedIdentities,omitempty"`
	Credentials         []Credential        `yaml:"accessCredentials,omitempty"`
	Labels              map[string]string   `yaml:"labels,omitempty"`

	Details `yaml:",inline"`
}

// FederatedIdentity is who may act as a service account: a subject of an
// issuer, e.g. a Kubernetes service account.
type FederatedIdentity struct {
	// Issuer and Keys go together; without them the emulator is the issuer, see
	// SubjectToken. Keys are a JSON Web Key Set, or PEM with public keys or
	// certificates; for RS256 and ES256.
	Issuer string `yaml:"issuer,omitempty"`
	Keys   string `yaml:"keys,omitempty"`
	// Subject is e.g. system:serviceaccount:kube-system:cloud-controller-manager.
	Subject       string        `yaml:"subject,omitempty"`
	Audiences     []string      `yaml:"audiences,omitempty"`
	AudienceMatch AudienceMatch `yaml:"audienceMatch,omitempty"`
	// Claims are conditions: other claims that a token must have, with their text.
	// A slash leads into a claim: kubernetes.io/namespace.
	Claims map[string]string `yaml:"claims,omitempty"`
	// Scopes and Project are as in Client. A token of a federated identity has no more than the scopes of the identity.
	Scopes  Scopes `yaml:"scopes,omitempty"`
	Project string `yaml:"project,omitempty"`
	// Provider is the identity of one of the organisation's providers, instead of Issuer and Keys.
	Provider string `yaml:"provider,omitempty"`
	// Conditions are like Claims, with values of any kind.
	Conditions map[string]any `yaml:"conditions,omitempty"`
	// Identity and Name are made up when empty; the name is the subject then.
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// Status is active when empty.
	Status     string     `yaml:"status,omitempty"`
	ExpiresAt  *time.Time `yaml:"expiresAt,omitempty"`
	LastUsedAt *time.Time `yaml:"lastUsedAt,omitempty"`

	Details `yaml:",inline"`
}

// AudienceMatch says how a token's audiences compare with the trusted ones.
type AudienceMatch string

// The ways to compare audiences. The zero value means MatchAny.
const (
	// MatchExact requires the same audiences, in any order.
	MatchExact AudienceMatch = "exact"
	// MatchAny requires one trusted audience or more.
	MatchAny AudienceMatch = "any"
	// MatchAll requires all trusted audiences; others may be there too.
	MatchAll AudienceMatch = "all"
)

// Credential is an access credential of a service account.
type Credential struct {
	Object     `yaml:",inline"`
	Key        string     `yaml:"accessKey,omitempty"`
	Secret     string     `yaml:"accessSecret,omitempty"`
	Scopes     Scopes     `yaml:"scopes,omitempty"`
	ExpiresAt  *time.Time `yaml:"expiresAt,omitempty"`
	LastUsedAt *time.Time `yaml:"lastUsedAt,omitempty"`
}

// Provider is an issuer of tokens. Its keys are a JSON Web Key Set, or PEM.
type Provider struct {
	Object  `yaml:",inline"`
	Issuer  string  `yaml:"issuer,omitempty"`
	KeysURI *string `yaml:"jwksUri,omitempty"`
	// LocalKeys are keys that the API shows, Keys those that it does not show.
	LocalKeys string `yaml:"localJwks,omitempty"`
	Keys      string `yaml:"keys,omitempty"`
	// Status is active when empty.
	Status string `yaml:"status,omitempty"`
}

// BearerToken is a bearer token that was issued to a client or a service account.
type BearerToken struct {
	Token     string    `yaml:"token,omitempty"`
	ExpiresAt time.Time `yaml:"expiresAt,omitempty"`
	// Subject is the client's ID, or the identity of the service account.
	Subject string `yaml:"subject,omitempty"`
	// Organisations are identities.
	Organisations []string `yaml:"organisations,omitempty"`
	// Scopes and Project are as in Client.
	Scopes  Scopes `yaml:"scopes,omitempty"`
	Project string `yaml:"project,omitempty"`
	// AccessCredential or FederatedIdentity is the identity of what the token was issued for. The token is valid only
	// as long as that is.
	AccessCredential  string `yaml:"accessCredential,omitempty"`
	FederatedIdentity string `yaml:"federatedIdentity,omitempty"`
}
