package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// kind is what went wrong with a call, as people read it, and as the reason in metrics.
type kind struct{ text, reason string }

func (k *kind) Error() string { return k.text }

// What went wrong with a call, for errors.Is.
var (
	// ErrBadRequest: the cloud refuses what was asked for (400, 422). Repeating it changes nothing.
	ErrBadRequest error = &kind{"refused by the cloud", "refused"}
	// ErrUnauthorised: the credentials are unknown, expired or lack a permission (401, 403).
	ErrUnauthorised error = &kind{"not permitted", "unauthorised"}
	// ErrForbidden: the credentials lack a permission (403), which is an ErrUnauthorised, too.
	ErrForbidden error = forbidden{ErrUnauthorised}
	// ErrNotFound: the object does not exist (404).
	ErrNotFound error = &kind{"not found", "not_found"}
	// ErrConflict: the object's present state forbids it (409).
	ErrConflict error = &kind{"in conflict with the object's state", "conflict"}
	// ErrQuota: a quota of the organisation is used up; which status says so is not documented, the message does.
	ErrQuota error = &kind{"quota exceeded", "quota"}
	// ErrThrottled: too many requests (429).
	ErrThrottled error = &kind{"throttled", "throttled"}
	// ErrUnavailable: no usable answer: a server error (5xx), no connection, or the deadline passed.
	// Whether a write happened is not known.
	ErrUnavailable error = &kind{"cloud API unavailable", "unavailable"}
	// ErrShutdown: the process is stopping and makes no more calls.
	ErrShutdown = errors.New("not done")
	// ErrReadOnly: the client refuses writes.
	ErrReadOnly = errors.New("refused, because this program only reads")
	// ErrMalformed: an answer that is not what the API promises.
	ErrMalformed error = &kind{"malformed answer", "malformed"}
)

// forbidden reads like what it is a part of.
type forbidden struct{ error }

func (f forbidden) Unwrap() error { return f.error }

// Error is a call that did not succeed. Its kind is found by errors.Is and one of the sentinels of this package.
type Error struct {
	Method string
	Path   string // without the query
	Status int    // HTTP status; 0 when there was no answer
	// Message is the cloud's own explanation, or the reason why there is none.
	Message string
	Kind    error // one of the sentinels of this package
	// RetryAfter is how long the cloud asked to wait; 0 when it did not.
	RetryAfter time.Duration
	cause      error
	unsent     bool // the request has not reached the cloud for sure
	renewed    bool // the credentials were refused and others will be used next time
	untrusted  bool // the API's certificate was not accepted
	ofObject   bool // the answer is JSON, and only its part about one object is malformed
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
	switch {
	case errors.Is(e.Kind, ErrUnauthorised):
		return "check cloudCredentials and organisation in the cloud-config, and the credential's permissions"
	case errors.Is(e.Kind, ErrQuota):
		return "delete objects that are not needed, or ask the cloud's support for a higher quota"
	case errors.Is(e.Kind, ErrThrottled) && e.RetryAfter > 0:
		return fmt.Sprintf("it is retried in %s", e.RetryAfter.Round(time.Second))
	case errors.Is(e.Kind, ErrThrottled):
		return "it is retried automatically"
	case errors.Is(e.Kind, ErrConflict):
		return "it is retried automatically; if the problem persists, check in the cloud what uses or changes the " +
			"object"
	case errors.Is(e.Kind, ErrMalformed) && !redirects(e.Status):
		return "check that endpoint in the cloud-config is the cloud's API, and that no proxy answers instead of it"
	case e.untrusted:
		return "if a private certificate authority signed the API's certificate, set caBundle in the cloud-config"
	case errors.Is(e.Kind, ErrUnavailable) && e.Status == 0:
		return "check endpoint in the cloud-config and the network connection to it"
	case errors.Is(e.Kind, ErrUnavailable) && e.Status < http.StatusMultipleChoices:
		return "it is retried automatically; if the problem persists, check the network connection to the cloud"
	case errors.Is(e.Kind, ErrUnavailable):
		return "it is retried automatically; if the problem persists, ask the cloud's support"
	}
	return ""
}

// redirects says that the answer led elsewhere; its message says what to do.
func redirects(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest
}

// RetryAfter returns how long the cloud asked to wait before the call that err is about is made again; 0 when it did
// not.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// maxMessage bounds what is repeated of what others wrote, in bytes: a proxy may send a whole page.
const maxMessage = 500

func statusError(request *http.Request, response *http.Response, body []byte, now time.Time) *Error {
	failure := &Error{
		Method: request.Method, Path: request.URL.Path, Status: response.StatusCode, Message: message(body),
		Kind: kindOf(response.StatusCode), RetryAfter: retryAfter(response.Header, now),
	}
	isJSON := strings.Contains(response.Header.Get("Content-Type"), "json")
	switch {
	case errors.Is(failure, ErrNotFound) && len(body) > 0 && !isJSON:
		// "Not found" is an answer that things are built upon, so it counts only in the API's own form: a gateway says
		// it too.
		failure.Kind = ErrMalformed
	case isJSON && isQuota(failure):
		failure.Kind = ErrQuota
	}
	return failure
}

// isQuota reports whether a refusal is about a quota: no source has its status, so the message decides. Being asked
// to come back later is something else.
func isQuota(failure *Error) bool {
	return failure.Status < http.StatusInternalServerError && !errors.Is(failure, ErrNotFound) &&
		failure.RetryAfter == 0 &&
		strings.Contains(strings.ToLower(failure.Message), "quota")
}

// MayBeQuota reports whether err may tell that something was not created because a quota is used up: the cloud says so,
// or refuses a POST with a status that could mean it. Which one does, and whether the message has the word, is
// documented nowhere.
func MayBeQuota(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Method != http.MethodPost {
		return false
	}
	switch e.Status {
	case http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return e.RetryAfter == 0 // being asked to come back later is something else
	}
	return errors.Is(e, ErrQuota)
}

func kindOf(status int) error {
	switch status {
	case http.StatusUnauthorized:
		return ErrUnauthorised
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusTooManyRequests:
		return ErrThrottled
	case http.StatusRequestTimeout:
		return ErrUnavailable
	case http.StatusNotImplemented:
		return ErrBadRequest
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
		return clean(answer.Message)
	}
	return clean(string(body))
}

// clean makes one line of bounded length of what others wrote: it goes into events and the log.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// Uncertain reports whether a write that ended with err may have happened: there was no answer, or one that nobody
// understands.
func Uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err != nil
	}
	return !e.unsent && !errors.Is(e, errOpen) && (errors.Is(e, ErrUnavailable) || errors.Is(e, ErrMalformed))
}
