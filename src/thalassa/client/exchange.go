package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// defaultLifetime is what a token without expires_in lives; the official client supposes the same.
const defaultLifetime = time.Hour

// errNoToken: the answer's content is not repeated, it may hold part of a token.
const errNoToken = malformedError("the answer of the token endpoint holds no access token")

// exchange makes one exchange of tokens (RFC 8693), with the HTTP client of the context. What the cloud refuses is an
// *oauth2.RetrieveError.
func exchange(ctx context.Context, e *secret.Exchange, tokenURL string) (*oauth2.Token, error) {
	subject, err := os.ReadFile(e.SubjectTokenFile)
	if err != nil {
		return nil, localError{fmt.Errorf("reading the subject token: %w", err)}
	}
	config := clientcredentials.Config{TokenURL: tokenURL, AuthStyle: oauth2.AuthStyleInParams,
		EndpointParams: url.Values{
			"grant_type":            {"urn:ietf:params:oauth:grant-type:token-exchange"},
			"subject_token":         {strings.TrimSpace(string(subject))},
			"subject_token_type":    {"urn:ietf:params:oauth:token-type:jwt"},
			"organisation_id":       {e.Organisation},
			"service_account_id":    {e.ServiceAccount},
			"access_token_lifetime": {strconv.Itoa(int(e.Lifetime/time.Second)) + "s"},
		}}
	token, err := config.Token(ctx)
	var sent *url.Error
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &sent), errors.As(err, &refused):
		return nil, err
	case err != nil:
		return nil, errNoToken
	case !token.Expiry.After(time.Now()):
		token.Expiry = time.Now().Add(defaultLifetime)
	}
	return token, nil
}
