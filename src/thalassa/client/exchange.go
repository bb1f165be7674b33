package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// defaultLifetime is what a token without expires_in lives; the official client supposes the same.
const defaultLifetime = time.Hour

// maxTokenAnswer bounds the answer with a token.
const maxTokenAnswer = 1 << 20

// exchange makes one exchange of tokens. What the cloud refuses is an *oauth2.RetrieveError.
func exchange(ctx context.Context, e *secret.Exchange, client *http.Client, tokenURL string) (*oauth2.Token, error) {
	subject, err := os.ReadFile(e.SubjectTokenFile)
	if err != nil {
		return nil, localError{fmt.Errorf("reading the subject token: %w", err)}
	}
	form := url.Values{
		"grant_type":            {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":         {strings.TrimSpace(string(subject))},
		"subject_token_type":    {"urn:ietf:params:oauth:token-type:jwt"},
		"organisation_id":       {e.Organisation},
		"service_account_id":    {e.ServiceAccount},
		"access_token_lifetime": {strconv.Itoa(int(e.Lifetime/time.Second)) + "s"},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("preparing the token exchange: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenAnswer))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading the token exchange's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusedToken(response, body)
	}
	return readToken(body, time.Now())
}

func refusedToken(response *http.Response, body []byte) error {
	refused := &oauth2.RetrieveError{Response: response, Body: body}
	var answer struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &answer) == nil {
		refused.ErrorCode, refused.ErrorDescription = answer.Code, answer.Description
	}
	return refused
}

// errNoToken: the answer's content is not repeated, it may hold part of a token.
const errNoToken = malformedError("the answer of the token endpoint holds no access token")

func readToken(body []byte, now time.Time) (*oauth2.Token, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"` // seconds
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		return nil, errNoToken
	}
	lifetime := time.Duration(answer.ExpiresIn) * time.Second
	if answer.ExpiresIn <= 0 {
		lifetime = defaultLifetime
	}
	return &oauth2.Token{AccessToken: answer.AccessToken, TokenType: "Bearer", Expiry: now.Add(lifetime)}, nil
}
