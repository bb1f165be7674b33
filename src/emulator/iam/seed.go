package iam

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// Seed adds the identities of an organisation. What refers to others comes after them.
func (d *Directory) Seed(in *seed.Organisation, now time.Time) error {
	return errors.Join(
		seedEach("federated identity provider", in.Providers, func(p seed.Provider) (string, error) {
			return p.Name, d.addProvider(p, now)
		}),
		seedEach("member", in.Members, func(m seed.Member) (string, error) { return m.Name, d.seedMember(m, now) }),
		seedEach("invite", in.Invites, func(i seed.Invite) (string, error) { return i.Email, d.seedInvite(i, now) }),
		seedEach("service account", in.ServiceAccounts, func(a seed.ServiceAccount) (string, error) {
			return a.Name, d.seedAccount(a, now)
		}),
		seedEach("team", in.Teams, func(t seed.Team) (string, error) { return t.Name, d.seedTeam(t, now) }),
		seedEach("role", in.Roles, func(r seed.Role) (string, error) { return r.Name, d.seedRole(r, now) }),
	)
}

// seedEach adds objects, and says in which one an error is.
func seedEach[T any](kind string, items []T, add func(T) (name string, err error)) error {
	for _, item := range items {
		if name, err := add(item); err != nil {
			return fmt.Errorf("%s %q: %w", kind, name, err)
		}
	}
	return nil
}

// errNameless is the error about an object of a seed that has no name.
func errNameless() error { return errors.New("field \"name\" is required") }

func (d *Directory) addProvider(in seed.Provider, now time.Time) error {
	if in.Name == "" || in.Issuer == "" {
		return fmt.Errorf("fields \"name\" and \"issuer\" are required")
	}
	for other := range d.Providers.All() {
		// A state that was kept can have several, of service accounts that a seed gave keys of their own.
		if other.Issuer == in.Issuer && in.CreatedAt.IsZero() {
			return fmt.Errorf("field \"issuer\": federated identity provider %q has issuer %q already", other.Name,
				in.Issuer)
		}
	}
	p := &Provider{Record: Recorded("fip", in.Object, d.Providers.HasSlug, now), Issuer: in.Issuer,
		KeysURI: in.KeysURI, Status: cmp.Or(in.Status, active), hidden: in.Keys}
	field, text := "keys", in.Keys
	if in.LocalKeys != "" {
		field, text, p.local = "localJwks", in.LocalKeys, json.RawMessage(in.LocalKeys)
	}
	if text != "" {
		var err error
		if p.Keys, err = jwt.ParseKeys(text); err != nil {
			return fmt.Errorf("field %q: %w", field, err)
		}
	}
	return object.Insert(&d.Providers, p)
}

func (d *Directory) seedCredential(account *ServiceAccount, in seed.Credential, now time.Time) error {
	if in.Name == "" || in.Key == "" || in.Secret == "" {
		return fmt.Errorf("fields \"name\", \"accessKey\" and \"accessSecret\" are required")
	}
	if err := checkScopes("scopes", in.Scopes); err != nil {
		return err
	}
	return object.Insert(&d.Credentials, &AccessCredential{Record: Recorded("sac", in.Object, d.Credentials.HasSlug,
		now), Account: account.Identity, AccessKey: in.Key, secret: in.Secret, Scopes: in.Scopes,
		ExpiresAt: in.ExpiresAt, LastUsedAt: in.LastUsedAt})
}

// Recorded is the meta data of an object of a seed.
func Recorded(prefix string, in seed.Object, slugTaken func(string) bool, now time.Time) object.Record {
	return object.Written(object.NewRecord(prefix, object.Spec{Identity: in.Identity, Name: in.Name, Slug: in.Slug,
		Description: in.Description, Labels: in.Labels, Annotations: in.Annotations}, slugTaken, now), in.CreatedAt,
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
