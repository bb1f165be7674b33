// Package openapitest checks in tests that all that the emulator is sent and answers is as its OpenAPI document says.
//
//	cloud, err := emulator.New(emulator.Config{Seed: seed, Middleware: openapitest.Middleware(t)})
//
// A request that is accepted must be as described, and so must every answer. A request that is refused may be anything.
package openapitest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// location is the URL of the document for references in it.
const location = "file:///openapi.json"

// Checker compares requests and answers with the document. It can be used by several goroutines.
type Checker struct {
	// mux finds the operation of a request: its patterns are those of the operations.
	mux        *http.ServeMux
	operations map[string]*operation
	// refusal is the schema of answers to what is not served.
	refusal *jsonschema.Schema
	// sent and answered are the bodies of requests and answers.
	sent, answered bodies

	mu sync.Mutex
	// accepted are the operations that answered with 2xx, or with a described 501, at least once.
	accepted map[string]bool
}

// New makes a checker with the emulator's document. It compares every body that it has not seen.
func New() (*Checker, error) { return newChecker(false) }

// NewSampling makes a checker that compares every body of a request, and one answer of each shape: numbers count only
// as zero or not zero, also those within strings, identities count as numbers, and lists only as the set of the shapes
// of their items.
func NewSampling() (*Checker, error) { return newChecker(true) }

func newChecker(sampling bool) (*Checker, error) {
	document, err := openapi.Read()
	if err != nil {
		return nil, err
	}
	content, err := openapi.JSON()
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(location, value); err != nil {
		return nil, err
	}
	c := &Checker{mux: http.NewServeMux(), operations: map[string]*operation{}, accepted: map[string]bool{},
		sent: newBodies(false), answered: newBodies(sampling)}
	if c.refusal, err = compiler.Compile(pointer("components", "schemas", "Error")); err != nil {
		return nil, err
	}
	for path, item := range document.Paths {
		for method, described := range item.Operations() {
			name := method + " " + path
			o, err := compile(compiler, document, path, method, item.Parameters, described)
			if err != nil {
				return nil, fmt.Errorf("compiling %s of the OpenAPI document: %w", name, err)
			}
			o.sent, o.answered = &c.sent, &c.answered
			c.operations[name] = o
			c.mux.Handle(name, http.NotFoundHandler())
		}
	}
	return c, nil
}

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
	o := c.operations[operation]
	if o == nil {
		return fmt.Errorf("the document lacks the operation %s", operation)
	}
	method, _, _ := strings.Cut(operation, " ")
	return o.checkBody(method, body)
}

// check compares a request and its answer with the document.
func (c *Checker) check(r *http.Request, sent []byte, a *answer) error {
	_, name := c.mux.Handler(r)
	o := c.operations[name]
	switch {
	case o == nil && a.status < http.StatusBadRequest:
		return fmt.Errorf("the document lacks this operation, which is answered with %d", a.status)
	case o == nil:
		return c.answered.validate(c.refusal, a.body.Bytes())
	}
	if err := o.checkAnswer(r, a); err != nil {
		return fmt.Errorf("the answer %d of %s: %w", a.status, name, err)
	}
	// Some operations have no other answer to a right request than 501.
	if a.status/100 != 2 && a.status != http.StatusNotImplemented {
		return nil
	}
	c.mu.Lock()
	c.accepted[name] = true
	c.mu.Unlock()
	if err := o.checkRequest(r, sent); err != nil {
		return fmt.Errorf("the accepted request to %s: %w", name, err)
	}
	return nil
}

// pointer is a JSON pointer as a fragment of the document's URL.
func pointer(keys ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	for i, key := range keys {
		keys[i] = escape.Replace(key)
	}
	return location + "#/" + strings.Join(keys, "/")
}
