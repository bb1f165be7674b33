package emulator_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
)

// exchangeForm is a complete token exchange request for the default account.
func exchangeForm(token string) url.Values {
	return url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":      {token},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		"organisation_id":    {emulator.DefaultOrganisation},
		"service_account_id": {emulator.DefaultServiceAccount},
	}
}

// granted is what the token endpoint answers.
type granted struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"`
	Scope       string
	Error       string
	Description string `json:"error_description"`
}

func askToken(t *testing.T, h http.Handler, form url.Values) (int, granted) {
	t.Helper()
	request := newRequest(t, "POST", "/oidc/token", form.Encode())
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := serve(h, request)
	var out granted
	if err := json.Unmarshal(answer.Body.Bytes(), &out); err != nil {
		t.Fatalf("answer %s: %v", answer.Body, err)
	}
	return answer.Code, out
}

func (c *cloud) subjectToken(t *testing.T, subject, audience string, ttl time.Duration) string {
	t.Helper()
	token, err := c.SubjectToken("", subject, audience, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestOfficialClientExchangesTokens(t *testing.T) {
	c := newCloud(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(c.subjectToken(t, "", "", 0)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := vendor.OIDCTokenExchangeConfig{
		TokenURL: c.url + "//oidc/token", SubjectTokenFile: file, OrganisationID: emulator.DefaultOrganisation,
		ServiceAccountID: emulator.DefaultServiceAccount, AccessTokenLifetime: "39600s",
	}
	if _, err := c.client(t, vendor.WithAuthOIDCTokenExchange(cfg)).ListVpcs(t.Context(), nil); err != nil {
		t.Errorf("ListVpcs: %v", err)
	}
	cfg.SubjectTokenFile, cfg.SubjectToken = "", c.subjectToken(t, "system:serviceaccount:other:one", "", 0)
	if _, err := c.client(t, vendor.WithAuthOIDCTokenExchange(cfg)).ListVpcs(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "is not the trusted one") {
		t.Errorf("wrong subject: %v, want an error that says so", err)
	}
}

// Other claims of a token may be conditions.
func TestClaimConditions(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	trusted := emulator.FederatedIdentitySeed{
		Issuer:  "https://issuer.example",
		Keys:    string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		Subject: "s", Audiences: []string{"a"},
		Claims: map[string]string{"kubernetes.io/serviceaccount/name": "ccm", "env": "prod",
			"https://example.org/level": "3", "admin": "false"},
	}
	e := newEmulator(t, func(cfg *emulator.Config) {
		account := &cfg.Seed.Organisations[0].ServiceAccounts[0]
		own := account.FederatedIdentities[0]
		own.Claims = map[string]string{"kubernetes.io/namespace": "kube-system", "kubernetes.io/pod": "p",
			"env": "prod"}
		account.FederatedIdentities = []emulator.FederatedIdentitySeed{own, trusted}
	})
	good := map[string]any{
		"kubernetes.io": map[string]any{"serviceaccount": map[string]any{"name": "ccm"}}, "env": "prod",
		"https://example.org/level": 3, "admin": false, "unasked": "x",
	}
	for name, test := range map[string]struct {
		change map[string]any
		want   string
	}{
		"all there":     {nil, ""},
		"another value": {map[string]any{"env": "test"}, `claim "env" is "test", "prod" is trusted`},
		"missing":       {map[string]any{"env": nil}, `claim "env" is `},
		"missing inside": {map[string]any{"kubernetes.io": map[string]any{"serviceaccount": "ccm"}},
			`claim "kubernetes.io/serviceaccount/name" is missing`},
		"another number": {map[string]any{"https://example.org/level": 30},
			`claim "https://example.org/level" is "30"`},
		"another truth":      {map[string]any{"admin": true}, `claim "admin" is "true"`},
		"a list is no value": {map[string]any{"env": []string{"prod"}}, `claim "env" is "[prod]"`},
	} {
		t.Run(name, func(t *testing.T) {
			others := maps.Clone(good)
			maps.Copy(others, test.change)
			token, err := jwt.Sign(key, "", jwt.Claims{Issuer: trusted.Issuer, Subject: "s", Audience: []string{"a"},
				Expiry: time.Now().Add(time.Hour), Others: others})
			if err != nil {
				t.Fatal(err)
			}
			status, answer := askToken(t, e, exchangeForm(token))
			if (status == 200) != (test.want == "") || !strings.Contains(answer.Description, test.want) {
				t.Errorf("%d %+v, want %q", status, answer, test.want)
			}
		})
	}
	own, err := e.SubjectToken("", "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := askToken(t, e, exchangeForm(own)); status != 200 {
		t.Errorf("the emulator's own token: %d %+v, want that it fulfils the conditions", status, answer)
	}
}

func TestTokenExchangeRequest(t *testing.T) {
	c := newCloud(t)
	good := c.subjectToken(t, "", "", 0)
	for name, test := range map[string]struct {
		change map[string]string
		status int
		want   string // part of the description; of a success, the lifetime
	}{
		"default lifetime":     {nil, 200, "3600"},
		"organisation by slug": {map[string]string{"organisation_id": "emulator"}, 200, "3600"},
		"duration":             {map[string]string{"access_token_lifetime": "39600s"}, 200, "39600"},
		"integer":              {map[string]string{"access_token_lifetime": "60"}, 200, "60"},
		"longest":              {map[string]string{"access_token_lifetime": "24h"}, 200, "86400"},
		"too short":            {map[string]string{"access_token_lifetime": "59s"}, 400, "1m to 24h"},
		"too long":             {map[string]string{"access_token_lifetime": "86401"}, 400, "1m to 24h"},
		"far too long":         {map[string]string{"access_token_lifetime": "9000000000000000000"}, 400, "1m to 24h"},
		"negative":             {map[string]string{"access_token_lifetime": "-3600"}, 400, "1m to 24h"},
		"no number":            {map[string]string{"access_token_lifetime": "soon"}, 400, "send seconds"},
		"no token":             {map[string]string{"subject_token": ""}, 400, "subject_token is missing"},
		"no kind":              {map[string]string{"subject_token_type": ""}, 400, "subject_token_type is missing"},
		"other kind": {map[string]string{"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"}, 400,
			"token-type:jwt or urn:ietf:params:oauth:token-type:id_token"},
		"ID token": {map[string]string{"subject_token_type": "urn:ietf:params:oauth:token-type:id_token"}, 200,
			"3600"},
		"no organisation":      {map[string]string{"organisation_id": ""}, 400, "organisation_id is missing"},
		"no account":           {map[string]string{"service_account_id": ""}, 400, "service_account_id is missing"},
		"unknown organisation": {map[string]string{"organisation_id": "o-x"}, 400, "is not known in organisation"},
		"unknown account":      {map[string]string{"service_account_id": "sa-x"}, 400, "is not known in organisation"},
		"no JWT":               {map[string]string{"subject_token": "abc"}, 400, "not a JWT"},
		"another issuer": {map[string]string{"subject_token": foreignToken(t, nil)}, 400,
			"does not trust issuer"},
		"forged": {map[string]string{"subject_token": foreignToken(t, func(c *jwt.Claims) {
			c.Issuer = emulator.EmulatorIssuer
		})}, 400, "signature"},
		"expired": {map[string]string{"subject_token": c.subjectToken(t, "", "", -time.Second)}, 400,
			"expired"},
		"another audience": {map[string]string{"subject_token": c.subjectToken(t, "", "https://x", 0)}, 400,
			"does not match the trusted"},
		"no grant": {map[string]string{"grant_type": ""}, 400, "grant_type is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			form := exchangeForm(good)
			for key, value := range test.change {
				form.Set(key, value)
			}
			status, answer := askToken(t, c, form)
			if status != test.status {
				t.Fatalf("status %d %+v, want %d", status, answer, test.status)
			}
			if status != 200 {
				if !strings.Contains(answer.Description, test.want) || answer.Error != "invalid_request" {
					t.Errorf("%+v, want invalid_request with %q", answer, test.want)
				}
				return
			}
			if fmt.Sprint(answer.ExpiresIn) != test.want || answer.TokenType != "Bearer" || answer.AccessToken == "" {
				t.Errorf("%+v, want a bearer token for %s s", answer, test.want)
			}
		})
	}
}

// foreignToken is signed with an unknown key.
func foreignToken(t *testing.T, change func(*jwt.Claims)) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, key, change)
}

func signed(t *testing.T, key *ecdsa.PrivateKey, change func(*jwt.Claims)) string {
	t.Helper()
	claims := jwt.Claims{
		Issuer: "https://issuer.example", Subject: emulator.DefaultSubject, Audience: []string{"a", "b"},
		Expiry: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(&claims)
	}
	token, err := jwt.Sign(key, "", claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// trusting makes the default service account trust an issuer of the test.
func trusting(t *testing.T, key *ecdsa.PrivateKey,
	adjust func(*emulator.FederatedIdentitySeed)) func(*emulator.Config) {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	identity := emulator.FederatedIdentitySeed{
		Issuer: "https://issuer.example", Subject: emulator.DefaultSubject, Audiences: []string{"a", "b"},
		Keys: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
	if adjust != nil {
		adjust(&identity)
	}
	return func(cfg *emulator.Config) {
		account := &cfg.Seed.Organisations[0].ServiceAccounts[0]
		account.FederatedIdentities = append(account.FederatedIdentities, identity)
	}
}

func TestAudienceMatch(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	both, one, more, none := []string{"b", "a"}, []string{"a"}, []string{"a", "b", "c"}, []string{"c"}
	for match, accepted := range map[emulator.AudienceMatch][][]string{
		emulator.MatchExact: {both}, emulator.MatchAny: {both, one, more}, emulator.MatchAll: {both, more},
		"": {both, one, more},
	} {
		t.Run(string(match), func(t *testing.T) {
			c := newCloud(t, trusting(t, key, func(f *emulator.FederatedIdentitySeed) { f.AudienceMatch = match }))
			for _, audience := range [][]string{both, one, more, none, nil} {
				want := 400
				for _, good := range accepted {
					if fmt.Sprint(good) == fmt.Sprint(audience) {
						want = 200
					}
				}
				token := signed(t, key, func(c *jwt.Claims) { c.Audience = audience })
				if status, answer := askToken(t, c, exchangeForm(token)); status != want {
					t.Errorf("audience %v: %d %+v, want %d", audience, status, answer, want)
				}
			}
		})
	}
}

func TestScopesOfFederatedIdentities(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t, trusting(t, key, func(f *emulator.FederatedIdentitySeed) { f.Scopes = []string{"api:read"} }))
	_, answer := askToken(t, c, exchangeForm(signed(t, key, nil)))
	reader := c.client(t, vendor.WithToken(answer.AccessToken))
	if _, err := reader.ListVpcs(t.Context(), nil); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := reader.DeleteMachine(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "403") ||
		!strings.Contains(err.Error(), "api:write") {
		t.Errorf("writing: %v, want 403 that names the scope", err)
	}
	if answer.Scope != "api:read" {
		t.Errorf("scope %q, want api:read", answer.Scope)
	}
}

func TestBadFederationSeeds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*emulator.ServiceAccountSeed)
		want   string
	}{
		"no name": {func(a *emulator.ServiceAccountSeed) { a.Name = "" },
			"serviceAccounts[0].name (service account): must have 1 to 255"},
		"no subject": {func(a *emulator.ServiceAccountSeed) { a.FederatedIdentities[0].Subject = "" }, "subject"},
		"match": {func(a *emulator.ServiceAccountSeed) { a.FederatedIdentities[0].AudienceMatch = "some" },
			`must be one of [exact any all], not "some"`},
		"scope": {func(a *emulator.ServiceAccountSeed) { a.FederatedIdentities[0].Scopes = []string{"x"} },
			`scope "x" is unknown`},
		"issuer only": {func(a *emulator.ServiceAccountSeed) {
			a.FederatedIdentities[0].Issuer = "x"
		}, "issuer and its keys"},
		"broken keys": {func(a *emulator.ServiceAccountSeed) {
			f := &a.FederatedIdentities[0]
			f.Issuer, f.Keys = "x", "x"
		}, "no signing key"},
		"unknown project": {func(a *emulator.ServiceAccountSeed) { a.FederatedIdentities[0].Project = "x" },
			`project "x" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			seed := emulator.DefaultSeed()
			test.change(&seed.Organisations[0].ServiceAccounts[0])
			if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestSubjectTokenOfAnotherIssuer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t, trusting(t, key, nil), func(cfg *emulator.Config) {
		account := &cfg.Seed.Organisations[0].ServiceAccounts[0]
		account.FederatedIdentities = account.FederatedIdentities[1:]
	})
	if _, err := c.SubjectToken("", "", "", 0); err == nil ||
		!strings.Contains(err.Error(), "trusts other issuers only") {
		t.Errorf("error %v", err)
	}
}

func TestExchangedTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed()})
		if err != nil {
			t.Fatal(err)
		}
		token, err := e.SubjectToken("", "", "", 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		form := exchangeForm(token)
		form.Set("access_token_lifetime", "90m")
		_, answer := askToken(t, e, form)
		use := func() int {
			request := newRequest(t, "GET", "/v1/vpcs", "")
			request.Header.Set("Authorization", "Bearer "+answer.AccessToken)
			return serve(e, request).Code
		}
		<-time.After(90*time.Minute - time.Second)
		if got := use(); got != 200 {
			t.Errorf("a second before its end: %d, want 200", got)
		}
		<-time.After(time.Second)
		if got := use(); got != 401 {
			t.Errorf("at its end: %d, want 401", got)
		}
		<-time.After(30 * time.Minute)
		if status, answer := askToken(t, e, exchangeForm(token)); status != 400 || !strings.Contains(answer.Description,
			"expired") {
			t.Errorf("exchanging an expired token: %d %+v", status, answer)
		}
	})
}
