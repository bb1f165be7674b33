package iam

import (
	"cmp"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Role is a set of permissions. They are stored, and do not limit what credentials may do.
type Role struct{ object.Record }

// Rule is a permission of a role.
type Rule struct {
	object.Record
	// Role is an identity.
	Role string
	ruleInput
}

type ruleInput struct {
	Resources          []string `json:"resources"`
	ResourceIdentities []string `json:"resourceIdentities"`
	Permissions        []string `json:"permissions"`
	Note               string   `json:"note,omitempty"`
}

type ruleView struct {
	Identity string `json:"identity"`
	ruleInput
}

type roleView struct {
	wire.Meta
	Rules    []ruleView    `json:"rules,omitempty"`
	Bindings []bindingView `json:"bindings,omitempty"`
}

func roles() resource.Kind[*Directory, *Role, wire.MetaInput] {
	return resource.Kind[*Directory, *Role, wire.MetaInput]{
		Name: roleKind, Prefix: "role", Path: "/v1/iam/roles", Single: true, Meta: named, Longest: lengths(),
		Among: func(d *Directory, _ *request) (*object.Collection[*Role], error) { return &d.Roles, nil },
		New: func(_ *Directory, _ *request, record object.Record, _ *wire.MetaInput) (*Role, error) {
			return &Role{record}, nil
		},
		Release: (*Directory).releaseRole,
		View:    (*Directory).viewRole,
	}
}

// releaseRole refuses the deletion of a role that is bound. Its rules are deleted with it.
func (d *Directory) releaseRole(_ *request, role *Role) error {
	for b := range d.bindingsOf(role).All() {
		return apierror.Conflict("role %q is in use by role binding %q; delete that first", role.Identity, b.Identity)
	}
	for rule := range d.rulesOf(role).All() {
		d.Rules.Remove(rule)
	}
	return nil
}

func (d *Directory) viewRole(_ *request, role *Role) any {
	view := &roleView{Meta: role.Meta}
	for rule := range d.rulesOf(role).All() {
		view.Rules = append(view.Rules, ruleView{rule.Identity, rule.ruleInput})
	}
	for b := range d.bindingsOf(role).All() {
		view.Bindings = append(view.Bindings, d.viewBinding(b))
	}
	return view
}

func (d *Directory) rulesOf(role *Role) *object.Collection[*Rule] {
	return partsOf(&d.Rules, func(rule *Rule) bool { return rule.Role == role.Identity })
}

func rules() resource.Kind[*Directory, *Rule, ruleInput] {
	return resource.Kind[*Directory, *Rule, ruleInput]{
		Name: "rule", Prefix: "rule", Path: "/v1/iam/roles/{id}/rules", Key: "rule", Unlisted: true,
		Among: func(d *Directory, r *request) (*object.Collection[*Rule], error) {
			role, err := roles().Named(d, r)
			if err != nil {
				return nil, err
			}
			return d.rulesOf(role), nil
		},
		New: (*Directory).newRule,
		Release: func(d *Directory, r *request, rule *Rule) error {
			role, _ := d.Roles.Exact(rule.Role)
			role.Touch(r.Now)
			d.Rules.Remove(rule)
			return nil
		},
		View: func(_ *Directory, _ *request, rule *Rule) any { return ruleView{rule.Identity, rule.ruleInput} },
	}
}

func (d *Directory) newRule(r *request, record object.Record, in *ruleInput) (*Rule, error) {
	role, err := roles().Named(d, r)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	rule := &Rule{Record: record, Role: role.Identity, ruleInput: *in}
	role.Touch(r.Now)
	d.Rules.Add(rule)
	return rule, nil
}

// check completes and checks a permission.
func (in *ruleInput) check() error {
	if len(in.Resources) == 0 || len(in.Permissions) == 0 {
		return apierror.Invalid("fields \"resources\" and \"permissions\" must have at least one element each")
	}
	known := []string{"create", "read", "update", "delete", "list", "*"}
	for _, permission := range in.Permissions {
		if !slices.Contains(known, permission) {
			return apierror.Invalid("field \"permissions\" must have elements of %v, not %q", known, permission)
		}
	}
	in.ResourceIdentities = object.List(in.ResourceIdentities)
	return nil
}

func (s seeding) addRole(in seed.Role) error {
	record, err := recorded(s, &s.Roles, "role", roleKind, in.Object, lengths())
	if err != nil {
		return err
	}
	role := &Role{record}
	if err := object.Insert(&s.Roles, role); err != nil {
		return err
	}
	return cmp.Or(
		seed.Each("rules", "rule", in.Rules,
			func(r *seed.RoleRule) (string, error) { return "", s.seedRule(role, *r, s.Now) }),
		seed.Each("bindings", bindingKind, in.Bindings,
			func(b *seed.RoleBinding) (string, error) { return b.Name, s.addBinding(role, *b) }),
	)
}

func (d *Directory) seedRule(role *Role, in seed.RoleRule, now time.Time) error {
	said := ruleInput{in.Resources, in.ResourceIdentities, in.Permissions, in.Note}
	if err := said.check(); err != nil {
		return err
	}
	identity := cmp.Or(in.Identity, object.NewIdentity("rule"))
	return object.Insert(&d.Rules, &Rule{Role: role.Identity, ruleInput: said, Record: Recorded("rule",
		seed.Object{Identity: identity, Details: seed.Details{Slug: identity,
			History: seed.History{CreatedAt: in.CreatedAt}}}, d.Rules.HasSlug, now)})
}

func (d *Directory) describeRoles() (out []seed.Role) {
	for role := range d.Roles.All() {
		described := seed.Role{Object: seed.Described(role.Meta)}
		for r := range d.rulesOf(role).All() {
			described.Rules = append(described.Rules, seed.RoleRule{Identity: r.Identity, Resources: r.Resources,
				ResourceIdentities: r.ResourceIdentities, Permissions: r.Permissions, Note: r.Note,
				CreatedAt: r.CreatedAt})
		}
		for b := range d.bindingsOf(role).All() {
			described.Bindings = append(described.Bindings, seed.RoleBinding{Object: seed.Described(b.Meta),
				User: b.Member, Team: b.Team, ServiceAccount: b.Account})
		}
		out = append(out, described)
	}
	return out
}
