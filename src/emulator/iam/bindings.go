package iam

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Binding gives a role to a member, a team or a service account.
type Binding struct {
	object.Record
	// All are identities; of the last three, only one is not empty.
	Role, Member, Team, Account string
}

type bindingInput struct {
	wire.MetaInput
	User    *string `json:"userIdentity"`
	Team    *string `json:"teamIdentity"`
	Account *string `json:"serviceAccountIdentity"`
}

type bindingView struct {
	wire.Meta
	Role    *wire.Meta `json:"organisationRole,omitempty"`
	User    *wire.User `json:"user,omitempty"`
	Team    *teamView  `json:"team,omitempty"`
	Account *wire.Meta `json:"serviceAccount,omitempty"`
}

func bindings() resource.Kind[*Directory, *Binding, bindingInput] {
	return resource.Kind[*Directory, *Binding, bindingInput]{
		Name: bindingKind, Prefix: "rb", Path: "/v1/iam/roles/{id}/bindings", Key: "binding",
		Meta: func(in *bindingInput) wire.MetaInput { return in.MetaInput }, Longest: lengths(),
		Among: func(d *Directory, r *request) (*object.Collection[*Binding], error) {
			role, err := roles().Named(d, r)
			if err != nil {
				return nil, err
			}
			return d.bindingsOf(role), nil
		},
		New: (*Directory).newBinding,
		Release: func(d *Directory, _ *request, b *Binding) error {
			d.Bindings.Remove(b)
			return nil
		},
		View: func(d *Directory, _ *request, b *Binding) any { return d.viewBinding(b) },
	}
}

func (d *Directory) bindingsOf(role *Role) *object.Collection[*Binding] {
	return partsOf(&d.Bindings, func(b *Binding) bool { return b.Role == role.Identity })
}

func (d *Directory) viewBinding(b *Binding) bindingView {
	view := bindingView{Meta: b.Meta}
	if role, found := d.Roles.Exact(b.Role); found {
		view.Role = new(role.Nested())
	}
	if m, found := d.Members.Exact(b.Member); found {
		view.User = &m.User
	}
	if t, found := d.Teams.Exact(b.Team); found {
		view.Team = d.viewTeam(t)
	}
	if a, found := d.Accounts.Exact(b.Account); found {
		view.Account = new(a.Nested())
	}
	return view
}

func (d *Directory) newBinding(r *request, record object.Record, in *bindingInput) (*Binding, error) {
	role, err := roles().Named(d, r)
	if err != nil {
		return nil, err
	}
	b := &Binding{Record: record, Role: role.Identity}
	if err := d.bind(b, in); err != nil {
		return nil, err
	}
	d.Bindings.Add(b)
	return b, nil
}

func (s seeding) addBinding(role *Role, in seed.RoleBinding) error {
	record, err := recorded(s, s.bindingsOf(role), "rb", bindingKind, in.Object, lengths())
	if err != nil {
		return err
	}
	b := &Binding{Role: role.Identity, Record: record}
	if err := s.bind(b, &bindingInput{User: &in.User, Team: &in.Team, Account: &in.ServiceAccount}); err != nil {
		return err
	}
	return object.Insert(&s.Bindings, b)
}

// bind fills in to whom a role is bound.
func (d *Directory) bind(b *Binding, in *bindingInput) error {
	given := 0
	for _, subject := range []struct {
		field, kind string
		ref         *string
		find        func(string) (string, bool)
		into        *string
	}{
		{"userIdentity", "user", in.User, identityIn(&d.Members), &b.Member},
		{"teamIdentity", "team", in.Team, identityIn(&d.Teams), &b.Team},
		{"serviceAccountIdentity", "service account", in.Account, identityIn(&d.Accounts), &b.Account},
	} {
		ref := object.Kept(subject.ref, "")
		if ref == "" {
			continue
		}
		given++
		var found bool
		if *subject.into, found = subject.find(ref); !found {
			return apierror.Invalid("field %q: %s %q not found", subject.field, subject.kind, ref)
		}
	}
	if given != 1 {
		return apierror.Invalid("exactly one of \"userIdentity\", \"teamIdentity\" and " +
			"\"serviceAccountIdentity\" is required")
	}
	return nil
}

// identityIn finds the identity of an object by its identity or slug.
func identityIn[T object.Described](among *object.Collection[T]) func(string) (string, bool) {
	return func(ref string) (string, bool) {
		item, found := among.Find(ref)
		if !found {
			return "", false
		}
		return item.Nested().Identity, true
	}
}

// checkUnbound refuses the deletion of somebody whom a role is bound to.
func (d *Directory) checkUnbound(kind, identity string) error {
	for b := range d.Bindings.All() {
		if b.Member == identity || b.Team == identity || b.Account == identity {
			return apierror.Conflict("%s %q is in use by role binding %q of role %q; delete that first", kind,
				identity, b.Identity, b.Role)
		}
	}
	return nil
}
