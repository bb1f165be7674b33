package client

import (
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

// exchangeOf returns the request for one exchange of tokens. It differs from a request with client credentials only in
// its parameters.
func exchangeOf(e *secret.Exchange, tokenURL string) (clientcredentials.Config, error) {
	subject, err := os.ReadFile(e.SubjectTokenFile)
	if err != nil {
		return clientcredentials.Config{}, localError{fmt.Errorf("reading the subject token: %w", err)}
	}
	return clientcredentials.Config{TokenURL: tokenURL, AuthStyle: oauth2.AuthStyleInParams, EndpointParams: url.Values{
		"grant_type":            {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":         {strings.TrimSpace(string(subject))},
		"subject_token_type":    {"urn:ietf:params:oauth:token-type:jwt"},
		"organisation_id":       {e.Organisation},
		"service_account_id":    {e.ServiceAccount},
		"access_token_lifetime": {strconv.Itoa(int(e.Lifetime/time.Second)) + "s"},
	}}, nil
}
