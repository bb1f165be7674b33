package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// exchanging answers token exchanges like the cloud does and remembers their forms.
type exchanging struct {
	forms  []url.Values
	status int
	body   string
}

func (e *exchanging) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/oidc/token" {
		sendJSON(w, http.StatusOK, fmt.Sprintf(`{"identity": %q}`, r.Header.Get("Authorization")))
		return
	}
	if err := r.ParseForm(); err != nil || r.Header.Get("Authorization") != "" ||
		r.Header.Get("X-Organisation-Identity") != "" {
		sendJSON(w, http.StatusBadRequest, `{"error": "invalid_request"}`)
		return
	}
	e.forms = append(e.forms, r.PostForm)
	sendJSON(w, e.status, e.body)
}

func exchangeFor(t *testing.T, subject string) secret.Credentials {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(subject+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return secret.Credentials{Exchange: &secret.Exchange{ServiceAccount: "sa-1", Organisation: "o-1",
		SubjectTokenFile: file,
		Lifetime:         2 * time.Hour}}
}

func TestTokenExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		credentials := exchangeFor(t, "subject-1")
		e := &exchanging{status: http.StatusOK,
			body: `{"access_token": "at-1", "token_type": "Bearer", "expires_in": 7200}`}
		c := newClient(t, credentials, e.serve)
		for range 3 {
			if vpc, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil ||
				vpc.Identity != "Bearer at-1" {
				t.Fatalf("the call was made as %v, %v", vpc, err)
			}
		}
		want := url.Values{
			"grant_type":            {"urn:ietf:params:oauth:grant-type:token-exchange"},
			"subject_token":         {"subject-1"},
			"subject_token_type":    {"urn:ietf:params:oauth:token-type:jwt"},
			"organisation_id":       {"o-1"},
			"service_account_id":    {"sa-1"},
			"access_token_lifetime": {"7200s"},
		}
		if len(e.forms) != 1 || e.forms[0].Encode() != want.Encode() {
			t.Errorf("exchanges = %v, want one of %v", e.forms, want)
		}
		// The kubelet has renewed the file meanwhile.
		if err := os.WriteFile(credentials.Exchange.SubjectTokenFile, []byte("subject-2"), 0o600); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Hour)
		if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil || len(e.forms) != 2 ||
			e.forms[1].Get("subject_token") != "subject-2" {
			t.Errorf("after the token expired: %v, exchanges %v", err, e.forms)
		}
	})
}

func TestTokenExchangeThatFails(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		kind   error
		says   string
	}{
		"refused": {400, `{"error": "invalid_grant", "error_description": "the audience is not trusted"}`,
			ErrUnauthorised, "the audience is not trusted"},
		"unauthorised": {401, `{"error": "invalid_client"}`, ErrUnauthorised,
			`service account "sa-1" of organisation "o-1"`},
		"server error":   {500, `{}`, ErrUnavailable, "500"},
		"no token":       {200, `{"token_type": "Bearer"}`, ErrMalformed, "holds no access token"},
		"no JSON":        {200, `at-1`, ErrMalformed, "holds no access token"},
		"a page":         {403, "<html>\n" + strings.Repeat("s3cret ", 10_000), ErrUnauthorised, "HTTP 403"},
		"accepted later": {202, `{}`, ErrUnauthorised, "202"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &exchanging{status: tt.status, body: tt.body}
				_, err := Get[iaas.Vpc](t.Context(), newClient(t, exchangeFor(t, "s3cret"), e.serve), iaas.VpcEndpoint+
					"/vpc-1")
				if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.says) {
					t.Errorf("error = %v, want kind %v with %q", err, tt.kind, tt.says)
				}
				if said := fmt.Sprint(err); len(said) > 1000 || strings.Contains(said, "s3cret") {
					t.Errorf("error %v shows the subject token", err)
				}
			})
		})
	}
}

func TestMissingSubjectToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		credentials := secret.Credentials{Exchange: &secret.Exchange{SubjectTokenFile: filepath.Join(t.TempDir(),
			"none")}}
		_, err := Get[iaas.Vpc](t.Context(), newClient(t, credentials, (&exchanging{}).serve), iaas.VpcEndpoint+
			"/vpc-1")
		if !errors.Is(err, ErrUnauthorised) || !strings.Contains(err.Error(), "reading the subject token: open "+
			credentials.Exchange.SubjectTokenFile) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestTokenWithoutLifetimeIsRenewed(t *testing.T) {
	now := time.Now()
	for body, want := range map[string]time.Duration{
		`{"access_token": "a"}`:                    time.Hour,
		`{"access_token": "a", "expires_in": 0}`:   time.Hour,
		`{"access_token": "a", "expires_in": 600}`: 10 * time.Minute,
	} {
		token, err := readToken([]byte(body), now)
		if err != nil || token.Expiry.Sub(now) != want {
			t.Errorf("%s: expires after %s, %v; want %s", body, token.Expiry.Sub(now), err, want)
		}
	}
}

func TestCredentialsShowNoSecret(t *testing.T) {
	for _, c := range []secret.Credentials{
		{PersonalAccessToken: "s3cret"}, {ClientID: "id", ClientSecret: "s3cret"}, exchangeFor(t, "s3cret"),
	} {
		if said := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(said, "s3cret") {
			t.Errorf("printed as %s", said)
		}
	}
}
