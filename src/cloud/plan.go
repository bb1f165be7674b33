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

// Operation is one write to the cloud. It is a value: it can be printed, encoded as JSON and compared, and does
// nothing by itself. [LoadBalancers.Apply] carries it out.
type Operation struct {
	Verb Verb
	Kind string // of the object, in words: "target group"
	Name string // of the object, as its owner would recognise it
	Why  string // the difference that makes it necessary; may be empty for create and delete
	// Leaves says, in a sentence for the Service's owner, what stays in the cloud once the write is made; "" when
	// nothing does.
	Leaves string
	// Closes says that the write only takes away what nobody should reach any more, so that it is safe whatever
	// became of those before it.
	Closes bool
	// Object contains the fields of the write, in the terms of the cloud: a struct of exported, plain values without
	// functions. Only the cloud that planned the operation reads it. It names an object that an earlier operation of
	// the same plan creates by a placeholder.
	Object any
}

// String is one line: "update target group web-http: target port 30080 becomes 30081".
func (o Operation) String() string {
	line := fmt.Sprintf("%s %s %s", o.Verb, o.Kind, o.Name)
	if o.Why == "" {
		return line
	}
	return line + ": " + o.Why
}

// Plan is the difference between what should be and what is, as writes in the order in which they are safe:
// whatever is stopped after any of them leaves only objects that a later plan finds and finishes or removes.
// An empty plan means that nothing differs.
type Plan []Operation

// String is one operation a line.
func (p Plan) String() string {
	lines := make([]string, len(p))
	for i, operation := range p {
		lines[i] = operation.String()
	}
	return strings.Join(lines, "\n")
}

// Begin is the first n writes of the plan, or all when there are not more: as safe to stop after as any other.
func (p Plan) Begin(n int) Plan { return p[:min(n, len(p))] }

// Attempt is an operation that was tried.
type Attempt struct {
	Operation
	// Err is why it failed; nil if it succeeded.
	Err error
}

// Each calls write for one operation after the other, and stops before the next one when ctx is done. After one that
// fails it tries only those that close something. A write that has begun is never cut off by ctx: whether it happened
// would not be known. It returns the operations that were tried, and all errors.
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
