// Package openapitest checks in tests that all that the emulator is sent and answers is as its OpenAPI document says.
//
//	cloud, err := emulator.New(emulator.Config{Seed: seed, Middleware: openapitest.Middleware(t)})
//
// A request that is accepted must be as described, and so must every answer. A request that is refused may be anything.
package openapitest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// Checker compares requests and answers with the document. It can be used by several goroutines.
type Checker struct {
	*description
	// sent and answered are the bodies of requests and answers.
	sent, answered bodies

	mu sync.Mutex
	// accepted are the operations that answered with 2xx, or with a described 501, at least once.
	accepted map[string]bool
}

// New makes a checker with the emulator's document, which is read once in a process. It compares every body that it has
// not seen.
func New() (*Checker, error) { return newChecker(false) }

// NewSampling makes a checker that compares every body of a request, and one answer of each shape: numbers count only
// as zero or not zero, also those within strings, identities count as numbers, and lists only as the set of the shapes
// of their items.
func NewSampling() (*Checker, error) { return newChecker(true) }

func newChecker(sampling bool) (*Checker, error) {
	d, err := sharedDescription()
	if err != nil {
		return nil, err
	}
	return &Checker{description: d, accepted: map[string]bool{}, sent: newBodies(false),
		answered: newBodies(sampling)}, nil
}

// Document returns the document, which all checkers of a process share. It must not be changed.
func (c *Checker) Document() *openapi.Document { return c.document }

// Operations are all operations of the document, sorted: a method and a path pattern each.
func (c *Checker) Operations() []string { return slices.Sorted(maps.Keys(c.operations)) }

// Missed are the operations that answered no request with 2xx or a described 501, sorted.
func (c *Checker) Missed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.Operations(), func(name string) bool { return c.accepted[name] })
}

// CheckBody compares the body of a request to an operation, which is a method and a path pattern, with the document.
func (c *Checker) CheckBody(operation string, body []byte) error {
	compiled, known := c.operations[operation]
	if !known {
		return fmt.Errorf("the document lacks the operation %s", operation)
	}
	o, err := compiled()
	if err != nil {
		return err
	}
	method, _, _ := strings.Cut(operation, " ")
	return o.checkBody(&c.sent, method, body)
}

// check compares a request and its answer with the document.
func (c *Checker) check(r *http.Request, sent []byte, a *answer) error {
	_, name := c.mux.Handler(r)
	compiled, known := c.operations[name]
	switch {
	case !known && a.status < http.StatusBadRequest:
		return fmt.Errorf("the document lacks this operation, which is answered with %d", a.status)
	case !known:
		return c.answered.validate(c.refusal, a.body.Bytes())
	}
	o, err := compiled()
	if err != nil {
		return err
	}
	if err := o.checkAnswer(&c.answered, r, a); err != nil {
		return fmt.Errorf("the answer %d of %s: %w", a.status, name, err)
	}
	// Some operations have no other answer to a right request than 501.
	if a.status/100 != 2 && a.status != http.StatusNotImplemented {
		return nil
	}
	c.mu.Lock()
	c.accepted[name] = true
	c.mu.Unlock()
	if err := o.checkRequest(&c.sent, r, sent); err != nil {
		return fmt.Errorf("the accepted request to %s: %w", name, err)
	}
	return nil
}
