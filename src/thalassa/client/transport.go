package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

const (
	// callTimeout bounds one call, from the moment it may be sent until its body is read.
	callTimeout = 30 * time.Second
	// defaultRate and defaultBurst bound the calls of one process (requests per second).
	defaultRate  = 50
	defaultBurst = 100
)

// transport is what every call goes through: rate limit, authorisation, deadline, and errors that say what they are.
type transport struct {
	base        http.RoundTripper
	credentials authorization
	limiter     *rate.Limiter
	writes      *writes
	health      *health
}

// RoundTrip makes one call. Any answer with a status of 400 or more is an *Error, so that nobody above has to look at statuses.
// The body of a good answer has been read completely: a truncated one is an error here and not half a list above.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		if err := t.writes.begin(); err != nil {
			return nil, t.fail(request, err)
		}
		defer t.writes.end()
	}
	if err := t.limiter.Wait(request.Context()); err != nil {
		return nil, t.fail(request, fmt.Errorf("waiting for the rate limit of %v requests a second: %w", t.limiter.Limit(), err))
	}
	header, err := t.credentials.header(request.Context())
	if err != nil {
		return nil, t.fail(request, err)
	}
	ctx, cancel := context.WithTimeoutCause(request.Context(), callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	request = request.Clone(ctx)
	request.Header.Set("Authorization", header)
	response, err := t.exchange(request)
	if err != nil {
		return nil, t.fail(request, err)
	}
	t.health.succeeded()
	return response, nil
}

func (t *transport) exchange(request *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if response.StatusCode >= http.StatusBadRequest {
		return nil, statusError(request, response, body)
	}
	if trouble := malformed(request, response, body); trouble != "" {
		return nil, &Error{Method: request.Method, Path: request.URL.Path, Status: response.StatusCode, Kind: ErrMalformed, Message: trouble}
	}
	return response, nil
}

// malformed says what is wrong with an answer that claims success; "" when nothing is. The official client would take an empty
// or unreadable body for "nothing is there", and a redirection would carry the credentials elsewhere and turn writes into reads.
func malformed(request *http.Request, response *http.Response, body []byte) string {
	kind := response.Header.Get("Content-Type")
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		return fmt.Sprintf("the cloud redirects to %s; set endpoint in the cloud-config to where the API is", response.Header.Get("Location"))
	case request.Method == http.MethodGet && len(body) == 0:
		return "the answer is empty"
	case len(body) > 0 && !strings.Contains(kind, "json"):
		return fmt.Sprintf("the answer is %q and not JSON", kind)
	case len(body) > 0 && !json.Valid(body):
		return "the answer is no valid JSON"
	}
	return ""
}

// fail turns every failure into an *Error and remembers whether it speaks against the cloud or the credentials.
func (t *transport) fail(request *http.Request, err error) error {
	failure := &Error{Method: request.Method, Path: request.URL.Path, Kind: ErrUnavailable, Message: err.Error(), cause: err}
	var known *Error
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &known):
		failure = known
	case errors.As(err, &refused):
		failure.Status = refused.Response.StatusCode
		if failure.Kind = kindOf(failure.Status); errors.Is(failure.Kind, ErrBadRequest) {
			failure.Kind = ErrUnauthorised // how RFC 6749 refuses unknown credentials
		}
	case errors.Is(err, errDraining):
		failure.Kind = ErrShutdown
	case context.Cause(request.Context()) != nil:
		failure.Message = context.Cause(request.Context()).Error()
	}
	t.remember(failure)
	return failure
}

// remember keeps what the failure says about the cloud and the credentials. "Not found" or "refused" are good answers.
func (t *transport) remember(failure *Error) {
	switch {
	case errors.Is(failure, ErrShutdown):
	case errors.Is(failure, ErrUnauthorised), errors.Is(failure, ErrUnavailable), errors.Is(failure, ErrMalformed):
		if failure.Status == http.StatusUnauthorized {
			t.credentials.forget()
		}
		t.health.failed(failure)
	default:
		t.health.succeeded()
	}
}
