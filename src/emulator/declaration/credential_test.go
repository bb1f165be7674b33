package declaration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const (
	clientCredentials = "client_credentials"
	tokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange" // #nosec G101 -- the name of a grant
)

// way is a way to authenticate.
type way struct {
	name string
	// scheme is the one of the OpenAPI document for requests to the API.
	scheme string
	// grant and subject are the type of the grant, and that of the token to exchange.
	grant, subject string
	// inForm is whether the client's credentials are in the form, and not in the header.
	inForm bool
	// made is whether the credentials are an access credential that is created first.
	made bool
}

// ways are all ways to authenticate.
func ways() []way {
	return []way{
		{name: "personal access token", scheme: "token"},
		{name: "client id and secret", scheme: "basic"},
		{name: "client credentials in a header", scheme: "bearer", grant: clientCredentials},
		{name: "client credentials in a form", scheme: "bearer", grant: clientCredentials, inForm: true},
		{name: "access credential", scheme: "bearer", grant: clientCredentials, made: true},
		{name: "access credential without a token", scheme: "basic", made: true},
		{name: "federated JWT", scheme: "bearer", grant: tokenExchange,
			subject: "urn:ietf:params:oauth:token-type:jwt"},
		{name: "federated ID token", scheme: "bearer", grant: tokenExchange,
			subject: "urn:ietf:params:oauth:token-type:id_token"},
	}
}

// credential signs requests in one way. It gets a new bearer token before the old one expires.
type credential struct {
	way
	cloud      *emulator.Emulator
	id, secret string
	bearer     string
	expires    time.Time
}

func newCredential(t *testing.T, cloud *emulator.Emulator, w way) *credential {
	t.Helper()
	c := &credential{way: w, cloud: cloud, id: emulator.DefaultClientID, secret: emulator.DefaultClientSecret}
	if w.made {
		c.makeOwn(t)
	}
	return c
}

// makeOwn creates an access credential for the service account of the seed.
func (c *credential) makeOwn(t *testing.T) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost,
		"/v1/service-accounts/"+emulator.DefaultServiceAccount+"/access-credentials",
		strings.NewReader(`{"name":"drive"}`))
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	answer := httptest.NewRecorder()
	c.cloud.ServeHTTP(answer, request)
	var made struct{ AccessKey, AccessSecret string }
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || made.AccessSecret == "" {
		t.Fatalf("creating an access credential: %d %s, %v", answer.Code, answer.Body, err)
	}
	c.id, c.secret = made.AccessKey, made.AccessSecret
}

// sign adds the credentials to a request.
func (c *credential) sign(t *testing.T, request *http.Request) {
	t.Helper()
	switch c.scheme {
	case "token":
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	case "basic":
		request.SetBasicAuth(c.id, c.secret)
	default:
		if !time.Now().Before(c.expires) {
			c.renew(t)
		}
		request.Header.Set("Authorization", "Bearer "+c.bearer)
	}
}

// renew gets a bearer token.
func (c *credential) renew(t *testing.T) {
	t.Helper()
	form := url.Values{"grant_type": {c.grant}}
	switch {
	case c.grant == tokenExchange:
		subject, err := c.cloud.SubjectToken("", "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		form.Set("subject_token", subject)
		form.Set("subject_token_type", c.subject)
		form.Set("organisation_id", emulator.DefaultOrganisation)
		form.Set("service_account_id", emulator.DefaultServiceAccount)
	case c.inForm:
		form.Set("client_id", c.id)
		form.Set("client_secret", c.secret)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/oidc/token",
		strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.grant == clientCredentials && !c.inForm {
		request.SetBasicAuth(c.id, c.secret)
	}
	answer := httptest.NewRecorder()
	c.cloud.ServeHTTP(answer, request)
	var token struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &token); err != nil || token.AccessToken == "" {
		t.Fatalf("getting a bearer token with %s: %d %s, %v", c.name, answer.Code, answer.Body, err)
	}
	c.bearer, c.expires = token.AccessToken, time.Now().Add(time.Duration(token.ExpiresIn)*time.Second)
}
