package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
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

// authorization returns the value of the Authorization header for the next call.
type authorization func() (string, error)

// authorize returns how calls are authorised. Tokens of OIDC clients are fetched through transport when first needed and kept
// until shortly before they expire; concurrent calls share one fetch.
func (c Credentials) authorize(endpoint string, transport http.RoundTripper) authorization {
	if c.PersonalAccessToken != "" {
		return func() (string, error) { return "Token " + c.PersonalAccessToken, nil }
	}
	config := clientcredentials.Config{
		ClientID:     c.ClientID,
		ClientSecret: c.ClientSecret,
		TokenURL:     strings.TrimRight(endpoint, "/") + "/oidc/token",
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: transport, Timeout: callTimeout})
	source := config.TokenSource(ctx)
	return func() (string, error) {
		token, err := source.Token()
		if err != nil {
			return "", fmt.Errorf("fetching an access token for client %q: %w", c.ClientID, err)
		}
		return "Bearer " + token.AccessToken, nil
	}
}
