package declaration

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Names have up to 255 characters, and members of teams can be administrators of them.
func TestTerraformTeam(t *testing.T) {
	replay(t, func(c *tool) {
		long := strings.Repeat("n", 255)
		body := values{"name": long, "description": "d", "labels": nil, "annotations": nil}
		path := c.ensure("/v1/teams", body)
		for _, role := range []string{"ADMIN", "OWNER", "MEMBER"} {
			joined := c.expect(http.MethodPost, path+"/members", values{"userIdentity": "user-emulator000000000001",
				"role": role}, http.StatusCreated)
			c.reads(path, values{"name": long, "members.*.role": []string{role}})
			member, _ := at(joined, "identity").(string)
			c.expect(http.MethodDelete, path+"/members/"+member, nil, http.StatusNoContent)
		}
		body["name"] = "team"
		c.put(path, body)
		c.reads(path, body)
		c.gone(path)
	})
}

// A member is found by the email address. Another role is a new membership of the team, and members do not keep a team
// from being deleted.
func TestTerraformTeamMembers(t *testing.T) {
	replay(t, func(c *tool) {
		body := values{"name": "team", "description": "", "labels": values{}, "annotations": values{}}
		path := c.ensure("/v1/teams", body)
		person := at(c.list("/v1/memberships")[0], "user")
		for _, role := range []string{"MEMBER", "OWNER"} {
			body["description"] = role
			c.put(path, body)
			for _, identity := range c.members(path) {
				c.expect(http.MethodDelete, path+"/members/"+identity.(string), nil, http.StatusNoContent)
			}
			c.expect(http.MethodPost, path+"/members", values{"userIdentity": at(person, "subject"), "role": role},
				http.StatusCreated)
			c.shows(path, merged(body, values{"members.*.role": []string{role},
				"members.*.user.subject": []any{at(person, "subject")},
				"members.*.user.email":   []any{at(person, "email")}}), "slug", "createdAt", "updatedAt")
		}
		c.vanishes(path)
	})
}

// members are the identities of the members of a team.
func (c *tool) members(path string) []any {
	c.Helper()
	all, _ := at(c.ready(path), "members.*.identity").([]any)
	return all
}

// A federated identity can trust no audience, and a status that was read can be sent back.
func TestTerraformFederatedIdentity(t *testing.T) {
	replay(t, func(c *tool) {
		text := strings.Repeat("d", 1024)
		c.setUp([]prop{
			{Name: "account", Path: "/v1/service-accounts", Body: values{"name": strings.Repeat("a", 255)}},
			{Name: "provider", Path: "/v1/federated-identity-providers", Body: values{"name": strings.Repeat("p", 255),
				"description": text, "providerIssuer": "https://a.example", "status": "active"}},
		})
		end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		body := values{"name": strings.Repeat("f", 255), "description": text, "trustedAudiences": []string{},
			"audienceMatchMode": "all", "allowedScopes": []string{"api:read"}, "expiresAt": end}
		create := values{"serviceAccountIdentity": "$account", "providerIdentity": "$provider", "providerSubject": "s"}
		maps.Copy(create, body)
		path := c.ensure("/v1/federated-identities", create)
		c.reads(path, body)
		<-time.After(2 * time.Hour)
		body["status"] = "expired"
		c.reads(path, body)
		c.put(path, body)
		c.reads(path, body)
		body["expiresAt"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		c.put(path, body)
		body["status"] = "active"
		c.reads(path, body)
		c.gone(path)
	})
}

// An account shows its bindings with their roles.
func TestTerraformServiceAccount(t *testing.T) {
	replay(t, func(c *tool) {
		body := values{"name": "account", "description": "d", "labels": values{"a": "b"}, "annotations": values{}}
		account := c.ensure("/v1/service-accounts", body)
		c.reads(account, merged(body, values{"roleBindings": nil}))
		body["name"] = "role"
		role := c.ensure("/v1/iam/roles", body)
		rule := values{"resources": []string{"cloud_vpc"}, "resourceIdentities": []string{},
			"permissions": []string{"read"}, "note": "n"}
		allowed := c.expect(http.MethodPost, role+"/rules", rule, http.StatusCreated)
		shown := merged(rule, values{"identity": at(allowed, "identity")})
		c.reads(role, merged(body, values{"rules": []values{shown}}))
		body["name"] = "binding"
		c.binds(account, role, body)
		c.removes(role+"/rules/", allowed)
		c.keys(account)
		c.vanishes(role)
		c.vanishes(account)
	})
}

// removes deletes a part of an object.
func (c *tool) removes(collection string, part any) {
	c.Helper()
	identity, _ := at(part, "identity").(string)
	c.expect(http.MethodDelete, collection+identity, nil, http.StatusNoContent)
}

// binds binds a role to an account, which both show, and removes the binding.
func (c *tool) binds(account, role string, body values) {
	c.Helper()
	holder := at(c.ready(account), "identity")
	made := c.expect(http.MethodPost, role+"/bindings", merged(body, values{"serviceAccountIdentity": holder}),
		http.StatusCreated)
	want := merged(body, values{"organisationRole.identity": at(c.ready(role), "identity"),
		"serviceAccount.identity": holder})
	for place, shown := range map[string]any{"the bindings": c.list(role + "/bindings"),
		"the account": at(c.ready(account), "roleBindings")} {
		read := element(values{"all": shown}, "all", at(made, "identity"))
		for field, value := range want {
			if wrong := difference(value, at(read, field)); wrong != "" {
				c.Errorf("binding in %s: %s%s", place, field, wrong)
			}
		}
	}
	c.removes(role+"/bindings/", made)
	c.reads(account, values{"roleBindings": nil})
}

// keys makes an access credential, finds it in the list, and deletes it.
func (c *tool) keys(account string) {
	c.Helper()
	path := account + "/access-credentials"
	made := c.expect(http.MethodPost, path, values{"name": "key", "description": "d", "scopes": []string{"api:read"}},
		http.StatusCreated)
	read := element(values{"all": c.list(path)}, "all", at(made, "identity"))
	if at(read, "name") != "key" || at(read, "accessKey") != at(made, "accessKey") || empty(at(made, "accessSecret")) {
		c.Errorf("made %v, read %v", made, read)
	}
	c.removes(path+"/", made)
}
