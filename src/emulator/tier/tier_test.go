package tier

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a test that notes that it is skipped.
type recorder struct {
	testing.TB
	reason string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) { r.reason = fmt.Sprint(args...) }

func TestTier(t *testing.T) {
	for value, full := range map[string]bool{"": false, "0": false, "yes": false, "1": true} {
		t.Setenv(Variable, value)
		if got := Pick("quick", "full"); (got == "full") != full || Full() != full {
			t.Errorf("%s=%s: %s", Variable, value, got)
		}
		r := &recorder{TB: t}
		NeedFull(r)
		if strings.HasPrefix(r.reason, Reason) == full {
			t.Errorf("%s=%s: NeedFull skips with %q", Variable, value, r.reason)
		}
	}
}
