package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// failureMode is a way in which a call can go wrong.
type failureMode struct {
	name string
	// effect is what the cloud makes of the call; nothing special without a kind.
	effect fault.Effect
	seed   uint64 // of what is random about the effect
	// repeats makes it answer what it answered to the same question before. That
	// is not a fault.Stale, because no virtual time passes between most calls.
	repeats bool
	// ends is when the call ends the process that makes it.
	ends end
	// only says which calls it can apply to, by what is known beforehand; nil for all.
	only func(call) bool
	// matters reports whether it makes a difference to a call that, undisturbed, was
	// answered like this; nil for all.
	matters func(call) bool
}

// end is the moment of a call at which a process ends.
type end int

const (
	never      end = iota
	endsBefore     // before the cloud heard of the call
	endsAfter      // after the cloud did what was asked, before anybody heard of it
	endsDuring     // with its work, which is stopped while the cloud carries out the request
	endsEarly      // at once, and the cloud does what was asked later, when the next process is at work
)

// slowness is how long a slow answer takes, and lateness how long a deletion
// that is said to be done: noticeable, and well within the time that clients
// wait and the cloud is given.
const (
	slowness = 5 * time.Second
	lateness = 20 * time.Second
)

// retryAfter is what a throttled client is asked to wait.
const retryAfter = 7 * time.Second

var (
	errDied      = errors.New("the process has ended")
	errOvertaken = fmt.Errorf("%w before its write arrived", errDied)
	errRelieved  = errors.New("the process is stopped")
)

// failureModes are all that a process survives.
func failureModes() []*failureMode {
	return append(refusals(), []*failureMode{
		{name: "hang", effect: fault.Effect{Kind: fault.Hang}},
		{name: "slow", effect: fault.Effect{Kind: fault.Latency, Delay: slowness}},
		{name: "reset", effect: fault.Effect{Kind: fault.Reset}},
		{name: "lost", effect: fault.Effect{Kind: fault.Drop}},
		{name: "truncated", effect: fault.Effect{Kind: fault.Truncate}, matters: hasBody},
		{name: "malformed", effect: fault.Effect{Kind: fault.Malformed}},
		{name: "empty", effect: fault.Effect{Kind: fault.Empty}, matters: hasBody},
		{name: "no-content", effect: fault.Effect{Kind: fault.NoContent}, matters: hasBody},
		{name: "delete-lag", effect: fault.Effect{Kind: fault.DeleteLag, Delay: lateness}, only: deletes},
		{name: "stale", repeats: true, only: asksAgain},
		// Two, because what is missing depends on the seed.
		{name: "partial", effect: fault.Effect{Kind: fault.Partial}, seed: 1, only: listsAgain},
		{name: "partial-otherwise", effect: fault.Effect{Kind: fault.Partial}, seed: 9, only: listsAgain},
	}...)
}

// refusals are what the cloud, or what stands before it, answers instead of
// doing anything.
func refusals() []*failureMode {
	refuse := func(status int, message string) fault.Effect {
		return fault.Effect{Kind: fault.Refuse, Status: status, Message: message}
	}
	throttle := refuse(http.StatusTooManyRequests, "slow down")
	throttle.RetryAfter = retryAfter
	return []*failureMode{
		{name: "throttled", effect: throttle},
		{name: "error", effect: refuse(http.StatusInternalServerError, "internal error")},
		{name: "unavailable", effect: refuse(http.StatusServiceUnavailable, "maintenance")},
		{name: "unauthorised", effect: fault.Effect{Kind: fault.Unauthorised, Message: "token expired"}},
		{name: "forbidden", effect: fault.Effect{Kind: fault.Forbidden, Message: "not now"}},
		{name: "conflict", effect: refuse(http.StatusConflict, "the object is busy"), only: call.write},
		{name: "quota", effect: fault.Effect{Kind: fault.Quota}, only: posts, matters: creates},
		{name: "page", effect: fault.Effect{Kind: fault.NotJSON}},
		{name: "bad-gateway", effect: fault.Effect{Kind: fault.NotJSON, Status: http.StatusBadGateway}},
		{name: "page-not-found", effect: fault.Effect{Kind: fault.NotJSON, Status: http.StatusNotFound}},
	}
}

