package emulator_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iam"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
)

// keySet is a JSON Web Key Set with one key.
func keySet(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	part := base64.RawURLEncoding.EncodeToString
	return `{"keys":[{"kty":"EC","crv":"P-256","x":"` + part(point[1:33]) + `","y":"` + part(point[33:]) + `"}]}`
}

// federated makes a service account that a token of a new issuer can be exchanged for.
func (c *cloud) federated(t *testing.T, key *ecdsa.PrivateKey) (account, provider, identity string) {
	t.Helper()
	account = c.object(t, "POST", "/v1/service-accounts", `{"name":"ci"}`, 201).Identity
	provider = c.object(t, "POST", "/v1/federated-identity-providers",
		`{"name":"forge","providerIssuer":"https://issuer.example","localJwks":`+keySet(t, key)+`}`, 201).Identity
	identity = c.object(t, "POST", "/v1/federated-identities", `{"name":"main","serviceAccountIdentity":"ci",`+
		`"providerIdentity":"forge","providerSubject":"`+emulator.DefaultSubject+`","trustedAudiences":["a"],`+
		`"allowedScopes":["api:read"],"conditions":{"ref":"main","protected":true}}`, 201).Identity
	return account, provider, identity
}

// A federated identity that was made by API calls exchanges tokens, and what changes takes effect at once.
func TestFederatedIdentitiesOfTheAPI(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	account, provider, identity := c.federated(t, key)
	for path, want := range map[string]string{"/v1/federated-identity-providers/": provider,
		"/v1/federated-identities/": identity} {
		if got := c.object(t, "GET", path+want, "", 200); got.Identity != want {
			t.Errorf("GET %s%s = %+v", path, want, got)
		}
	}
	exchange := func(ref string) (int, granted) {
		token := signed(t, key, func(claims *jwt.Claims) {
			claims.Audience, claims.Others = []string{"a"}, map[string]any{"ref": ref, "protected": true}
		})
		form := exchangeForm(token)
		form.Set("service_account_id", account)
		return askToken(t, c, form)
	}
	if status, answer := exchange("other"); status != 400 || !strings.Contains(answer.Description, `claim "ref"`) {
		t.Errorf("another branch: %d %+v, want 400", status, answer)
	}
	status, answer := exchange("main")
	if status != 200 || answer.Scope != "api:read" {
		t.Fatalf("exchange = %d %+v, want a token that may read", status, answer)
	}
	expect := func(when, method string, want int) {
		t.Helper()
		request := apiRequest(t, c.url, method, "/v1/projects", `{"name":"`+when+`"}`)
		request.Header.Set("Authorization", "Bearer "+answer.AccessToken)
		if got := serve(c, request); got.Code != want {
			t.Errorf("%s: %s = %d %s, want %d", when, method, got.Code, got.Body, want)
		}
	}
	expect("new", "GET", 200)
	expect("reads", "POST", 403)
	const identities = "/v1/federated-identities/"
	c.object(t, "PUT", identities+identity, `{"allowedScopes":["api:write"]}`, 200)
	expect("writes", "POST", 201)
	c.object(t, "PUT", identities+identity, `{"status":"inactive"}`, 200)
	expect("inactive", "GET", 401)
	if status, answer := exchange("main"); status != 400 || !strings.Contains(answer.Description, "is inactive") {
		t.Errorf("inactive: %d %+v, want 400", status, answer)
	}
	c.object(t, "PUT", identities+identity, `{"status":"active"}`, 200)
	expect("active", "GET", 200)
	c.object(t, "PUT", "/v1/federated-identity-providers/"+provider, `{"status":"inactive"}`, 200)
	expect("inactive provider", "GET", 401)
	for _, used := range []string{"/v1/service-accounts/" + account, "/v1/federated-identity-providers/" + provider} {
		if status, _, body := c.call(t, "DELETE", used, ""); status != 409 || !strings.Contains(body, identity) {
			t.Errorf("DELETE %s in use = %d %s, want 409", used, status, body)
		}
	}
	c.object(t, "PUT", "/v1/federated-identity-providers/"+provider, `{"status":"active"}`, 200)
	c.object(t, "DELETE", identities+identity, "", 204)
	expect("deleted", "GET", 401)
	c.object(t, "DELETE", "/v1/federated-identity-providers/"+provider, "", 204)
	c.object(t, "DELETE", "/v1/service-accounts/"+account, "", 204)
}

