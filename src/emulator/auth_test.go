package emulator_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestOfficialClientAuthenticates(t *testing.T) {
	c := newCloud(t)
	tests := map[string]struct {
		options []vendor.Option
		want    string // part of the error; empty means success
	}{
		"personal access token": {nil, ""},
		"organisation by slug":  {[]vendor.Option{vendor.WithOrganisation(emulator.DefaultOrganisationSlug)}, ""},
		"client credentials": {[]vendor.Option{vendor.WithAuthOIDC(emulator.DefaultClientID,
			emulator.DefaultClientSecret, c.url+"/oidc/token")}, ""},
		"token URL with double slash": {[]vendor.Option{vendor.WithAuthOIDC(emulator.DefaultClientID,
			emulator.DefaultClientSecret, c.url+"//oidc/token")}, ""},
		"scopes": {[]vendor.Option{vendor.WithAuthOIDC(emulator.DefaultClientID,
			emulator.DefaultClientSecret, c.url+"/oidc/token", "api:read", "api:write")}, ""},
		"basic": {[]vendor.Option{vendor.WithAuthBasic(emulator.DefaultClientID,
			emulator.DefaultClientSecret)}, ""},
		"wrong basic": {[]vendor.Option{vendor.WithAuthBasic(emulator.DefaultClientID, "wrong")},
			"401"},
		"wrong token":  {[]vendor.Option{vendor.WithAuthPersonalToken("wrong")}, "401"},
		"wrong bearer": {[]vendor.Option{vendor.WithToken("wrong")}, "401"},
		"wrong secret": {[]vendor.Option{vendor.WithAuthOIDC(emulator.DefaultClientID, "wrong", c.url+
			"/oidc/token")}, "invalid_client"},
		"no credentials":     {[]vendor.Option{vendor.WithAuthNone()}, "401"},
		"wrong organisation": {[]vendor.Option{vendor.WithOrganisation("o-other")}, "403"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := c.client(t, test.options...).ListVpcs(t.Context(), nil)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("ListVpcs: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("ListVpcs: error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestTokenEndpoint(t *testing.T) {
	c := newCloud(t)
	tests := map[string]struct {
		form url.Values
		code int
		want string
	}{
		"form body": {url.Values{"grant_type": {"client_credentials"}, "client_id": {emulator.DefaultClientID},
			"client_secret": {emulator.DefaultClientSecret}}, 200, `"expires_in":3600`},
		"wrong secret": {url.Values{"grant_type": {"client_credentials"}, "client_id": {emulator.DefaultClientID},
			"client_secret": {"x"}}, 401, `"error":"invalid_client"`},
		"unknown grant": {url.Values{"grant_type": {"password"}}, 400, `"error":"unsupported_grant_type"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := newRequest(t, "POST", "/oidc/token", test.form.Encode())
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer := serve(c, request)
			if answer.Code != test.code || !strings.Contains(answer.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d with %s", answer.Code, answer.Body, test.code, test.want)
			}
			if got := answer.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type = %q, want application/json", got)
			}
		})
	}
}

func TestBearerTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{
			Seed: emulator.DefaultSeed(), Delays: emulator.Delays{TokenLifetime: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"grant_type": {"client_credentials"}}
		request := newRequest(t, "POST", "/oidc/token", form.Encode())
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.SetBasicAuth(emulator.DefaultClientID, emulator.DefaultClientSecret)
		var token struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal(serve(e, request).Body.Bytes(), &token); err != nil {
			t.Fatal(err)
		}
		use := func() int {
			request := newRequest(t, "GET", "/v1/vpcs", "")
			request.Header.Set("Authorization", "Bearer "+token.AccessToken)
			return serve(e, request).Code
		}
		if got := use(); got != http.StatusOK {
			t.Errorf("fresh token: status %d, want 200", got)
		}
		<-time.After(time.Minute)
		if got := use(); got != http.StatusUnauthorized {
			t.Errorf("expired token: status %d, want 401", got)
		}
	})
}

func TestOrganisationsAreIsolated(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		other := cfg.Seed.Organisations[0]
		other.Identity, other.Name, other.Slug = "o-emulator000000000002", "Other", "other"
		other.PersonalAccessTokens = []string{"other-token", emulator.DefaultToken}
		other.Clients = nil
		cfg.Seed.Organisations = append(cfg.Seed.Organisations, other)
	})
	lb := c.loadbalancer(t, "mine")
	foreign := c.client(t, vendor.WithOrganisation("other"), vendor.WithAuthPersonalToken("other-token"))
	if _, err := foreign.GetLoadbalancer(t.Context(), lb.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading another organisation's load balancer: %v, want not found", err)
	}
	if lbs, err := foreign.ListLoadbalancers(t.Context(), nil); err != nil || len(lbs) != 0 {
		t.Errorf("listing as another organisation = %d load balancers, %v, want none", len(lbs), err)
	}
	resp, err := http.DefaultClient.Do(apiRequest(t, c.url, "GET", "/v1/vpcs", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("token of two organisations without a header: status %d, want 400", resp.StatusCode)
	}
}

func TestUnknownAuthorizationScheme(t *testing.T) {
	c := newCloud(t)
	request := newRequest(t, "GET", "/v1/vpcs", "")
	request.Header.Set("Authorization", "Digest x")
	if answer := serve(c, request); answer.Code != 401 || !strings.Contains(answer.Body.String(), `scheme \"Digest\"`) {
		t.Errorf("got %d %s, want 401 that names the scheme", answer.Code, answer.Body)
	}
	request = newRequest(t, "POST", "/oidc/token", "%zz")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if answer := serve(c, request); answer.Code != 400 || !strings.Contains(answer.Body.String(), "invalid_request") {
		t.Errorf("broken form: %d %s, want 400 invalid_request", answer.Code, answer.Body)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	c := newCloud(t)
	c.call(t, "POST", "/v1/machines", `{"name":"a","subnet":"emulator","machineType":"pgp-small","cloudInit":"s3cret"}`)
	_, _, writes := c.call(t, "GET", "/_emulator/writes", "")
	_, _, counters := c.call(t, "GET", "/_emulator/counters", "")
	for _, secret := range []string{"s3cret", emulator.DefaultToken, emulator.DefaultClientSecret} {
		if strings.Contains(writes+counters, secret) {
			t.Errorf("%q shows up in %s%s", secret, writes, counters)
		}
	}
}

func TestMemberships(t *testing.T) {
	c := newCloud(t)
	client, err := thalassa.NewClient(vendor.WithBaseURL(c.url), vendor.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	orgs, err := client.Me().ListMyOrganisations(t.Context())
	if err != nil || len(orgs) != 1 || orgs[0].Identity != emulator.DefaultOrganisation {
		t.Errorf("ListMyOrganisations = %+v, %v, want the default organisation", orgs, err)
	}
}