// deaths are the two ways in which a call can be a process's last one.
func deaths() []*failureMode {
	return []*failureMode{{name: "before", ends: endsBefore}, {name: "after", ends: endsAfter}}
}

// relief is how a process ends in good order.
func relief() *failureMode { return &failureMode{name: "during", ends: endsDuring} }

// overtaking is how a process ends whose latest write is still on its way.
func overtaking() *failureMode {
	return &failureMode{name: "overtaken", ends: endsEarly, only: call.write}
}

// hasBody says that the answer had content that can be lost.
func hasBody(c call) bool { return c.size > 0 }

// asksAgain reports whether the same request was made before.
func asksAgain(c call) bool { return c.again }

// listsAgain reports whether the call requests a list that it had before.
func listsAgain(c call) bool { return c.again && !strings.HasSuffix(c.operation(), "/ID") }

func deletes(c call) bool { return c.method == http.MethodDelete }

func posts(c call) bool { return c.method == http.MethodPost && c.write() }

// creates says that the call made an object.
func creates(c call) bool { return c.status == http.StatusCreated }

// appliesTo reports whether it makes a difference to a call that went like this.
func (m *failureMode) appliesTo(c call) bool {
	return (m.only == nil || m.only(c)) && (m.matters == nil || m.matters(c))
}

// relieve makes a call that takes its time. Who gives up waiting for a write
// only gets no answer: the cloud does it all the same, when the next process
// is at work.
func relieve(request *http.Request, forward func(*http.Request) (answer, error)) (answer, error) {
	if request.Method == http.MethodGet {
		if err := sleep(request.Context(), slowness); err != nil {
			return answer{}, err
		}
		return forward(request)
	}
	late, err := detached(request)
	if err != nil {
		return answer{}, err
	}
	type result struct {
		answer
		error
	}
	done := make(chan result, 1)
	go func() {
		<-time.After(slowness)
		a, err := forward(late)
		done <- result{a, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.error
	case <-request.Context().Done():
		return answer{}, context.Cause(request.Context())
	}
}

// detached is a copy of a request that does not end with whoever makes it.
func detached(request *http.Request) (*http.Request, error) {
	late := request.Clone(context.WithoutCancel(request.Context()))
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		late.Body = io.NopCloser(bytes.NewReader(body))
	}
	return late, nil
}

// overtake makes the call later, when its caller no longer waits.
func overtake(request *http.Request, forward func(*http.Request) (answer, error)) (answer, error) {
	late, err := detached(request)
	if err != nil {
		return answer{}, err
	}
	go func() {
		<-time.After(slowness)
		_, _ = forward(late)
	}()
	return answer{}, errOvertaken
}

// Overtaken says that a call of a process failed because that has ended, and
// that the cloud does later what the call requests.
func Overtaken(err error) bool { return errors.Is(err, errOvertaken) }

// ageHeader is in answers that were not made for their request: RFC 9111, section 5.1.
const ageHeader = "Age"

// repeated is the answer once more, marked as an old one.
func (a answer) repeated() answer {
	a.header = a.header.Clone()
	a.header.Set(ageHeader, "1")
	return a
}

// Repeated reports whether a response is the answer to an earlier request, so that it may lack what was written since.
func Repeated(response *http.Response) bool {
	return response != nil && response.Header.Get(ageHeader) != ""
}

// apply makes the call, which goes wrong. Earlier is what the same question was
// answered the last time; nil when it was not asked yet.
func (m *failureMode) apply(request *http.Request, earlier *answer,
	forward func(*http.Request) (answer, error)) (answer, error) {
	if m.ends == endsBefore {
		return answer{}, errDied
	}
	if m.ends == endsDuring {
		return relieve(request, forward)
	}
	if m.ends == endsEarly {
		return overtake(request, forward)
	}
	if m.repeats && earlier != nil {
		return earlier.repeated(), nil
	}
	if m.effect.Kind != "" {
		request = request.WithContext(fault.With(request.Context(), m.effect, m.seed))
	}
	a, err := forward(request)
	if m.ends == endsAfter {
		return answer{}, errors.Join(err, errDied)
	}
	return a, err
}
