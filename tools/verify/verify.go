// Package verify checks that a change is fit to be merged: formatting, vet, linters, generated files, module
// files and the repository's own rules. Every check looks and changes nothing, so that it can run beside an
// editor; what fails says what to do about it.
package verify

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Check is one thing to be verified.
type Check struct {
	// Name chooses the check on the command line.
	Name string
	// About says what is looked at, and when that takes long.
	About string
	// Run looks at the repository at root. Its error is what people need to read, often many lines.
	Run func(ctx context.Context, root string) error
}

// All returns the checks of this repository, the quick ones first.
func All() []Check {
	return []Check{
		{"format", "gofmt", Format},
		{"generate", "generated files are up to date", Generated},
		{"tidy", "go.mod and go.sum of every module", Tidy},
		{"workspace", "go work sync has nothing to do", Workspace},
		{"rules", "sizes, documentation, imports, calls", Rules},
		{"vet", "go vet, every module (minutes at first)", Vet},
		{"lint", "golangci-lint, every module (minutes at first)", Lint},
	}
}

// Select picks checks by name, in their own order; no names at all means every check.
func Select(checks []Check, names []string) ([]Check, error) {
	if len(names) == 0 {
		return checks, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			return nil, fmt.Errorf("no check is called %q: choose from %s", name, list(checks))
		}
	}
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return !slices.Contains(names, c.Name) }), nil
}

// list lists names for a message.
func list(checks []Check) string {
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// Run runs every check, also after one has failed, and reports each when it is done.
func Run(ctx context.Context, root string, checks []Check, out io.Writer) error {
	var failed []string
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verifying: %w", err)
		}
		started := time.Now()
		fmt.Fprintf(out, "%-10s %-50s ", c.Name, c.About)
		err := c.Run(ctx, root)
		took := time.Since(started).Round(100 * time.Millisecond)
		if err == nil {
			fmt.Fprintf(out, "ok      %s\n", took)
			continue
		}
		failed = append(failed, c.Name)
		fmt.Fprintf(out, "FAILED  %s\n%s\n", took, strings.TrimSpace(err.Error()))
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d checks failed: %s", len(failed), len(checks), strings.Join(failed, ", "))
	}
	fmt.Fprintf(out, "%d checks passed\n", len(checks))
	return nil
}
