package emulator

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// NewDescribed is New, and fails the test if a request that is accepted, or an answer, is not as the OpenAPI document
// says. All tests of this package use it.
func NewDescribed(tb testing.TB, cfg Config) (*Emulator, error) {
	tb.Helper()
	cfg.Middleware = openapitest.Middleware(tb)
	return New(cfg)
}

// document is the OpenAPI document.
func document(t *testing.T) *openapi.Document {
	t.Helper()
	checker, err := openapitest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	return checker.Document()
}

// TestMain fails if the tests used not all operations that the OpenAPI document describes.
func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 && all() {
		status = missed()
	}
	os.Exit(status)
}

// all returns whether no flag selects some of the tests.
func all() bool {
	for _, name := range []string{"test.run", "test.skip", "test.fuzz", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// missed prints the operations that the tests did not use.
func missed() int {
	checker, err := openapitest.Shared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if names := checker.Missed(); len(names) > 0 {
		fmt.Fprintf(os.Stderr, "no test gets 2xx or a described 501 from these operations of the OpenAPI "+
			"document:\n%s\n", strings.Join(names, "\n"))
		return 1
	}
	return 0
}

// What is served is described, and what is described is served.
func TestEveryRouteIsDescribed(t *testing.T) {
	e, err := NewDescribed(t, Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	checker, err := openapitest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	served := append(slices.Clone(e.mux.patterns), e.api.Patterns()...)
	served = slices.DeleteFunc(served, func(pattern string) bool { return pattern == "/" })
	known := checker.Operations()
	for _, pattern := range served {
		if !slices.Contains(known, pattern) {
			t.Errorf("the OpenAPI document lacks %s, which is served", pattern)
		}
	}
	for _, operation := range known {
		if !slices.Contains(served, operation) {
			t.Errorf("the OpenAPI document has %s, which is not served", operation)
		}
	}
}
