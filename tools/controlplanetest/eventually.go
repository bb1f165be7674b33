package controlplanetest

import (
	"context"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// Eventually calls check ten times a second until it returns no error. If that takes longer than limit, the test
// fails with what was waited for and the latest error.
func Eventually(tb testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	tb.Helper()
	if err := (poll.Limits{Every: 100 * time.Millisecond, For: limit}).Until(tb.Context(), what, check); err != nil {
		tb.Fatal(err)
	}
}
