package trial

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"
)

// fault is a way in which a call can go wrong.
type fault struct {
	name string
	// befalls says whether it makes a difference to a call that, undisturbed,
	// went like this; nil for any call.
	befalls func(call) bool
	do      func(exchange) (answer, error)
	// lasts makes it befall three calls in a row, too: a client that asks again
	// at once gets over one of them and must not take the third for the truth.
	lasts bool
	// deadly ends the process that made the call.
	deadly bool
	// lies makes the fault impossible to tell from a true answer.
	lies bool
}

// exchange is one call on its way.
type exchange struct {
	request *http.Request
	// forward lets the cloud do what is asked, and returns its true answer.
	forward func() (answer, error)
	// earlier is what the cloud answered to the same question the last time;
	// nil when it was not asked yet.
	earlier *answer
}

// slowness is how long a slow answer takes: noticeable, and well within the
// time that clients wait.
const slowness = 5 * time.Second

// hourglass is what a throttled client is asked to wait, in seconds.
const hourglass = "7"

var (
	errDied = errors.New("the process has ended")
	errLost = fmt.Errorf("reading the answer: %w", syscall.ECONNRESET)
)

// kinds are all faults that a process survives.
func kinds() []*fault {
	return append(refusals(), []*fault{
		{name: "hang", lasts: true, do: hang},
		{name: "slow", do: slow},
		{name: "reset", lasts: true, do: func(exchange) (answer, error) { return answer{}, syscall.ECONNRESET }},
		{name: "lost", lasts: true, do: lost},
		{name: "truncated", befalls: hasBody, do: truncated},
		{name: "malformed", do: replaced(`{"identity": <!-- oops`)},
		{name: "empty", befalls: hasBody, do: replaced("")},
		{name: "stale", befalls: asksAgain, lasts: true, do: stale, lies: true},
	}...)
}

// refusals are the faults that the cloud, or what stands before it, answers
// instead of doing anything.
func refusals() []*fault {
	throttled := refusal(http.StatusTooManyRequests, "slow down")
	throttled.header.Set("Retry-After", hourglass)
	return []*fault{
		{name: "throttled", lasts: true, do: instead(throttled)},
		{name: "error", lasts: true, do: instead(refusal(http.StatusInternalServerError, "internal error"))},
		{name: "bad-gateway", lasts: true, do: instead(page(http.StatusBadGateway))},
		{name: "unavailable", lasts: true, do: instead(refusal(http.StatusServiceUnavailable, "maintenance"))},
		{name: "unauthorised", do: instead(refusal(http.StatusUnauthorized, "token expired"))},
		{name: "forbidden", do: instead(refusal(http.StatusForbidden, "not now"))},
		{name: "conflict", befalls: call.write, do: instead(refusal(http.StatusConflict, "the object is busy"))},
		{name: "page-not-found", do: instead(page(http.StatusNotFound))},
	}
}

// deaths are the two ways in which a call can be a process's last one.
func deaths() []*fault {
	return []*fault{
		{name: "before", deadly: true, do: func(exchange) (answer, error) { return answer{}, errDied }},
		{name: "after", deadly: true, do: func(x exchange) (answer, error) {
			_, err := x.forward()
			return answer{}, errors.Join(err, errDied)
		}},
	}
}

// hasBody says that the answer had content that can be lost.
func hasBody(c call) bool { return c.size > 0 }

// asksAgain says that the call asks what was asked before.
func asksAgain(c call) bool { return c.again }

// instead is the cloud, or a gateway before it, answering without doing.
func instead(a answer) func(exchange) (answer, error) {
	return func(exchange) (answer, error) { return a, nil }
}

// refusal is an error in the API's own form.
func refusal(status int, message string) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: fmt.Appendf(nil, `{"message": %q}`, message)}
}

// page is an error in the form of what stands before an API.
func page(status int) answer {
	body := fmt.Appendf(nil, "<html><body><h1>%d %s</h1></body></html>", status, http.StatusText(status))
	return answer{status: status, header: http.Header{"Content-Type": {"text/html"}}, body: body}
}

// hang answers never; the caller's deadline ends it.
func hang(x exchange) (answer, error) {
	<-x.request.Context().Done()
	return answer{}, x.request.Context().Err()
}

func slow(x exchange) (answer, error) {
	select {
	case <-time.After(slowness):
		return x.forward()
	case <-x.request.Context().Done():
		return answer{}, x.request.Context().Err()
	}
}

// lost is an answer that does not arrive, to a request that did.
func lost(x exchange) (answer, error) {
	if _, err := x.forward(); err != nil {
		return answer{}, err
	}
	return answer{}, errLost
}

// truncated is an answer whose connection ends half-way.
func truncated(x exchange) (answer, error) {
	a, err := x.forward()
	if err == nil && len(a.body) > 0 {
		a.body, a.end = a.body[:len(a.body)/2], io.ErrUnexpectedEOF
	}
	return a, err
}

// replaced is a success whose content is another than the cloud's.
func replaced(content string) func(exchange) (answer, error) {
	return func(x exchange) (answer, error) {
		if _, err := x.forward(); err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(content)}, nil
	}
}

// stale answers a read with what was true the time before.
func stale(x exchange) (answer, error) {
	if x.earlier == nil {
		return x.forward()
	}
	return *x.earlier, nil
}
