// Package multicall runs one of the components of an executable: the first argument chooses it, the others are its own
// flags.
package multicall

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// UsageError is the exit status for a call that names no known component, as shells use it.
const UsageError = 2

// Run runs the component that args[1] names until it ends and returns its exit status. Components are functions because
// building a command has side effects, such as registering feature gates, that another component would trip over.
func Run(program string, components map[string]func() int, args []string, stderr io.Writer) int {
	known := strings.Join(slices.Sorted(maps.Keys(components)), ", ")
	if len(args) < 2 {
		_, _ = fmt.Fprintf(stderr, "usage: %s component [flags]\ncomponents: %s\n", program, known)
		return UsageError
	}
	component, ok := components[args[1]]
	if !ok {
		_, _ = fmt.Fprintf(stderr, "%s: unknown component %q; one of: %s\n", program, args[1], known)
		return UsageError
	}
	// The components read their flags from os.Args and take their own name from its first element.
	os.Args = args[1:]
	return component()
}
