package client

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// maxAttempts bounds the attempts of one call. Whoever made the call comes back on his own, later.
	maxAttempts = 4
	// maxRetryAfter is the longest time that an answer can make this process wait.
	maxRetryAfter = 5 * time.Minute
)

// backoff is the pause before each further attempt of one call: 0.1 to 0.2 s, 0.3 to 0.6 s, 0.9 to 1.8 s.
type backoff struct{ wait.Backoff }

func newBackoff() backoff {
	return backoff{wait.Backoff{Duration: 100 * time.Millisecond, Factor: 3, Jitter: 1, Steps: maxAttempts}}
}

// retry reports whether the call may be made again after a failure, and after which pause.
func (c *call) retry(failure *Error) (time.Duration, bool) {
	if c.attempts >= maxAttempts || !c.repeatable(failure) {
		return 0, false
	}
	return max(c.backoff.Step(), failure.RetryAfter), true
}

// repeatable reports whether another attempt can do no harm and may do better: either the cloud has not acted on this
// one for sure, or acting twice is the same as acting once.
func (c *call) repeatable(failure *Error) bool {
	switch {
	case errors.Is(failure, errOpen), failure.untrusted:
		return false // the circuit tries again on its own; a certificate will not change within seconds
	case errors.Is(failure, ErrThrottled), failure.renewed && c.attempts == 1:
		return true
	case errors.Is(failure, ErrUnavailable):
		return failure.unsent || c.idempotent()
	case errors.Is(failure, ErrMalformed):
		return c.request.Method == http.MethodGet && failure.Status < http.StatusMultipleChoices
	}
	return false
}

// idempotent reports whether making the call twice is the same as making it once. PUT replaces and DELETE removes; of
// the POSTs only those that state a whole set or a final state do. A POST that creates makes a second object.
func (c *call) idempotent() bool {
	switch c.request.Method {
	case http.MethodGet, http.MethodPut, http.MethodDelete:
		return true
	case http.MethodPost:
		path := c.request.URL.Path
		return strings.HasSuffix(path, "/attachments") || strings.HasSuffix(path, "/associate") ||
			strings.HasSuffix(path, "/disassociate")
	}
	return false
}

// maxDateDistance is the longest time between the Date of an answer and its Retry-After, if the Date is to count.
const maxDateDistance = 24 * time.Hour

// retryAfter reads the Retry-After header, seconds or a date (RFC 9110, section 10.2.3); 0 without a usable one. A date
// is one of the cloud's clock, so it counts from the Date of the same answer. If that is missing or absurd, it counts
// from now.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.Atoi(value); err == nil {
		seconds = min(max(seconds, 0), int(maxRetryAfter/time.Second))
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil && date.Sub(sent).Abs() <= maxDateDistance {
		now = sent
	}
	return min(max(date.Sub(now), 0), maxRetryAfter)
}
