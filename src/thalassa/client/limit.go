package client

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxPause is the longest time that a call waits because the cloud asked for less; longer ones are handed to the
// caller, whose worker has other things to do.
const maxPause = 5 * time.Second

// limiter is the rate limit that everything in the process shares, and the pauses that the cloud asked for.
type limiter struct {
	rate *rate.Limiter

	mu    sync.Mutex
	until time.Time // no calls before
}

func newLimiter(perSecond, burst int) *limiter {
	return &limiter{rate: rate.NewLimiter(rate.Limit(cmp.Or(perSecond, DefaultRate)), cmp.Or(burst, DefaultBurst))}
}

// copy returns a limiter with the same rate limit, which begins with the present pause and has its own from then on.
func (l *limiter) copy() *limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &limiter{rate: l.rate, until: l.until}
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
			return pausedError(pause)
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

// pausedError refuses a call because the cloud asked for a pause, for as long as it still takes.
type pausedError time.Duration

func (e pausedError) Error() string {
	return fmt.Sprintf("not tried: the cloud asked for a pause for another %s", time.Duration(e).Round(time.Second))
}
