package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxPause is the longest time that a call waits because the cloud asked for less; longer ones are handed to the
// caller, whose worker has other things to do.
const maxPause = 5 * time.Second

// errPaused refuses a call because the cloud asked for a pause.
var errPaused = errors.New("the cloud asked for a pause")

// limiter is the rate limit that everything in the process shares, and the pauses that the cloud asked for.
type limiter struct {
	rate *rate.Limiter

	mu    sync.Mutex
	until time.Time // no calls before
}

func newLimiter(perSecond, burst int) *limiter {
	if perSecond == 0 {
		perSecond = DefaultRate
	}
	if burst == 0 {
		burst = DefaultBurst
	}
	return &limiter{rate: rate.NewLimiter(rate.Limit(perSecond), burst)}
}

// pause lets no call begin for that long.
func (l *limiter) pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(d); until.After(l.until) {
		l.until = until
	}
}

func (l *limiter) paused() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// wait returns when it is the caller's turn.
func (l *limiter) wait(ctx context.Context) error {
	for pause := l.paused(); pause > 0; pause = l.paused() {
		if pause > maxPause {
			return pausedError{pause}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting because the cloud asked for a pause: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	if err := l.rate.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for the rate limit of %v requests a second: %w", l.rate.Limit(), because(ctx, err))
	}
	return nil
}

// pausedError says for how long.
type pausedError struct{ left time.Duration }

func (e pausedError) Error() string {
	return fmt.Sprintf("not tried: %v for another %s", errPaused, e.left.Round(time.Second))
}

func (e pausedError) Unwrap() error { return errPaused }

// pauseOf returns how long the pause in err still takes.
func pauseOf(err error) time.Duration {
	var paused pausedError
	errors.As(err, &paused)
	return paused.left
}
