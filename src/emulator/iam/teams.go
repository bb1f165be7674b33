package iam

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Team is a group of members of the organisation.
type Team struct{ object.Record }

// TeamMember is a member of the organisation in a team. The slug is the subject of the person.
type TeamMember struct {
	object.Record
	// Team and Member are identities.
	Team, Member string
	Role         string
}

type teamMemberInput struct {
	UserIdentity string `json:"userIdentity"`
	Role         string `json:"role"`
}

type teamView struct {
	Identity    string            `json:"identity"`
	Name        string            `json:"name"`
	Slug        string            `json:"slug"`
	Description string            `json:"description"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   time.Time         `json:"updatedAt"`
	Members     []teamMemberView  `json:"members"`
}

type teamMemberView struct {
	Identity  string    `json:"identity"`
	Role      string    `json:"role"`
	User      wire.User `json:"user"`
	CreatedAt time.Time `json:"createdAt"`
}

func teams() resource.Kind[*Directory, *Team, wire.MetaInput] {
	return resource.Kind[*Directory, *Team, wire.MetaInput]{
		Name: teamKind, Prefix: "team", Path: "/v1/teams", Single: true, Meta: named, Longest: lengths(),
		Among: func(d *Directory, _ *request) (*object.Collection[*Team], error) { return &d.Teams, nil },
		New: func(_ *Directory, _ *request, record object.Record, _ *wire.MetaInput) (*Team, error) {
			return &Team{record}, nil
		},
		Change: func(_ *Directory, _ *request, t *Team, next object.Record, _ *wire.MetaInput) error {
			t.Record = next
			return nil
		},
		Release: (*Directory).releaseTeam,
		View:    func(d *Directory, _ *request, t *Team) any { return d.viewTeam(t) },
	}
}

// releaseTeam refuses the deletion of a team that a role is bound to. Its members are members of the team no more.
func (d *Directory) releaseTeam(_ *request, t *Team) error {
	if err := d.checkUnbound("team", t.Identity); err != nil {
		return err
	}
	for m := range d.membersOf(t).All() {
		d.TeamMembers.Remove(m)
	}
	return nil
}

func (d *Directory) viewTeam(t *Team) *teamView {
	view := &teamView{t.Identity, t.Name, t.Slug, t.Description, t.Labels, t.Annotations, t.CreatedAt, t.UpdatedAt,
		[]teamMemberView{}}
	for m := range d.membersOf(t).All() {
		view.Members = append(view.Members, d.viewTeamMember(m))
	}
	return view
}

func (d *Directory) viewTeamMember(m *TeamMember) teamMemberView {
	person, _ := d.Members.Exact(m.Member)
	return teamMemberView{Identity: m.Identity, Role: m.Role, User: person.User, CreatedAt: m.CreatedAt}
}

func (d *Directory) membersOf(t *Team) *object.Collection[*TeamMember] {
	return partsOf(&d.TeamMembers, func(m *TeamMember) bool { return m.Team == t.Identity })
}

func teamMembers() resource.Kind[*Directory, *TeamMember, teamMemberInput] {
	return resource.Kind[*Directory, *TeamMember, teamMemberInput]{
		Name: "team member", Prefix: "tm", Path: "/v1/teams/{id}/members", Key: "member", Unlisted: true,
		Among: func(d *Directory, r *request) (*object.Collection[*TeamMember], error) {
			team, err := teams().Named(d, r)
			if err != nil {
				return nil, err
			}
			return d.membersOf(team), nil
		},
		New: (*Directory).newTeamMember,
		Release: func(d *Directory, r *request, m *TeamMember) error {
			team, _ := d.Teams.Exact(m.Team)
			team.Touch(r.Now)
			d.TeamMembers.Remove(m)
			return nil
		},
		View: func(d *Directory, _ *request, m *TeamMember) any { return d.viewTeamMember(m) },
	}
}

func (d *Directory) newTeamMember(r *request, record object.Record, in *teamMemberInput) (*TeamMember, error) {
	team, err := teams().Named(d, r)
	if err != nil {
		return nil, err
	}
	person, found := d.Members.Find(in.UserIdentity)
	if !found {
		return nil, apierror.Invalid("field \"userIdentity\": user %q is not a member of the organisation",
			in.UserIdentity)
	}
	if d.membersOf(team).HasSlug(person.Slug) {
		return nil, apierror.Conflict("field \"userIdentity\": user %q is in team %q already", in.UserIdentity,
			team.Identity)
	}
	m := &TeamMember{Record: record, Team: team.Identity, Member: person.Identity, Role: cmp.Or(in.Role, member)}
	m.Slug = person.Slug
	if err := checkRole(m.Role, admin); err != nil {
		return nil, err
	}
	team.Touch(r.Now)
	d.TeamMembers.Add(m)
	return m, nil
}

func (s seeding) addTeam(in seed.Team) error {
	record, err := recorded(s, &s.Teams, "team", teamKind, in.Object, lengths())
	if err != nil {
		return err
	}
	t := &Team{record}
	if err := object.Insert(&s.Teams, t); err != nil {
		return err
	}
	return seed.Each("members", "member", in.Members, func(m *seed.TeamMember) (string, error) {
		return m.User, s.seedTeamMember(t, *m, s.Now)
	})
}

func (d *Directory) seedTeamMember(t *Team, in seed.TeamMember, now time.Time) error {
	person, found := d.Members.Find(in.User)
	switch {
	case !found:
		return fmt.Errorf("field \"userIdentity\": user %q is not a member of the organisation", in.User)
	case d.membersOf(t).HasSlug(person.Slug):
		return errors.New("the member is in the team twice")
	}
	m := &TeamMember{Team: t.Identity, Member: person.Identity, Role: cmp.Or(in.Role, member),
		Record: Recorded("tm", seed.Object{Identity: in.Identity, Details: seed.Details{Slug: person.Slug,
			History: seed.History{CreatedAt: in.CreatedAt}}}, func(string) bool { return false }, now)}
	return cmp.Or(checkRole(m.Role, admin), object.Insert(&d.TeamMembers, m))
}

func (d *Directory) describeTeams() (out []seed.Team) {
	for t := range d.Teams.All() {
		team := seed.Team{Object: seed.Described(t.Meta)}
		for m := range d.membersOf(t).All() {
			team.Members = append(team.Members, seed.TeamMember{Identity: m.Identity, User: m.Member, Role: m.Role,
				CreatedAt: m.CreatedAt})
		}
		out = append(out, team)
	}
	return out
}
