package emulator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/iam"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// withPeople adds a member, and an invite, to the default owner.
func withPeople(cfg *emulator.Config) {
	org := &cfg.Seed.Organisations[0]
	org.Members = append(org.Members, emulator.MemberSeed{Subject: "user-2", Name: "Two", Email: "two@example.com"})
	org.Invites = []emulator.InviteSeed{{Email: "three@example.com"}}
}

// vendorClient is the official client for all services.
func (c *cloud) vendorClient(t *testing.T) thalassa.Client {
	t.Helper()
	client, err := thalassa.NewClient(vendor.WithBaseURL(c.url), vendor.WithAuthPersonalToken(emulator.DefaultToken),
		vendor.WithOrganisation(emulator.DefaultOrganisation))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestMembersOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, withPeople)
	api := c.vendorClient(t).IAM()
	roles := func() map[string]iam.OrganisationMemberType {
		t.Helper()
		all, err := api.ListOrganisationMembers(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]iam.OrganisationMemberType{}
		for _, m := range all {
			found[m.User.Subject] = m.MemberType
		}
		return found
	}
	if diff := cmp.Diff(map[string]iam.OrganisationMemberType{emulator.DefaultOwner: "OWNER", "user-2": "MEMBER"},
		roles()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	become := func(who string, role iam.OrganisationMemberType) error {
		return api.UpdateOrganisationMember(t.Context(), who, iam.UpdateOrganisationMemberRequest{MemberType: role})
	}
	if err := become("user-2", "KING"); !vendor.IsBadRequest(err) {
		t.Errorf("an unknown role: %v, want bad request", err)
	}
	for name, err := range map[string]error{"becomes a member": become(emulator.DefaultOwner, "MEMBER"),
		"is deleted": api.DeleteOrganisationMember(t.Context(), emulator.DefaultOwner)} {
		if !refused(err, "409") {
			t.Errorf("the last owner %s: %v, want 409", name, err)
		}
	}
	if err := become("user-2", "OWNER"); err != nil {
		t.Fatal(err)
	}
	if err := api.DeleteOrganisationMember(t.Context(), emulator.DefaultOwner); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]iam.OrganisationMemberType{"user-2": "OWNER"}, roles()); diff != "" {
		t.Errorf("members after a deletion (-want +got):\n%s", diff)
	}
	invites, err := api.ListOrganisationMemberInvites(t.Context(), nil)
	if err != nil || len(invites) != 1 || invites[0].Email != "three@example.com" || invites[0].InviteCode == "" {
		t.Errorf("invites %+v, %v, want that of the seed", invites, err)
	}
}

func TestTeamsOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, withPeople)
	api := c.vendorClient(t).IAM()
	made, err := api.CreateTeam(t.Context(), iam.CreateTeam{Name: "Ops", Labels: map[string]string{"a": "b"}})
	if err != nil || made.Slug != "ops" || made.Labels["a"] != "b" {
		t.Fatalf("%+v, %v", made, err)
	}
	if changed, err := api.UpdateTeam(t.Context(), "ops", iam.UpdateTeam{Name: "Operations"}); err != nil ||
		changed.Name != "Operations" || changed.Identity != made.Identity {
		t.Errorf("changed %+v, %v", changed, err)
	}
	join := func(user, role string) error {
		return api.AddTeamMember(t.Context(), "ops", iam.AddTeamMemberRequest{UserIdentity: user, Role: role})
	}
	if err := join("user-2", ""); err != nil {
		t.Fatal(err)
	}
	for user, role := range map[string]string{"user-2": "OWNER", "user-9": "", emulator.DefaultOwner: "KING"} {
		if err := join(user, role); !refused(err, "409") && !vendor.IsBadRequest(err) {
			t.Errorf("adding %s as %q: %v, want 409 or bad request", user, role, err)
		}
	}
	team, err := api.GetTeam(t.Context(), made.Identity, nil)
	if err != nil || len(team.Members) != 1 || team.Members[0].User.Email != "two@example.com" ||
		team.Members[0].Role != "MEMBER" {
		t.Fatalf("team %+v, %v, want user-2 in it", team, err)
	}
	if err := api.DeleteOrganisationMember(t.Context(), "user-2"); !refused(err, "is in use by team") {
		t.Errorf("deleting a member that is in a team: %v, want 409", err)
	}
	if err := api.RemoveTeamMember(t.Context(), "ops", team.Members[0].Identity); err != nil {
		t.Error(err)
	}
	if err := join("user-2", "OWNER"); err != nil {
		t.Errorf("joining again: %v", err)
	}
	if err := api.DeleteTeam(t.Context(), "ops"); err != nil {
		t.Fatal(err)
	}
	if all, err := api.ListTeams(t.Context(), nil); err != nil || len(all) != 0 {
		t.Errorf("teams %+v, %v, want none", all, err)
	}
	// Who was in a deleted team is in no team any more.
	if err := api.DeleteOrganisationMember(t.Context(), "user-2"); err != nil {
		t.Error(err)
	}
}

func TestRolesOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, withPeople)
	api := c.vendorClient(t).IAM()
	role, err := api.CreateOrganisationRole(t.Context(), iam.CreateOrganisationRoleRequest{Name: "Reader"})
	if err != nil || role.Slug != "reader" {
		t.Fatalf("%+v, %v", role, err)
	}
	allowed := iam.OrganisationRolePermissionRule{Resources: []string{"vpc"}, Note: "n",
		Permissions: []iam.PermissionType{iam.PermissionTypeRead}}
	rule, err := api.AddRoleRule(t.Context(), "reader", allowed)
	if err != nil || rule.Note != "n" || rule.Identity == "" {
		t.Fatalf("rule %+v, %v", rule, err)
	}
	for name, bad := range map[string]iam.OrganisationRolePermissionRule{
		"no resources":       {Permissions: allowed.Permissions},
		"no permissions":     {Resources: allowed.Resources},
		"unknown permission": {Resources: allowed.Resources, Permissions: []iam.PermissionType{"fly"}},
	} {
		if _, err := api.AddRoleRule(t.Context(), "reader", bad); !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	got, err := api.GetOrganisationRole(t.Context(), role.Identity)
	if err != nil || len(got.Rules) != 1 || got.Rules[0].Identity != rule.Identity || got.ObjectVersion != 2 {
		t.Errorf("role %+v, %v, want it with its rule", got, err)
	}
	if err := api.DeleteRuleFromRole(t.Context(), "reader", rule.Identity); err != nil {
		t.Error(err)
	}
	if all, err := api.ListOrganisationRoles(t.Context(), nil); err != nil || len(all) != 1 || len(all[0].Rules) != 0 {
		t.Errorf("roles %+v, %v, want one without rules", all, err)
	}
	if err := api.DeleteOrganisationRole(t.Context(), "reader"); err != nil {
		t.Error(err)
	}
	if _, err := api.GetOrganisationRole(t.Context(), "reader"); !vendor.IsNotFound(err) {
		t.Errorf("a deleted role: %v, want not found", err)
	}
}