// A token request can ask for fewer scopes. They stay its limit when the identity gets more, and after restarts.
func TestExchangeForFewerScopes(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	account, _, identity := c.federated(t, key)
	form := exchangeForm(signed(t, key, func(claims *jwt.Claims) {
		claims.Audience, claims.Others = []string{"a"}, map[string]any{"ref": "main", "protected": true}
	}))
	form.Set("service_account_id", account)
	form.Set("scope", "api:write")
	if status, answer := askToken(t, c, form); status != 400 || answer.Error != "invalid_scope" {
		t.Errorf("more than allowed: %d %+v, want 400 invalid_scope", status, answer)
	}
	allow := func(scopes string) {
		c.object(t, "PUT", "/v1/federated-identities/"+identity, `{"allowedScopes":[`+scopes+`]}`, 200)
	}
	allow(`"api:read","api:write"`)
	form.Set("scope", "api:read")
	_, narrow := askToken(t, c, form)
	form.Del("scope")
	_, full := askToken(t, c, form)
	if narrow.Scope != "api:read" || full.Scope != "api:read api:write" {
		t.Errorf("scopes %q and %q, want api:read and both", narrow.Scope, full.Scope)
	}
	expect := func(e http.Handler, when string, token granted, method string, want int) {
		t.Helper()
		request := newRequest(t, method, "/v1/projects", `{"name":"`+rand.Text()+`"}`)
		request.Header.Set("Authorization", "Bearer "+token.AccessToken)
		if got := serve(e, request); got.Code != want {
			t.Errorf("%s: %s = %d %s, want %d", when, method, got.Code, got.Body, want)
		}
	}
	for when, e := range map[string]*emulator.Emulator{"at once": c.Emulator,
		"after a restart": newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = c.Seed() })} {
		expect(e, when, narrow, "GET", 200)
		expect(e, when, narrow, "POST", 403)
		expect(e, when, full, "POST", 201)
	}
	allow(`"openid"`)
	expect(c, "allowed no more", narrow, "GET", 403)
}

// The official client leaves out of an update what does not change, also the name.
func TestUpdatesOfIdentitiesKeepWhatIsLeftOut(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	account, provider, identity := c.federated(t, key)
	client := c.vendorClient(t).IAM()
	c.object(t, "PUT", "/v1/service-accounts/"+account, `{"labels":{"a":"b"},"description":"x"}`, 200)
	renamed := "new"
	made, err := client.UpdateServiceAccount(t.Context(), account, iam.UpdateServiceAccountRequest{Name: &renamed})
	if err != nil || made.Name != renamed || made.Labels["a"] != "b" {
		t.Errorf("service account: %+v, %v, want the new name and the label", made, err)
	}
	revoked, err := client.UpdateFederatedIdentity(t.Context(), identity,
		iam.UpdateFederatedIdentityRequest{Status: iam.FederatedIdentityStatusRevoked})
	if err != nil || revoked.Name != "main" || revoked.Status != iam.FederatedIdentityStatusRevoked {
		t.Errorf("federated identity: %+v, %v, want it revoked with its name", revoked, err)
	}
	described, err := client.UpdateFederatedIdentityProvider(t.Context(), provider,
		iam.UpdateFederatedIdentityProviderRequest{Description: "x"})
	if err != nil || described.Name != "forge" || described.Description != "x" {
		t.Errorf("provider: %+v, %v, want the description and its name", described, err)
	}
}

// A federated identity that trusts no audience accepts no token, however audiences are compared.
func TestNoTrustedAudience(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	account, _, identity := c.federated(t, key)
	for _, mode := range []string{"any", "all", "exact"} {
		c.object(t, "PUT", "/v1/federated-identities/"+identity, `{"trustedAudiences":[],"audienceMatchMode":"`+mode+
			`"}`, 200)
		form := exchangeForm(signed(t, key, func(claims *jwt.Claims) {
			claims.Audience, claims.Others = []string{"a"}, map[string]any{"ref": "main", "protected": true}
		}))
		form.Set("service_account_id", account)
		if status, answer := askToken(t, c, form); status != 400 || !strings.Contains(answer.Description, "audience") {
			t.Errorf("%s: %d %+v, want 400", mode, status, answer)
		}
	}
	// The state is kept with it.
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: c.Seed()}); err != nil {
		t.Error(err)
	}
}

