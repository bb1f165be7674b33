package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// failing is a test that says why it failed instead of ending.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Fatal(values ...any) { f.why = fmt.Sprint(values...) }

func TestEventually(t *testing.T) {
	checks := 0
	Eventually(t, time.Minute, "the third check", func(context.Context) error {
		if checks++; checks < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if checks != 3 {
		t.Errorf("%d checks, want 3", checks)
	}
	f := &failing{TB: t}
	Eventually(f, time.Millisecond, "pigs fly", func(context.Context) error { return errors.New("no wings") })
	if !strings.Contains(f.why, "until pigs fly") || !strings.Contains(f.why, "no wings") {
		t.Errorf("it failed with %q, want what was waited for and why not", f.why)
	}
}