// A role, and whoever it is bound to, stays until the binding is deleted.
func TestRoleBindingsOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, withPeople)
	api := c.vendorClient(t).IAM()
	c.object(t, "POST", "/v1/iam/roles", `{"name":"reader"}`, 201)
	c.object(t, "POST", "/v1/teams", `{"name":"ops"}`, 201)
	c.object(t, "POST", "/v1/service-accounts", `{"name":"ci"}`, 201)
	for path, binding := range map[string]iam.CreateRoleBinding{
		"/v1/memberships/user-2":  {Name: "a", UserIdentity: new("user-2")},
		"/v1/teams/ops":           {Name: "b", TeamIdentity: new("ops")},
		"/v1/service-accounts/ci": {Name: "c", ServiceAccountIdentity: new("ci")},
	} {
		made, err := api.CreateRoleBinding(t.Context(), "reader", binding)
		if err != nil || made.AppUser == nil && made.OrganisationTeam == nil && made.ServiceAccount == nil {
			t.Fatalf("%s: %+v, %v", path, made, err)
		}
		if all, err := api.ListRoleBindings(t.Context(), "reader", nil); err != nil || len(all) != 1 {
			t.Errorf("%s: bindings %+v, %v, want one", path, all, err)
		}
		for _, used := range []string{path, "/v1/iam/roles/reader"} {
			if status, _, body := c.call(t, "DELETE", used, ""); status != 409 ||
				!strings.Contains(body, made.Identity) {
				t.Errorf("DELETE %s in use = %d %s, want 409", used, status, body)
			}
		}
		if err := api.DeleteRoleBinding(t.Context(), "reader", made.Identity); err != nil {
			t.Fatal(err)
		}
		c.object(t, "DELETE", path, "", 204)
	}
	for _, body := range []string{`{"name":"x"}`, `{"name":"x","userIdentity":"nobody"}`,
		`{"name":"x","teamIdentity":"nobody"}`, `{"name":"x","serviceAccountIdentity":"nobody"}`,
		`{"name":"x","userIdentity":"` + emulator.DefaultOwner + `","serviceAccountIdentity":"emulator"}`} {
		c.object(t, "POST", "/v1/iam/roles/reader/bindings", body, 400)
	}
	c.object(t, "DELETE", "/v1/iam/roles/reader", "", 204)
	c.object(t, "POST", "/v1/iam/roles/reader/bindings", `{"name":"x"}`, 404)
}

// The client knows every key.
func TestClientKnowsPeople(t *testing.T) {
	c := newCloud(t, withPeople)
	c.people(t)
	for path, into := range map[string]any{
		"/v1/memberships":               &[]iam.OrganisationMember{},
		"/v1/invites":                   &[]iam.OrganisationMemberInvite{},
		"/v1/teams":                     &[]iam.Team{},
		"/v1/iam/roles":                 &[]iam.OrganisationRole{},
		"/v1/iam/roles/reader/bindings": &[]iam.OrganisationRoleBinding{},
	} {
		c.knowsEveryKey(t, path, into)
	}
}

// people adds one of everything about people.
func (c *cloud) people(t *testing.T) {
	t.Helper()
	for _, step := range [][2]string{
		{"/v1/teams", `{"name":"ops"}`},
		{"/v1/teams/ops/members", `{"userIdentity":"` + emulator.DefaultOwner + `"}`},
		{"/v1/iam/roles", `{"name":"reader"}`},
		{"/v1/iam/roles/reader/rules", `{"resources":["vpc"],"permissions":["*"],"note":"n"}`},
		{"/v1/iam/roles/reader/bindings", `{"name":"a","userIdentity":"` + emulator.DefaultOwner + `"}`},
		{"/v1/iam/roles/reader/bindings", `{"name":"b","teamIdentity":"ops"}`},
		{"/v1/iam/roles/reader/bindings", `{"name":"c","serviceAccountIdentity":"emulator"}`},
	} {
		c.object(t, "POST", step[0], step[1], 201)
	}
}

// knowsEveryKey checks that the official client reads every key of an answer, which must not be an empty list.
func (c *cloud) knowsEveryKey(t *testing.T, path string, into any) {
	t.Helper()
	_, _, body := c.call(t, "GET", path, "")
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil || strings.HasPrefix(body, "[]") {
		t.Errorf("GET %s: %s: %v", path, body, err)
	}
}

// A seed with mistakes about people says which.
func TestSeedsOfPeople(t *testing.T) {
	for want, change := range map[string]func(*emulator.OrganisationSeed){
		`members[0].role (member "A"): must be`: func(o *emulator.OrganisationSeed) {
			o.Members = []emulator.MemberSeed{{Name: "A", Email: "a@example.com", Role: "KING"}}
		},
		`members[1] (member "B"): a member needs`: func(o *emulator.OrganisationSeed) {
			o.Members = append(o.Members, emulator.MemberSeed{Name: "B", Email: "b", Subject: emulator.DefaultOwner})
		},
		`invites[0] (invite): an invite needs`: func(o *emulator.OrganisationSeed) {
			o.Invites = []emulator.InviteSeed{{}}
		},
	} {
		seed := emulator.DefaultSeed()
		change(&seed.Organisations[0])
		if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
