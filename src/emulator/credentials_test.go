package emulator_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// works reports whether a client may read, and with which status it is refused.
func works(t *testing.T, api *iaas.Client) error {
	t.Helper()
	_, err := api.ListVpcs(t.Context(), nil)
	return err
}

func refused(err error, status string) bool {
	return err != nil && strings.Contains(err.Error(), status)
}

func TestPersonalAccessTokensCanBeReplaced(t *testing.T) {
	c := newCloud(t)
	next := c.client(t, vendor.WithAuthPersonalToken("next"))
	if err := works(t, next); !refused(err, "401") {
		t.Errorf("before it was added: %v, want 401", err)
	}
	if err := c.AddToken("", "next"); err != nil {
		t.Fatal(err)
	}
	c.RevokeTokens(emulator.DefaultToken)
	if err := works(t, next); err != nil {
		t.Errorf("the new token: %v", err)
	}
	if err := works(t, c.api); !refused(err, "401") {
		t.Errorf("the revoked token: %v, want 401", err)
	}
	c.RevokeTokens()
	if err := works(t, next); !refused(err, "401") {
		t.Errorf("after revoking all: %v, want 401", err)
	}
}

func TestReadOnlyTokens(t *testing.T) {
	c := newCloud(t)
	if err := c.AddToken(emulator.DefaultOrganisationSlug, "reader", "api:read"); err != nil {
		t.Fatal(err)
	}
	reader := c.client(t, vendor.WithAuthPersonalToken("reader"))
	if err := works(t, reader); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := reader.DeleteLoadbalancer(t.Context(), "x"); !refused(err, "403") {
		t.Errorf("writing: %v, want 403", err)
	}
	if err := c.AddToken("", "other", "openid"); err != nil {
		t.Fatal(err)
	}
	if err := works(t, c.client(t, vendor.WithAuthPersonalToken("other"))); !refused(err, "api:read") {
		t.Errorf("reading without a scope for it: %v, want 403", err)
	}
	for name, err := range map[string]error{
		"unknown organisation": c.AddToken("o-x", "t"), "unknown scope": c.AddToken("", "t", "x"),
		"empty": c.AddToken("", ""),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Credentials have the same rights in all their organisations: other rights are refused, and change nothing.
func TestCredentialsHaveOneSetOfRights(t *testing.T) {
	reader := seed.Token{Token: "t", Scopes: []string{"api:read"}}
	for name, tt := range map[string]struct {
		here, there emulator.OrganisationSeed
		want        string
	}{
		"the same": {emulator.OrganisationSeed{Tokens: []seed.Token{reader}, Clients: client("s", "")},
			emulator.OrganisationSeed{Tokens: []seed.Token{reader}, Clients: client("s", "")}, ""},
		"no limit": {emulator.OrganisationSeed{Tokens: []seed.Token{reader}},
			emulator.OrganisationSeed{PersonalAccessTokens: []string{"t"}}, "scopes"},
		"another secret": {emulator.OrganisationSeed{Clients: client("s", "")},
			emulator.OrganisationSeed{Clients: client("x", "")}, "secret"},
		"no project": {emulator.OrganisationSeed{Clients: client("s", "shop"),
			Projects: []emulator.ProjectSeed{{Name: "Shop"}}}, emulator.OrganisationSeed{Clients: client("s", "")},
			"project"},
	} {
		t.Run(name, func(t *testing.T) {
			all := emulator.DefaultSeed()
			tt.here.Identity, tt.here.Name, tt.there.Identity, tt.there.Name = "o-1", "One", "o-2", "Two"
			all.Organisations = append(all.Organisations, tt.here, tt.there)
			_, err := emulator.NewDescribed(t, emulator.Config{Seed: all})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an error with %q", err, tt.want)
			}
		})
	}
}

func client(secret, project string) []emulator.ClientSeed {
	return []emulator.ClientSeed{{ID: "c", Secret: secret, Project: project}}
}

func TestTokensAreNotWidened(t *testing.T) {
	c := newCloud(t, neighbour)
	if err := c.AddToken("", "reader", "api:read"); err != nil {
		t.Fatal(err)
	}
	if err := c.AddToken("", "reader", "api:read"); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for _, organisation := range []string{"", "o-next"} {
		status, _, body := c.call(t, "POST", "/_emulator/tokens",
			`{"token":"reader","organisation":"`+organisation+`"}`)
		if status != 400 || !strings.Contains(body, "revoke") || strings.Contains(body, "reader") {
			t.Errorf("organisation %q: %d %s, want 400 that says what to do, without the token", organisation, status,
				body)
		}
	}
	reader := c.client(t, vendor.WithAuthPersonalToken("reader"))
	if err := works(t, reader); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := reader.DeleteLoadbalancer(t.Context(), "x"); !refused(err, "403") {
		t.Errorf("writing: %v, want 403", err)
	}
}

func TestScopesOfClients(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].Clients[0].Scopes = []string{"api:read", "openid"}
	})
	form := func(scope string) url.Values {
		return url.Values{
			"grant_type": {"client_credentials"}, "client_id": {emulator.DefaultClientID},
			"client_secret": {emulator.DefaultClientSecret}, "scope": {scope},
		}
	}
	for scope, want := range map[string]string{"": "api:read openid", "api:read": "api:read"} {
		if status, answer := askToken(t, c, form(scope)); status != 200 || answer.Scope != want {
			t.Errorf("scope %q: %d %+v, want %q", scope, status, answer, want)
		}
	}
	for _, scope := range []string{"api:write", "api:read api:write", "nonsense"} {
		if status, answer := askToken(t, c, form(scope)); status != 400 || answer.Error != "invalid_scope" {
			t.Errorf("scope %q: %d %+v, want 400 invalid_scope", scope, status, answer)
		}
	}
	if err := c.client(t, vendor.WithAuthBasic(emulator.DefaultClientID, emulator.DefaultClientSecret)).
		DeleteMachine(t.Context(), "x"); !refused(err, "403") {
		t.Errorf("writing with Basic: %v, want 403", err)
	}
	bad := emulator.DefaultSeed()
	bad.Organisations[0].Clients[0].Scopes = []string{"x"}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: bad}); err == nil {
		t.Error("a seed with an unknown scope was accepted")
	}
}

