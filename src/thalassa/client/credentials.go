package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// tokenTimeout bounds one fetch of an access token.
const tokenTimeout = 15 * time.Second

// authorization makes the Authorization header of calls.
type authorization interface {
	// header returns its value, fetching a token first if necessary; the wait ends with ctx.
	header(ctx context.Context) (string, error)
	// renew reports whether another header may do better than the refused one, and makes the next one be made anew.
	renew(refused string) bool
}

// authorize returns how calls with these credentials are authorised. Access tokens are fetched through network.
func authorize(c secret.Credentials, endpoint string, network http.RoundTripper) authorization {
	if c.PersonalAccessToken != "" {
		return fixed("Token " + c.PersonalAccessToken)
	}
	t := &tokens{
		owner: c.String(),
		http: &http.Client{
			Transport: network, Timeout: tokenTimeout,
			CheckRedirect: func(next *http.Request, _ []*http.Request) error {
				return fmt.Errorf("the cloud redirects to %s; set endpoint in the cloud-config to where the API is",
					next.URL.Redacted())
			},
		},
	}
	tokenURL := endpoint + "/oidc/token"
	if c.Exchange != nil {
		t.fetch = func(ctx context.Context) (*oauth2.Token, error) {
			return exchange(ctx, c.Exchange, t.http, tokenURL)
		}
		return t
	}
	config := clientcredentials.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: tokenURL}
	t.fetch = func(ctx context.Context) (*oauth2.Token, error) {
		return config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.http))
	}
	return t
}

// fixed is a header that never changes.
type fixed string

func (f fixed) header(context.Context) (string, error) { return string(f), nil }

func (fixed) renew(string) bool { return false }

// tokens keeps an access token until shortly before it expires, or until the cloud refuses it. Concurrent callers share
// one fetch, and its failure; each waits no longer than its own context allows.
type tokens struct {
	owner string // for errors
	fetch func(context.Context) (*oauth2.Token, error)
	http  *http.Client
	group singleflight.Group

	mu      sync.Mutex
	current *oauth2.Token
}

func (t *tokens) header(ctx context.Context) (string, error) {
	if token := t.valid(); token != nil {
		return bearer(token), nil
	}
	fetched := t.group.DoChan("", func() (any, error) { return t.fetchAnew() })
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for an access token for %s: %w", t.owner, context.Cause(ctx))
	case result := <-fetched:
		if result.Err != nil {
			return "", fmt.Errorf("fetching an access token for %s: %w", t.owner, withoutAnswer(result.Err))
		}
		return bearer(result.Val.(*oauth2.Token)), nil
	}
}

// refusal is what the token endpoint says, without the rest of its answer: it is the one endpoint that is told secrets.
type refusal struct{ *oauth2.RetrieveError }

func (r refusal) Error() string {
	said := strings.TrimSpace(r.ErrorCode + " " + r.ErrorDescription)
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", r.Response.StatusCode, said))
}

func (r refusal) Unwrap() error { return r.RetrieveError }

func withoutAnswer(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return refusal{refused}
	}
	return err
}

func bearer(token *oauth2.Token) string { return "Bearer " + token.AccessToken }

func (t *tokens) valid() *oauth2.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current.Valid() {
		return t.current
	}
	return nil
}

func (t *tokens) fetchAnew() (*oauth2.Token, error) {
	// The fetch serves everybody who waits, so it has a context of its own; the HTTP client bounds it.
	token, err := t.fetch(context.Background())
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = token
	return token, nil
}

func (t *tokens) renew(refused string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Another call may have renewed it already; the newer token stays.
	if t.current != nil && bearer(t.current) == refused {
		t.current = nil
	}
	return true
}
