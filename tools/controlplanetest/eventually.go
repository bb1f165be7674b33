package controlplanetest

import (
	"context"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// Eventually looks ten times a second until check is content. When it is not within the limit the test fails, with what
// was waited for and the latest reason.
func Eventually(tb testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	tb.Helper()
	if err := (poll.Limits{Every: 100 * time.Millisecond, For: limit}).Until(tb.Context(), what, check); err != nil {
		tb.Fatal(err)
	}
}
