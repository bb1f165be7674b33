package cloud

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestPlanEach: writes are made in order. After an error only those that close something are made, and after a stop
// none.
func TestPlanEach(t *testing.T) {
	failure := errors.New("boom")
	plan := Plan{
		{Verb: Create, Kind: "thing", Name: "a"}, {Verb: Create, Kind: "thing", Name: "b"},
		{Verb: Create, Kind: "thing", Name: "c"},
		{Verb: Delete, Kind: "thing", Name: "d", Closes: true},
	}
	fails := func(name string) error { return map[string]error{"b": failure}[name] }
	ctx, cancel := context.WithCancelCause(t.Context())
	stops := func(string) error { cancel(errors.New("shutting down")); return nil }
	tests := map[string]struct {
		ctx   context.Context
		write func(name string) error
		tried string
		err   string
	}{
		"all succeed":   {t.Context(), func(string) error { return nil }, "a b c d", ""},
		"one fails":     {t.Context(), fails, "a b d", "create thing b: boom"},
		"it is stopped": {ctx, stops, "a", "stopping after 1 of 4 writes: shutting down"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tried, err := plan.Each(tt.ctx, func(ctx context.Context, operation Operation) error {
				err := tt.write(operation.Name)
				if ctx.Err() != nil {
					t.Error("a write must not be cut off by the caller's context")
				}
				return err
			})
			var names []string
			for _, one := range tried {
				names = append(names, one.Name)
				if errors.Is(one.Err, failure) != (one.Name == "b" && tt.err == "create thing b: boom") {
					t.Errorf("write of %s ended with %v", one.Name, one.Err)
				}
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got := strings.Join(names, " "); got != tt.tried || message != tt.err {
				t.Errorf("tried %s with error %v, want %s with %q", got, err, tt.tried, tt.err)
			}
		})
	}
}

func TestPlanString(t *testing.T) {
	plan := Plan{{Verb: Create, Kind: "target group", Name: "web-http"}, {Verb: Update, Kind: "listener",
		Name: "web 80/TCP", Why: "idle timeout 10 becomes 20"}}
	want := "create target group web-http\nupdate listener web 80/TCP: idle timeout 10 becomes 20"
	if got := plan.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
