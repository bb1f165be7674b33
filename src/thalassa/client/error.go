package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// What went wrong with a call, for errors.Is.
var (
	// ErrBadRequest: the cloud refuses what was asked for (400, 422). Repeating it changes nothing.
	ErrBadRequest = errors.New("refused by the cloud")
	// ErrUnauthorised: the credentials are unknown, expired or lack a permission (401, 403).
	ErrUnauthorised = errors.New("not permitted")
	// ErrNotFound: the object does not exist (404).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the object's present state forbids it (409).
	ErrConflict = errors.New("in conflict with the object's state")
	// ErrThrottled: too many requests (429).
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: no usable answer: a server error (5xx), no connection, or the deadline passed.
	// Whether a write happened is not known.
	ErrUnavailable = errors.New("cloud API unavailable")
	// ErrShutdown: the process is stopping and makes no more writes.
	ErrShutdown = errors.New("not done")
	// ErrMalformed: an answer that is not what the API promises.
	ErrMalformed = errors.New("malformed answer")
)

// Error is a call that did not succeed. Its kind is found by errors.Is and one of the sentinels of this package.
type Error struct {
	Method string
	Path   string // without the query
	Status int    // HTTP status; 0 when there was no answer
	// Message is the cloud's own explanation, or the reason why there is none.
	Message string
	Kind    error // one of the sentinels of this package
	cause   error
}

// Error is one line: the call, what the cloud said and what to do about it.
func (e *Error) Error() string {
	line := fmt.Sprintf("%s %s: %v", e.Method, e.Path, e.Kind)
	if e.Status != 0 {
		line += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		line += ": " + e.Message
	}
	if advice := e.advice(); advice != "" {
		line += "; " + advice
	}
	return line
}

// Unwrap makes errors.Is find the kind and, where there was no answer, the reason.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.cause} }

func (e *Error) advice() string {
	if errors.Is(e.Kind, ErrUnauthorised) {
		return "check cloudCredentials and organisation in the cloud-config, and the credential's permissions"
	}
	if errors.Is(e.Kind, ErrUnavailable) && e.Status == 0 {
		return "check endpoint in the cloud-config and the network towards it"
	}
	return ""
}

// Plain returns the Error within err, without the layers of the HTTP libraries around it that repeat method and URL;
// any other error is returned as it is.
func Plain(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return err
}

// maxMessage bounds what is repeated of an answer that is no JSON: a proxy may send a whole page.
const maxMessage = 200

func statusError(request *http.Request, response *http.Response, body []byte) *Error {
	failure := &Error{Method: request.Method, Path: request.URL.Path, Status: response.StatusCode, Message: message(body), Kind: kindOf(response.StatusCode)}
	// "Not found" is an answer that things are built upon, so it counts only in the API's own form: a gateway says it too.
	if errors.Is(failure, ErrNotFound) && len(body) > 0 && !strings.Contains(response.Header.Get("Content-Type"), "json") {
		failure.Kind = ErrMalformed
	}
	return failure
}

func kindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrUnauthorised
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusTooManyRequests:
		return ErrThrottled
	}
	if status >= http.StatusInternalServerError {
		return ErrUnavailable
	}
	return ErrBadRequest
}

// message reads the API's error body, {"message": "…"}.
func message(body []byte) string {
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Message != "" {
		return answer.Message
	}
	text := strings.Join(strings.Fields(string(body)), " ")
	return text[:min(len(text), maxMessage)]
}