// An access credential authenticates until it is deleted or expires.
func TestAccessCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t)
		send := func(method, path, body string, want int) string {
			t.Helper()
			request := newRequest(t, method, path, body)
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			answer := serve(e, request)
			if answer.Code != want {
				t.Fatalf("%s %s = %d %s, want %d", method, path, answer.Code, answer.Body, want)
			}
			return answer.Body.String()
		}
		const list = "/v1/service-accounts/ci/access-credentials"
		send("POST", "/v1/service-accounts", `{"name":"ci"}`, 201)
		send("POST", list, `{"name":"x","scopes":["all"]}`, 400)
		send("POST", list, `{"name":"x","expiresAt":"1999-01-01T00:00:00Z"}`, 400)
		expires := time.Now().Add(time.Hour).Format(time.RFC3339)
		var made iam.ServiceAccountCreatedAccessCredential
		if err := json.Unmarshal([]byte(send("POST", list,
			`{"name":"k","scopes":["api:read"],"expiresAt":"`+expires+`"}`, 201)), &made); err != nil {
			t.Fatal(err)
		}
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {made.AccessKey},
			"client_secret": {made.AccessSecret}}
		status, answer := askToken(t, e, form)
		if status != 200 || answer.Scope != "api:read" {
			t.Fatalf("token = %d %+v", status, answer)
		}
		expect := func(when, method string, want int) {
			t.Helper()
			request := newRequest(t, method, "/v1/projects", `{"name":"x"}`)
			request.Header.Set("Authorization", "Bearer "+answer.AccessToken)
			if got := serve(e, request); got.Code != want {
				t.Errorf("%s: %d %s, want %d", when, got.Code, got.Body, want)
			}
		}
		expect("new", "GET", 200)
		expect("new", "POST", 403)
		if body := send("GET", list, "", 200); strings.Contains(body, made.AccessSecret) ||
			!strings.Contains(body, `"lastUsedAt"`) {
			t.Errorf("the list is %s, want the time of its use and no secret", body)
		}
		<-time.After(59 * time.Minute)
		_, answer = askToken(t, e, form)
		expect("before it expires", "GET", 200)
		<-time.After(time.Minute)
		expect("expired", "GET", 401)
		if status, _ := askToken(t, e, form); status != 401 {
			t.Errorf("a token for an expired credential: %d, want 401", status)
		}
		if err := json.Unmarshal([]byte(send("POST", list, `{"name":"k"}`, 201)), &made); err != nil {
			t.Fatal(err)
		}
		form.Set("client_id", made.AccessKey)
		form.Set("client_secret", made.AccessSecret)
		_, answer = askToken(t, e, form)
		expect("without scopes", "POST", 201)
		send("DELETE", list+"/"+made.Identity, "", 204)
		expect("deleted", "GET", 401)
	})
}

// The client knows every key, also of what a seed made.
func TestClientKnowsIdentities(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	c.federated(t, key)
	c.object(t, "POST", "/v1/service-accounts/ci/access-credentials", `{"name":"k"}`, 201)
	for path, into := range map[string]any{
		"/v1/service-accounts":                       &[]iam.ServiceAccount{},
		"/v1/service-accounts/ci/access-credentials": &[]iam.ServiceAccountAccessCredential{},
		"/v1/federated-identities":                   &[]iam.FederatedIdentity{},
		"/v1/federated-identity-providers":           &[]iam.FederatedIdentityProvider{},
	} {
		c.knowsEveryKey(t, path, into)
	}
	for path, bodies := range map[string][]string{
		"/v1/federated-identity-providers": {`{"name":"x"}`, `{"name":"x","providerIssuer":"i","status":"odd"}`,
			`{"name":"x","providerIssuer":"i","localJwks":{"keys":[]}}`},
		"/v1/federated-identities": {`{"name":"x"}`, `{"name":"x","serviceAccountIdentity":"ci"}`,
			`{"name":"x","serviceAccountIdentity":"ci","providerIdentity":"forge"}`,
			`{"name":"x","serviceAccountIdentity":"ci","providerIdentity":"forge","providerSubject":"s",` +
				`"status":"odd"}`},
	} {
		for _, body := range bodies {
			c.object(t, "POST", path, body, 400)
		}
	}
	c.object(t, "POST", "/v1/federated-identity-providers",
		`{"name":"x","providerIssuer":"https://issuer.example"}`, 409)
}
