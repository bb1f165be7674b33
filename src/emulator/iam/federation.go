package iam

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// IssuerURL is the issuer of subject tokens: an identity provider that is part of the emulator.
const IssuerURL = "https://issuer.emulator.invalid"

// active is the status of what may be used. All other statuses end its use.
const (
	active  = "active"
	expired = "expired"
)

// Provider is an issuer of tokens.
type Provider struct {
	object.Record
	Issuer  string
	KeysURI *string
	// local are the keys as they were sent, and Keys what they are. The keys of the emulator's own issuer are not here.
	local json.RawMessage
	// hidden are keys of a seed, which the API does not show.
	hidden string
	Keys   []jwt.Key
	Status string
}

// FederatedIdentity is somebody known to a provider who may act as a service account.
type FederatedIdentity struct {
	object.Record
	// Account and Provider are identities.
	Account, Provider string
	Subject           string
	Audiences         []string
	Match             seed.AudienceMatch
	Scopes            []string
	Status            string
	ExpiresAt         *time.Time
	LastUsedAt        *time.Time
	// Conditions are other claims that a token must have. A slash leads into a claim.
	Conditions map[string]any
	// Project binds tokens to a project. Only seeds can set it.
	Project string
}

// Valid returns whether the identity may be used.
func (f *FederatedIdentity) Valid(now time.Time) bool { return f.status(now) == active }

func (f *FederatedIdentity) status(now time.Time) string {
	if f.Status == active && f.ExpiresAt != nil && !now.Before(*f.ExpiresAt) {
		return expired
	}
	return f.Status
}

type providerInput struct {
	wire.MetaInput
	Issuer  string          `json:"providerIssuer"`
	KeysURI *string         `json:"providerJwksUri"`
	Local   json.RawMessage `json:"localJwks"`
	Status  string          `json:"status"`
}

type providerView struct {
	identified
	Issuer  string          `json:"providerIssuer"`
	KeysURI *string         `json:"providerJwksUri,omitempty"`
	Local   json.RawMessage `json:"localJwks,omitempty"`
	Status  string          `json:"status"`
}

