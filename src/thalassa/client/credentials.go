package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
)

// Credentials authenticate the client: a personal access token, or an OIDC client with its secret.
type Credentials struct {
	PersonalAccessToken string
	ClientID            string
	ClientSecret        string
}

// String never shows a secret.
func (c Credentials) String() string {
	if c.PersonalAccessToken != "" {
		return "personal access token"
	}
	return "client " + c.ClientID
}

// GoString never shows a secret either.
func (c Credentials) GoString() string { return c.String() }

// authorization makes the Authorization header of calls.
type authorization interface {
	// header returns its value, fetching a token first if necessary; the fetch ends with ctx.
	header(ctx context.Context) (string, error)
	// forget makes the next header be made anew: the cloud did not accept the last one.
	forget()
}

// authorize returns how calls are authorised. Tokens of OIDC clients are fetched through transport.
func (c Credentials) authorize(endpoint string, transport http.RoundTripper) authorization {
	if c.PersonalAccessToken != "" {
		return fixed("Token " + c.PersonalAccessToken)
	}
	return &tokens{
		config: clientcredentials.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: strings.TrimRight(endpoint, "/") + "/oidc/token",
		},
		http: &http.Client{
			Transport: transport, Timeout: callTimeout,
			CheckRedirect: func(next *http.Request, _ []*http.Request) error {
				return fmt.Errorf("the cloud redirects to %s; set endpoint in the cloud-config to where the API is", next.URL)
			},
		},
	}
}

// fixed is a header that never changes.
type fixed string

func (f fixed) header(context.Context) (string, error) { return string(f), nil }

func (fixed) forget() {}

// tokens keeps an access token until shortly before it expires, or until the cloud refuses it. Concurrent callers share one
// fetch, and its failure; each waits no longer than its own context allows.
type tokens struct {
	config clientcredentials.Config
	http   *http.Client
	group  singleflight.Group

	mu      sync.Mutex
	current *oauth2.Token
}

func (t *tokens) header(ctx context.Context) (string, error) {
	if token := t.valid(); token != nil {
		return "Bearer " + token.AccessToken, nil
	}
	fetched := t.group.DoChan("", func() (any, error) { return t.fetch() })
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for an access token for client %q: %w", t.config.ClientID, context.Cause(ctx))
	case result := <-fetched:
		if result.Err != nil {
			return "", fmt.Errorf("fetching an access token for client %q: %w", t.config.ClientID, result.Err)
		}
		return "Bearer " + result.Val.(*oauth2.Token).AccessToken, nil
	}
}

func (t *tokens) valid() *oauth2.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current.Valid() {
		return t.current
	}
	return nil
}

func (t *tokens) fetch() (*oauth2.Token, error) {
	// The fetch serves everybody who waits; the HTTP client bounds it.
	token, err := t.config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, t.http))
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = token
	return token, nil
}

func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = nil
}
