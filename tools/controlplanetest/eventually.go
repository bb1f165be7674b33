package controlplanetest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Eventually looks ten times a second until check is content. When it is not within the limit the test fails, with what was waited for
// and the latest reason.
func Eventually(tb testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	tb.Helper()
	var last error
	err := wait.PollUntilContextTimeout(tb.Context(), 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("waited in vain until %s: %v; %v", what, err, last)
	}
}
