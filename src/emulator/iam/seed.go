package iam

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// Seed adds the identities of an organisation, or returns the first error. What refers to others comes after them.
func (d *Directory) Seed(in *seed.Organisation, checks object.Checks) error {
	s := seeding{d, checks}
	return cmp.Or(
		seed.Each("federatedIdentityProviders", "federated identity provider", in.Providers,
			func(p *seed.Provider) (string, error) { return p.Name, s.addProvider(*p) }),
		seed.Each("members", "member", in.Members,
			func(m *seed.Member) (string, error) { return m.Name, d.seedMember(*m, checks.Now) }),
		seed.Each("invites", "invite", in.Invites,
			func(i *seed.Invite) (string, error) { return i.Email, d.seedInvite(*i, checks.Now) }),
		seed.Each("serviceAccounts", "service account", in.ServiceAccounts,
			func(a *seed.ServiceAccount) (string, error) { return a.Name, s.addAccount(*a) }),
		seed.Each("teams", "team", in.Teams, func(t *seed.Team) (string, error) { return t.Name, s.addTeam(*t) }),
		seed.Each("roles", "role", in.Roles, func(r *seed.Role) (string, error) { return r.Name, s.addRole(*r) }),
	)
}

// seeding adds identities of a seed to a directory.
type seeding struct {
	*Directory
	object.Checks
}

// recorded is the meta data of an object of a seed. It is checked like that of a request for such an object.
func recorded[T object.Described](s seeding, among *object.Collection[T], prefix, kind string, in seed.Object,
	longest object.Lengths) (object.Record, error) {
	if err := object.CheckNew(s.Checks, among, kind, Specified(in, longest)); err != nil {
		return object.Record{}, err
	}
	return Recorded(prefix, in, among.HasSlug, s.Now), nil
}

func (s seeding) addProvider(in seed.Provider) error {
	if in.Issuer == "" {
		return fmt.Errorf("field \"issuer\" is required")
	}
	d := s.Directory
	for other := range d.Providers.All() {
		// A state that was kept can have several, of service accounts that a seed gave keys of their own.
		if other.Issuer == in.Issuer && in.CreatedAt.IsZero() {
			return fmt.Errorf("field \"issuer\": federated identity provider %q has issuer %q already", other.Name,
				in.Issuer)
		}
	}
	record, err := recorded(s, &d.Providers, "fip", providerKind, in.Object, federationLengths())
	if err != nil {
		return err
	}
	p := &Provider{Record: record, Issuer: in.Issuer, KeysURI: in.KeysURI, Status: cmp.Or(in.Status, active),
		hidden: in.Keys}
	if err := checkProviderStatus(p.Status); err != nil {
		return err
	}
	field, text := "keys", in.Keys
	if in.LocalKeys != "" {
		field, text, p.local = "localJwks", in.LocalKeys, json.RawMessage(in.LocalKeys)
	}
	if text != "" {
		if p.Keys, err = jwt.ParseKeys(text); err != nil {
			return fmt.Errorf("field %q: %w", field, err)
		}
	}
	return object.Insert(&d.Providers, p)
}

func (s seeding) addCredential(account *ServiceAccount, in seed.Credential) error {
	if in.Key == "" || in.Secret == "" {
		return fmt.Errorf("fields \"accessKey\" and \"accessSecret\" are required")
	}
	if err := checkScopes("scopes", in.Scopes); err != nil {
		return err
	}
	record, err := recorded(s, s.credentialsOfAccount(account), "sac", credentialKind, in.Object, lengths())
	if err != nil {
		return err
	}
	return object.Insert(&s.Credentials, &AccessCredential{Record: record, Account: account.Identity,
		AccessKey: in.Key, secret: in.Secret, Scopes: in.Scopes, ExpiresAt: in.ExpiresAt, LastUsedAt: in.LastUsedAt})
}

// Specified is what the seed chooses about the meta data of an object.
func Specified(in seed.Object, longest object.Lengths) object.Spec {
	return object.Spec{Identity: in.Identity, Name: in.Name, Slug: in.Slug, Description: in.Description,
		Labels: in.Labels, Annotations: in.Annotations, Longest: longest}
}

// Recorded is the meta data of an object of a seed.
func Recorded(prefix string, in seed.Object, slugTaken func(string) bool, now time.Time) object.Record {
	return object.Written(object.NewRecord(prefix, Specified(in, object.Lengths{}), slugTaken, now), in.CreatedAt,
		in.UpdatedAt, in.ObjectVersion)
}

// SortSeeded puts the objects of service accounts in the order in which they were made.
func (d *Directory) SortSeeded() {
	object.ByAge(&d.Credentials, func(c *AccessCredential) time.Time { return c.CreatedAt })
	object.ByAge(&d.Federated, func(f *FederatedIdentity) time.Time { return f.CreatedAt })
}

// Describe adds the identities to the seed of their organisation.
func (d *Directory) Describe(out *seed.Organisation) {
	d.describeMembers(out)
	out.Teams, out.Roles = d.describeTeams(), d.describeRoles()
	for p := range d.Providers.All() {
		out.Providers = append(out.Providers, seed.Provider{Object: seed.Described(p.Meta), Issuer: p.Issuer,
			KeysURI: p.KeysURI, LocalKeys: string(p.local), Keys: p.hidden, Status: p.Status})
	}
	for a := range d.Accounts.All() {
		of := seed.Described(a.Meta)
		account := seed.ServiceAccount{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details}
		for c := range d.Credentials.All() {
			if c.Account == a.Identity {
				account.Credentials = append(account.Credentials, seed.Credential{Object: seed.Described(c.Meta),
					Key: c.AccessKey, Secret: c.secret, Scopes: c.Scopes, ExpiresAt: c.ExpiresAt,
					LastUsedAt: c.LastUsedAt})
			}
		}
		for f := range d.Federated.All() {
			if f.Account == a.Identity {
				account.FederatedIdentities = append(account.FederatedIdentities, f.describe())
			}
		}
		out.ServiceAccounts = append(out.ServiceAccounts, account)
	}
}

func (f *FederatedIdentity) describe() seed.FederatedIdentity {
	of := seed.Described(f.Meta)
	return seed.FederatedIdentity{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Provider: f.Provider, Subject: f.Subject, Audiences: f.Audiences, AudienceMatch: f.Match,
		Conditions: f.Conditions, Scopes: f.Scopes, Project: f.Project, Status: f.Status, ExpiresAt: f.ExpiresAt,
		LastUsedAt: f.LastUsedAt}
}
