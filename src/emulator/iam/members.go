package iam

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

const (
	owner  = "OWNER"
	member = "MEMBER"
	// admin is a role in teams only.
	admin = "ADMIN"
)

// Member is a person in the organisation. The slug is the subject of the person.
type Member struct {
	object.Record
	User wire.User
	Role string
}

// Invite is an invitation that was not accepted yet.
type Invite struct {
	object.Record
	Email, Role, Code string
}

type roleInput struct {
	Role string `json:"role"`
}

type inviteView struct {
	Email      string     `json:"email"`
	Role       string     `json:"role"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	InviteCode string     `json:"inviteCode"`
}

func members() resource.Kind[*Directory, *Member, roleInput] {
	return resource.Kind[*Directory, *Member, roleInput]{
		Name: "membership", Path: "/v1/memberships",
		Among:   func(d *Directory, _ *request) (*object.Collection[*Member], error) { return &d.Members, nil },
		Change:  (*Directory).changeMember,
		Release: (*Directory).releaseMember,
		View: func(_ *Directory, _ *request, m *Member) any {
			return wire.Membership{Identity: m.Identity, CreatedAt: m.CreatedAt, User: &m.User, Role: m.Role}
		},
		Traits: func(_ *Directory, _ *request, has object.Traits, m *Member) object.Traits {
			return has.With("role", m.Role)
		},
	}
}

func (d *Directory) changeMember(_ *request, m *Member, next object.Record, in *roleInput) error {
	if err := checkRole(in.Role); err != nil {
		return err
	}
	if in.Role != owner {
		if err := d.checkOwners(m); err != nil {
			return err
		}
	}
	m.Record, m.Role = next, in.Role
	return nil
}

// releaseMember refuses the deletion of a member that a team has or that a role is bound to.
func (d *Directory) releaseMember(_ *request, m *Member) error {
	for other := range d.TeamMembers.All() {
		if other.Member == m.Identity {
			return apierror.Conflict("membership %q is in use by team %q; remove the member from that first",
				m.Identity, other.Team)
		}
	}
	if err := d.checkUnbound("membership", m.Identity); err != nil {
		return err
	}
	return d.checkOwners(m)
}

// checkOwners refuses to leave the organisation without an owner besides a member.
func (d *Directory) checkOwners(without *Member) error {
	for other := range d.Members.All() {
		if other != without && other.Role == owner {
			return nil
		}
	}
	return apierror.Conflict("membership %q is the only one with role OWNER; give another one this role first",
		without.Identity)
}

// checkRole refuses a role that is neither one of those of the organisation nor one of some more.
func checkRole(role string, more ...string) error {
	if roles := append([]string{owner, member}, more...); !slices.Contains(roles, role) {
		return apierror.Invalid("field \"role\" must be one of %v, not %q", roles, role)
	}
	return nil
}

func invites() resource.Kind[*Directory, *Invite, struct{}] {
	return resource.Kind[*Directory, *Invite, struct{}]{
		Name: "invite", Path: "/v1/invites", Permanent: true,
		Among: func(d *Directory, _ *request) (*object.Collection[*Invite], error) { return &d.Invites, nil },
		View: func(_ *Directory, _ *request, i *Invite) any {
			return inviteView{Email: i.Email, Role: i.Role, CreatedAt: i.CreatedAt, InviteCode: i.Code}
		},
	}
}

func (d *Directory) seedMember(in seed.Member, now time.Time) error {
	subject, role := cmp.Or(in.Subject, object.NewIdentity("user")), cmp.Or(in.Role, member)
	if in.Name == "" || in.Email == "" || d.Members.HasSlug(subject) {
		return errors.New("a member needs a name, an email address, and a subject that no other member has")
	}
	record := Recorded("om", seed.Object{Identity: in.Identity, Name: in.Name,
		Details: seed.Details{Slug: subject, History: in.History}}, d.Members.HasSlug, now)
	return cmp.Or(checkRole(role), object.Insert(&d.Members, &Member{
		Record: record, Role: role,
		User: wire.User{Subject: subject, Name: in.Name, Email: in.Email, CreatedAt: record.CreatedAt},
	}))
}

func (d *Directory) seedInvite(in seed.Invite, now time.Time) error {
	role := cmp.Or(in.Role, member)
	if in.Email == "" {
		return fmt.Errorf("an invite needs an email address")
	}
	return cmp.Or(checkRole(role), object.Insert(&d.Invites, &Invite{
		Record: Recorded("inv", seed.Object{Identity: in.Identity, Name: in.Email,
			Details: seed.Details{History: seed.History{CreatedAt: in.CreatedAt}}}, d.Invites.HasSlug, now),
		Email: in.Email, Role: role, Code: cmp.Or(in.Code, rand.Text()),
	}))
}

func (d *Directory) describeMembers(out *seed.Organisation) {
	for m := range d.Members.All() {
		out.Members = append(out.Members, seed.Member{Identity: m.Identity, Subject: m.User.Subject, Name: m.User.Name,
			Email: m.User.Email, Role: m.Role, History: seed.Described(m.Meta).History})
	}
	for i := range d.Invites.All() {
		out.Invites = append(out.Invites, seed.Invite{Identity: i.Identity, Email: i.Email, Role: i.Role, Code: i.Code,
			CreatedAt: i.CreatedAt})
	}
}
