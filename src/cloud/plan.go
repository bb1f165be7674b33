package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Verb is what an operation does to its object.
type Verb string

// The verbs of operations.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Operation is one write to the cloud. It is a value: it can be printed, encoded as JSON and compared.
// [LoadBalancers.Apply] makes the write.
type Operation struct {
	Verb Verb
	Kind string // of the object, in words: "target group"
	Name string // of the object, for people
	Why  string // the difference that makes the write necessary; may be empty for create and delete
	// Leaves is a message for the owner of the Service: the objects that stay in the cloud after the write. It is "" if
	// there are none.
	Leaves string
	// Closes means that the write only removes access that should not exist any more, so that it is safe even if
	// earlier writes failed.
	Closes bool
	// Object contains the fields of the write, in the terms of the cloud: a struct of exported, plain values without
	// functions. Only the cloud that planned the operation reads it. If an earlier operation of the same plan creates
	// an object, it contains a placeholder for that object.
	Object any
}

// String returns one line: "update target group web-http: target port 30080 becomes 30081".
func (o Operation) String() string {
	line := fmt.Sprintf("%s %s %s", o.Verb, o.Kind, o.Name)
	if o.Why == "" {
		return line
	}
	return line + ": " + o.Why
}

// Plan is the difference between the desired and the actual state, as writes in a safe order: if it is stopped after
// any of them, a later plan finds the objects and completes or deletes them. An empty plan means that nothing differs.
type Plan []Operation

// String returns one line for each operation.
func (p Plan) String() string {
	lines := make([]string, len(p))
	for i, operation := range p {
		lines[i] = operation.String()
	}
	return strings.Join(lines, "\n")
}

// ErrStale is the error of a write to an object that has changed since the plan was computed. The write is not made,
// and the plan is computed again from newer data. This is not reported as a failure.
var ErrStale = errors.New("the object has changed since the difference was computed")

// Attempt is an operation that was tried.
type Attempt struct {
	Operation
	// Err is the reason why it failed; nil if it succeeded.
	Err error
}

// Each calls write for one operation after the other, and stops before the next one when ctx is done. After an error,
// it tries only operations that close something. The context of a write that has started is not cancelled, because the
// result of the write would be unknown. Each returns the operations that were tried, and all errors.
func (p Plan) Each(ctx context.Context, write func(context.Context, Operation) error) ([]Attempt, error) {
	var tried []Attempt
	var failed error
	for i, operation := range p {
		if failed != nil && !operation.Closes {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return tried, errors.Join(failed, fmt.Errorf("stopping after %d of %d writes: %w", i, len(p), err))
		}
		err := write(context.WithoutCancel(ctx), operation)
		if tried = append(tried, Attempt{operation, err}); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", operation, err))
		}
	}
	return tried, failed
}