func TestBearersExpireOnDemand(t *testing.T) {
	c := newCloud(t)
	oidc := c.client(t, vendor.WithAuthOIDC(emulator.DefaultClientID, emulator.DefaultClientSecret, c.url+
		"/oidc/token"))
	if err := works(t, oidc); err != nil {
		t.Fatal(err)
	}
	c.ExpireBearers()
	if err := works(t, oidc); !refused(err, "401") || !refused(err, "expired") {
		t.Errorf("after expiry: %v, want 401 expired", err)
	}
	if err := works(t, c.api); err != nil {
		t.Errorf("personal access tokens are not bearer tokens: %v", err)
	}
}

// Clients that follow RFC 6749 encode the secret before it goes into the header.
func TestClientSecretsCanBeReplaced(t *testing.T) {
	c := newCloud(t)
	const secret = "new %2B+/=secret"
	if err := c.SetClientSecret(emulator.DefaultClientID, secret); err != nil {
		t.Fatal(err)
	}
	if err := works(t, c.client(t, vendor.WithAuthOIDC(emulator.DefaultClientID, secret, c.url+"/oidc/token"))); err !=
		nil {
		t.Errorf("the new secret: %v", err)
	}
	if err := works(t, c.client(t, vendor.WithAuthBasic(emulator.DefaultClientID, secret))); err != nil {
		t.Errorf("the new secret, as it is: %v", err)
	}
	if err := works(t, c.client(t, vendor.WithAuthOIDC(emulator.DefaultClientID, emulator.DefaultClientSecret, c.url+
		"/oidc/token"))); !refused(err, "invalid_client") {
		t.Errorf("the old secret: %v, want invalid_client", err)
	}
	if c.SetClientSecret("nobody", "x") == nil || c.SetClientSecret(emulator.DefaultClientID, "") == nil {
		t.Error("an unknown client or an empty secret was accepted")
	}
}

func TestCredentialsOverTheAdminAPI(t *testing.T) {
	c := newCloud(t)
	for _, step := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/_emulator/tokens", `{"token":"t2","scopes":["api:read"],"organisation":"emulator"}`, 204, ""},
		{"POST", "/_emulator/tokens", `{"token":"t2","organisation":"x"}`, 404, "does not exist"},
		{"POST", "/_emulator/tokens", `{"tokn":"t2"}`, 400, "tokn"},
		{"POST", "/_emulator/tokens/revoke", `{"tokens":["t2"]}`, 204, ""},
		{"POST", "/_emulator/bearers/expire", ``, 204, ""},
		{"PUT", "/_emulator/clients/" + emulator.DefaultClientID, `{"secret":"s2"}`, 204, ""},
		{"PUT", "/_emulator/clients/x", `{"secret":"s2"}`, 404, "does not exist"},
		{"POST", "/_emulator/subject-tokens", ``, 201, `{"token":"`},
		{"POST", "/_emulator/subject-tokens", `{"serviceAccount":"x"}`, 404, "does not exist"},
		{"POST", "/_emulator/subject-tokens", `{"ttl":"soon"}`, 400, "ttl"},
		{"PUT", "/_emulator/quotas/machines", `{"maxUsage":5}`, 204, ""},
		{"PUT", "/_emulator/quotas/machines", `{}`, 400, "maxUsage"},
		{"PUT", "/_emulator/quotas/machines", `{"maxUsage":-1}`, 400, "less than nothing"},
		{"PUT", "/_emulator/quotas/x", `{"maxUsage":5}`, 404, "not found"},
		{"POST", "/_emulator/tokens/revoke", `{}`, 204, ""},
		{"GET", "/v1/vpcs", ``, 401, "not valid"},
	} {
		status, _, body := c.call(t, step.method, step.path, step.body)
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s %s %s = %d %s, want %d with %q", step.method, step.path, step.body, status, body, step.status,
				step.want)
		}
	}
}