// identified is the meta data of objects that have no slug.
type identified struct {
	Identity      string            `json:"identity"`
	Name          string            `json:"name"`
	Description   string            `json:"description,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	CreatedAt     time.Time         `json:"createdAt"`
	UpdatedAt     time.Time         `json:"updatedAt"`
	ObjectVersion int               `json:"objectVersion"`
}

func identify(m wire.Meta) identified {
	return identified{m.Identity, m.Name, m.Description, m.Labels, m.Annotations, m.CreatedAt, m.UpdatedAt,
		m.ObjectVersion}
}

func providers() resource.Kind[*Directory, *Provider, providerInput] {
	return resource.Kind[*Directory, *Provider, providerInput]{
		Name: providerKind, Prefix: "fip", Path: "/v1/federated-identity-providers", Single: true, Partial: true,
		Longest: federationLengths(),
		Meta:    func(in *providerInput) wire.MetaInput { return in.MetaInput },
		Among:   func(d *Directory, _ *request) (*object.Collection[*Provider], error) { return &d.Providers, nil },
		New:     (*Directory).newProvider,
		Change:  (*Directory).changeProvider,
		Release: func(d *Directory, _ *request, p *Provider) error {
			for f := range d.Federated.All() {
				if f.Provider == p.Identity {
					return apierror.Conflict("federated identity provider %q is in use by federated identity %q; "+
						"delete that first", p.Identity, f.Identity)
				}
			}
			return nil
		},
		View: func(_ *Directory, _ *request, p *Provider) any { return p.view() },
		Traits: func(_ *Directory, _ *request, has object.Traits, p *Provider) object.Traits {
			return has.With("status", p.Status).With("providerIssuer", p.Issuer)
		},
	}
}

func (p *Provider) view() *providerView {
	return &providerView{identify(p.Meta), p.Issuer, p.KeysURI, p.local, p.Status}
}

func (d *Directory) newProvider(r *request, record object.Record, in *providerInput) (*Provider, error) {
	if in.Issuer == "" {
		return nil, apierror.Invalid("field \"providerIssuer\" is required")
	}
	for other := range d.Providers.All() {
		if other.Issuer == in.Issuer {
			return nil, apierror.Conflict("field \"providerIssuer\": federated identity provider %q has issuer %q "+
				"already",
				other.Identity, in.Issuer)
		}
	}
	p := &Provider{Issuer: in.Issuer, Status: active, KeysURI: in.KeysURI}
	if len(in.Local) > 0 && string(in.Local) != "null" {
		keys, err := jwt.ParseKeys(string(in.Local))
		if err != nil {
			return nil, apierror.Invalid("field \"localJwks\": %v", err)
		}
		p.local, p.Keys = in.Local, keys
	}
	return p, d.changeProvider(r, p, record, in)
}

func checkProviderStatus(status string) error {
	if status != active && status != "inactive" {
		return apierror.Invalid("field \"status\" must be active or inactive, not %q", status)
	}
	return nil
}

// changeProvider keeps the status and the place of keys that a request leaves out, unless all is replaced.
func (*Directory) changeProvider(r *request, p *Provider, next object.Record, in *providerInput) error {
	if in.Status != "" {
		if err := checkProviderStatus(in.Status); err != nil {
			return err
		}
	}
	p.Record = next
	if r.Rules.ReplaceAll {
		p.KeysURI, p.Status = nil, active
	}
	if in.Status != "" {
		p.Status = in.Status
	}
	if in.KeysURI != nil {
		p.KeysURI = in.KeysURI
	}
	return nil
}

type federatedInput struct {
	wire.MetaInput
	Account    string             `json:"serviceAccountIdentity"`
	Provider   string             `json:"providerIdentity"`
	Subject    string             `json:"providerSubject"`
	Audiences  []string           `json:"trustedAudiences"`
	Match      seed.AudienceMatch `json:"audienceMatchMode"`
	Scopes     []string           `json:"allowedScopes"`
	Status     string             `json:"status"`
	ExpiresAt  *time.Time         `json:"expiresAt"`
	Conditions map[string]any     `json:"conditions"`
}

type federatedView struct {
	identified
	Account    *wire.Meta         `json:"serviceAccount,omitempty"`
	Provider   *providerView      `json:"provider,omitempty"`
	Subject    string             `json:"providerSubject"`
	Audiences  []string           `json:"trustedAudiences"`
	Match      seed.AudienceMatch `json:"audienceMatchMode"`
	Scopes     []string           `json:"allowedScopes"`
	Status     string             `json:"status"`
	ExpiresAt  *time.Time         `json:"expiresAt,omitempty"`
	LastUsedAt *time.Time         `json:"lastUsedAt,omitempty"`
	Conditions map[string]any     `json:"conditions,omitempty"`
}

func federatedIdentities() resource.Kind[*Directory, *FederatedIdentity, federatedInput] {
	return resource.Kind[*Directory, *FederatedIdentity, federatedInput]{
		Name: federatedKind, Prefix: "fi", Path: "/v1/federated-identities", Single: true,
		Partial: true, Longest: federationLengths(),
		Meta: func(in *federatedInput) wire.MetaInput { return in.MetaInput },
		Among: func(d *Directory, _ *request) (*object.Collection[*FederatedIdentity], error) {
			return &d.Federated, nil
		},
		New:    (*Directory).newFederated,
		Change: (*Directory).changeFederated,
		View:   (*Directory).viewFederated,
	}
}

func (d *Directory) viewFederated(r *request, f *FederatedIdentity) any {
	view := &federatedView{
		identified: identify(f.Meta), Subject: f.Subject, Audiences: object.List(f.Audiences), Match: f.Match,
		Scopes: object.List(f.Scopes), Status: f.status(r.Now), ExpiresAt: f.ExpiresAt, LastUsedAt: f.LastUsedAt,
		Conditions: f.Conditions,
	}
	if account, found := d.Accounts.Exact(f.Account); found {
		view.Account = new(account.Nested())
	}
	if provider, found := d.Providers.Exact(f.Provider); found {
		view.Provider = provider.view()
	}
	return view
}

func (d *Directory) newFederated(r *request, record object.Record, in *federatedInput) (*FederatedIdentity, error) {
	account, found := d.Accounts.Find(in.Account)
	if !found {
		return nil, apierror.Invalid("field \"serviceAccountIdentity\": service account %q not found", in.Account)
	}
	provider, found := d.Providers.Find(in.Provider)
	if !found {
		return nil, apierror.Invalid("field \"providerIdentity\": federated identity provider %q not found",
			in.Provider)
	}
	f := &FederatedIdentity{Account: account.Identity, Provider: provider.Identity, Subject: in.Subject, Status: active}
	return f, d.changeFederated(r, f, record, in)
}

// changeFederated keeps what a request leaves out, because an update is partial, unless all is replaced.
func (*Directory) changeFederated(r *request, f *FederatedIdentity, record object.Record, in *federatedInput) error {
	next := *f
	next.Record = record
	if r.Rules.ReplaceAll {
		next.Audiences, next.Match, next.Scopes, next.Conditions = nil, "", nil, nil
		next.Status, next.ExpiresAt = active, nil
	}
	if in.Audiences != nil {
		next.Audiences = in.Audiences
	}
	if in.Match != "" {
		next.Match = in.Match
	}
	if in.Scopes != nil {
		next.Scopes = in.Scopes
	}
	// The vendor's Terraform provider sends the status that it read, and expiresAt decides whether that is expired.
	if in.Status != "" && in.Status != expired {
		next.Status = in.Status
	}
	if in.ExpiresAt != nil {
		next.ExpiresAt = in.ExpiresAt
	}
	if in.Conditions != nil {
		next.Conditions = in.Conditions
	}
	if err := next.check(); err != nil {
		return err
	}
	*f = next
	return nil
}

// check completes and checks what is trusted.
func (f *FederatedIdentity) check() error {
	if f.Match == "" {
		f.Match = seed.MatchAny
	}
	matches := []seed.AudienceMatch{seed.MatchExact, seed.MatchAny, seed.MatchAll}
	switch {
	case !slices.Contains(matches, f.Match):
		return apierror.Invalid("field \"audienceMatchMode\" must be one of %v, not %q", matches, f.Match)
	case f.Subject == "":
		return apierror.Invalid("field \"providerSubject\" is required")
	case !slices.Contains([]string{active, "inactive", "revoked"}, f.Status):
		return apierror.Invalid("field \"status\" must be active, inactive, revoked or expired, not %q", f.Status)
	}
	for claim, value := range f.Conditions {
		switch value.(type) {
		case string, bool, float64:
		default:
			return apierror.Invalid("field \"conditions\": claim %q is compared with a text, a number or a "+
				"truth value only, not with %s", claim, fmt.Sprint(value))
		}
	}
	return checkScopes("allowedScopes", f.Scopes)
}
