package poll

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, checks := time.Now(), 0
		err := Limits{Every: time.Second, For: time.Minute}.Until(t.Context(), "the third check",
			func(context.Context) error {
				if checks++; checks < 3 {
					return errors.New("not yet")
				}
				return nil
			})
		if err != nil || checks != 3 || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %d checks and %s, want 3 in 2 s", err, checks, time.Since(began))
		}
	})
}

func TestInVain(t *testing.T) {
	noWings := errors.New("no wings")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Limits{Every: time.Second, For: time.Minute}.Until(t.Context(), "pigs fly",
			func(ctx context.Context) error {
				if time.Since(began) < 50*time.Second {
					return noWings
				}
				<-ctx.Done() // a check that lasts too long is not the reason
				return ctx.Err()
			})
		if !errors.Is(err, noWings) || errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %s, want why it was in vain after a minute", err, time.Since(began))
		}
		if text := err.Error(); !strings.Contains(text, "until pigs fly") || !strings.Contains(text, "1m0s") ||
			strings.Contains(text, "\n") {
			t.Errorf("%v does not say in one line what was waited for, and how long", err)
		}
	})
}

func TestFinal(t *testing.T) {
	broken, checks := fmt.Errorf("broken: %w", context.DeadlineExceeded), 0 // the deadline of another context
	err := Limits{Every: time.Millisecond, For: time.Minute}.Until(t.Context(), "it works",
		func(context.Context) error {
			if checks++; checks < 2 {
				return errors.New("slow")
			}
			return Final(broken)
		})
	if !errors.Is(err, broken) || checks != 2 ||
		err.Error() != "waiting until it works: broken: context deadline exceeded" {
		t.Errorf("%v after %d checks, want that it ends with the second", err, checks)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted, noWings := errors.New("interrupted"), errors.New("no wings")
	err := Limits{Every: time.Millisecond, For: time.Minute}.Until(ctx, "nothing", func(context.Context) error {
		cancel(interrupted)
		return noWings
	})
	if !errors.Is(err, interrupted) || !errors.Is(err, noWings) {
		t.Errorf("got %v, want the cause of the end and the latest reason", err)
	}
}

func TestWhoIsNeededEnds(t *testing.T) {
	for script, why := range map[string]string{"exit 3": "3", "exit 0": "has ended"} {
		p, err := process.Start(t.Context(), process.Spec{
			Name: "needed", Path: "/bin/sh", Args: []string{"-c", script}, LogPath: filepath.Join(t.TempDir(), "log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		limits := Limits{Every: time.Millisecond, For: time.Minute, Needs: p}
		err = limits.Until(t.Context(), "it answers", func(context.Context) error { return errors.New("refused") })
		if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "longer than") ||
			strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v, want that it ended, at once", script, err)
		}
	}
}
