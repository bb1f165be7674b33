package program

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		code int
		text string
	}{
		"success": {nil, 0, ""},
		"failure": {errors.New("no go.work here"), 1, "tool: no go.work here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var trouble strings.Builder
			code := Run("tool", &trouble, func(context.Context) error { return tt.err })
			if code != tt.code || trouble.String() != tt.text {
				t.Errorf("code %d, %q; want %d, %q", code, trouble.String(), tt.code, tt.text)
			}
		})
	}
}

func TestRunEndsOnSIGTERM(t *testing.T) {
	var trouble strings.Builder
	code := Run("tool", &trouble, func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if code != 1 || trouble.String() != "tool: context canceled\n" {
		t.Errorf("code %d, %q; want 1 and the interruption", code, trouble.String())
	}
}
