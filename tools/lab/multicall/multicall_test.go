package multicall

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

func TestUsage(t *testing.T) {
	components := map[string]func() int{"two": nil, "one": nil}
	const all = "one, two\n"
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no component", []string{"lab"}, "usage: lab component [flags]\ncomponents: " + all},
		{"unknown component", []string{"lab", "kubectl"}, `lab: unknown component "kubectl"; one of: ` + all},
		{"flag instead of a component", []string{"lab", "--help"}, `lab: unknown component "--help"; one of: ` + all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if got := Run("lab", components, tt.args, &stderr); got != UsageError {
				t.Errorf("got exit status %d, want %d", got, UsageError)
			}
			if stderr.String() != tt.want {
				t.Errorf("got %q, want %q", &stderr, tt.want)
			}
		})
	}
}

func TestComponentGetsItsArguments(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	var got []string
	components := map[string]func() int{"one": func() int { got = os.Args; return 7 }}
	status := Run("lab", components, []string{"lab", "one", "--flag"}, nil)
	if want := []string{"one", "--flag"}; status != 7 || !slices.Equal(got, want) {
		t.Errorf("exit status %d with arguments %q, want 7 with %q", status, got, want)
	}
}
