// Package poll waits for what has no event to wait for: it checks a condition repeatedly. Its error says what the
// condition was, and why it was not true.
//
//	err := poll.Limits{Every: 50 * time.Millisecond, For: time.Minute}.Until(ctx, "the kubelet is healthy", healthy)
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// Limits bound a wait.
type Limits struct {
	// Every is the time between two checks, For how long it goes on.
	Every, For time.Duration
	// Needs is without whom waiting is in vain: its end is that of the wait. It may be nil.
	Needs *process.Process
}

// final is a reason that stays.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Final is what check returns instead of err when checking again is useless: Until then ends at once.
func Final(err error) error { return final{err} }

// Until calls check at once, and then again until it returns no error. Otherwise the error has what was waited for, the
// cause of the end (that of ctx, if it ended first), and the latest reason of check. what completes the sentence
// "waiting until …".
func (l Limits) Until(ctx context.Context, what string, check func(context.Context) error) error {
	var end, last error
	err := wait.PollUntilContextTimeout(ctx, l.Every, l.For, true, func(ctx context.Context) (bool, error) {
		if end = l.ended(); end != nil {
			return false, end
		}
		err := check(ctx)
		if errors.As(err, new(final)) {
			end = err
			return false, end
		}
		// What fails because time is up says less than what failed before.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return err == nil, nil
	})
	if err == nil {
		return nil
	}
	if end == nil {
		end = l.interrupted(ctx, last)
	}
	return fmt.Errorf("waiting until %s: %w", what, end)
}

// interrupted is why the wait ended, and what was the matter until then.
func (l Limits) interrupted(ctx context.Context, last error) error {
	why := context.Cause(ctx)
	if why == nil {
		why = fmt.Errorf("it took longer than %s", l.For)
	}
	if last == nil {
		return why
	}
	return fmt.Errorf("%w; at last: %w", why, last)
}

// ended is the end of the process that is needed.
func (l Limits) ended() error {
	if l.Needs == nil {
		return nil
	}
	select {
	case <-l.Needs.Done():
		if err := l.Needs.Err(); err != nil {
			return fmt.Errorf("a process that it needs has ended: %w", err)
		}
		return errors.New("a process that it needs has ended")
	default:
		return nil
	}
}
