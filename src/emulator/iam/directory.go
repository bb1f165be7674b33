// Package iam provides who may use an organisation: service accounts with their access credentials, the federated
// identities that may act as them, members, teams, and the roles of all of these.
package iam

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// What messages call the kinds of identities.
const (
	accountKind    = "service account"
	credentialKind = "access credential"
	providerKind   = "federated identity provider"
	federatedKind  = "federated identity"
	teamKind       = "team"
	roleKind       = "role"
	bindingKind    = "role binding"
)

// Directory has the identities of an organisation. Its objects refer to each other by identity.
type Directory struct {
	Accounts    object.Collection[*ServiceAccount]
	Credentials object.Collection[*AccessCredential]
	Providers   object.Collection[*Provider]
	Federated   object.Collection[*FederatedIdentity]
	Members     object.Collection[*Member]
	Invites     object.Collection[*Invite]
	Teams       object.Collection[*Team]
	TeamMembers object.Collection[*TeamMember]
	Roles       object.Collection[*Role]
	Rules       object.Collection[*Rule]
	Bindings    object.Collection[*Binding]
}

// Copy is a directory of its own with the same content.
func (d *Directory) Copy() Directory {
	copied := Directory{
		Accounts: flat(d.Accounts), Credentials: flat(d.Credentials), Providers: flat(d.Providers),
		Federated: flat(d.Federated), Members: flat(d.Members), Invites: flat(d.Invites), Teams: flat(d.Teams),
		TeamMembers: flat(d.TeamMembers), Roles: flat(d.Roles), Rules: flat(d.Rules), Bindings: flat(d.Bindings),
	}
	for f := range copied.Federated.All() {
		f.Conditions = maps.Clone(f.Conditions)
	}
	return copied
}

// flat copies objects that contain no references.
func flat[T any, P interface {
	*T
	object.Keyed
}](from object.Collection[P]) object.Collection[P] {
	to := object.Collection[P]{ByIdentity: maps.Clone(from.ByIdentity), BySlug: maps.Clone(from.BySlug)}
	for _, item := range from.Order {
		if item != nil {
			copied := *item
			item = &copied
		}
		to.Order = append(to.Order, item)
	}
	return to
}

// partsOf are those objects of a collection that belong to one other object.
func partsOf[T object.Keyed](all *object.Collection[T], belongs func(T) bool) *object.Collection[T] {
	var own object.Collection[T]
	for item := range all.All() {
		if belongs(item) {
			own.Add(item)
		}
	}
	return &own
}

// Counts are the numbers of objects by kind.
func (d *Directory) Counts() map[string]int {
	return map[string]int{"serviceAccount": d.Accounts.Len(), "accessCredential": d.Credentials.Len(),
		"federatedIdentityProvider": d.Providers.Len(), "federatedIdentity": d.Federated.Len(),
		"membership": d.Members.Len(), "invite": d.Invites.Len(), "team": d.Teams.Len(),
		"teamMember": d.TeamMembers.Len(), "role": d.Roles.Len(), "roleRule": d.Rules.Len(),
		"roleBinding": d.Bindings.Len()}
}

type (
	request = resource.Request
	handler = resource.Handler[*Directory]
)

// Operations are the operations on identities, by method and path.
func Operations() map[string]resource.Handler[*Directory] {
	all := accounts().Operations()
	for _, more := range []map[string]handler{credentials().Operations(), providers().Operations(),
		federatedIdentities().Operations(), members().Operations(), invites().Operations(), teams().Operations(),
		teamMembers().Operations(), roles().Operations(), rules().Operations(), bindings().Operations()} {
		maps.Copy(all, more)
	}
	return all
}

// scopes are those of the real service. The ones besides reading and writing mean nothing to the emulator.
func scopes() []string {
	return []string{"api:read", "api:write", "kubernetes", "objectStorage", "openid"}
}

// CheckScopes refuses scopes that do not exist.
func CheckScopes(texts []string) error {
	for _, text := range texts {
		if !slices.Contains(scopes(), text) {
			return fmt.Errorf("scope %q is unknown; use %s", text, strings.Join(scopes(), ", "))
		}
	}
	return nil
}

// checkScopes is CheckScopes for a field of a request.
func checkScopes(field string, texts []string) error {
	if err := CheckScopes(texts); err != nil {
		return apierror.Invalid("field %q: %v", field, err)
	}
	return nil
}

// lengths are those that the vendor's Terraform provider permits.
func lengths() object.Lengths { return object.Lengths{Name: 255} }

// federationLengths are lengths for federated identities and their providers.
func federationLengths() object.Lengths { return object.Lengths{Name: 255, Description: 1024} }

// named is what the bodies of most requests say about the meta data.
func named(in *wire.MetaInput) wire.MetaInput { return *in }
