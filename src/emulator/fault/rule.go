// Package fault disturbs HTTP calls on purpose: it delays, refuses, loses and
// falsifies answers, as rules say, so that clients can be tested against a cloud
// that misbehaves.
//
//	var faults fault.Set
//	id, err := faults.Add(fault.Rule{
//		Operation: "POST *", Count: 3,
//		Effect: fault.Effect{Kind: fault.Refuse, Status: 503, RetryAfter: time.Second},
//	})
//	...
//	handler = faults.Handler("POST /v1/machines", handler)
//
// It depends on HTTP and not on what is served. Two kinds need the handler's
// help, which finds them with Of: Stale and DeleteLag.
package fault

import "time"

// Kind is a way to disturb a call.
type Kind string

// The kinds of faults. The first group ends a call before it is handled, the
// second handles it and spoils the answer, the third changes what handling means.
const (
	// Latency waits for Effect.Delay and then goes on as usual.
	Latency Kind = "latency"

	// Hang answers nothing until the client leaves or the rule is cleared.
	Hang Kind = "hang"
	// Refuse answers Effect.Status with {"message": "..."}.
	Refuse Kind = "status"
	// Unauthorised refuses with 401.
	Unauthorised Kind = "unauthorised"
	// Forbidden refuses with 403.
	Forbidden Kind = "forbidden"
	// Quota refuses what would create an object, with 403 unless set otherwise.
	Quota Kind = "quota"
	// Reset drops the connection.
	Reset Kind = "reset"
	// NotJSON answers 200, or Effect.Status, with an HTML page, as a proxy in
	// between would.
	NotJSON Kind = "notJSON"

	// Drop handles the call and drops the connection instead of answering.
	Drop Kind = "drop"
	// Truncate sends the headers and half of the body, and cuts the connection.
	// An answer without a body is dropped.
	Truncate Kind = "truncate"
	// Malformed answers 200 and says it is JSON, but it is not.
	Malformed Kind = "malformed"
	// Empty answers 200 and says it is JSON, but there is nothing.
	Empty Kind = "empty"
	// NoContent handles the call and answers 204 without a body.
	NoContent Kind = "noContent"
	// Partial leaves a random part of its items out of a list: at least one, at
	// most half of them (or the only one).
	Partial Kind = "partial"

	// Stale answers reads as they would have been answered Effect.Delay ago.
	Stale Kind = "stale"
	// DeleteLag answers DELETE at once and deletes Effect.Delay later.
	DeleteLag Kind = "deleteLag"
)

// Rule says which calls are disturbed, when and how. In JSON and YAML its keys
// are in lower camel case, its durations are text such as "1.5s", and unknown
// keys are errors.
type Rule struct {
	// ID names the rule; Set.Add gives it one when empty.
	ID string
	// Operation is a pattern for a method and a path pattern, such as
	// "POST /v1/loadbalancers", "* /v1/loadbalancers/{id}", "GET *" or "*"; an
	// asterisk stands for any text. Empty means every operation.
	Operation string
	// Path is a pattern for the path of the request, such as "/v1/machines/vm-1*".
	// Empty means every path.
	Path string
	// Skip is how many matching calls pass first.
	Skip int
	// Count is how many calls are disturbed until the rule is spent; 0: no limit.
	Count int
	// Probability is the chance that a matching call is disturbed; 0 and 1: every
	// one. The same Seed and sequence of calls lead to the same decisions.
	Probability float64
	// Seed starts the generator behind Probability and Partial.
	Seed uint64
	// From and Until bound the time since the rule was added during which calls
	// match; zero Until: no end.
	From, Until time.Duration
	Effect      Effect
}

// Effect is what happens to a call.
type Effect struct {
	Kind Kind
	// Status is the status of a refusal, 300 to 599, or of the page of NotJSON, 200
	// to 599.
	Status int
	// Message is the text of a refusal.
	Message string
	// RetryAfter is sent with a refusal, in whole seconds, rounded up; 0: not sent.
	RetryAfter time.Duration
	// Delay is how long Latency waits, how old a Stale answer is, or how late
	// DeleteLag deletes.
	Delay time.Duration
}

// Status is a rule and what became of it.
type Status struct {
	Rule Rule `json:"rule"`
	// Matched counts the calls that the rule was meant for, Fired those that it
	// disturbed.
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
	// Spent rules disturb nothing any more.
	Spent bool `json:"spent"`
}
