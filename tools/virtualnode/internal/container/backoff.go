package container

import (
	"context"
	"time"
)

// Kubelet's figures: the first restart is immediate, the next one waits for ten seconds, then the
// wait doubles up to five minutes. A run of ten minutes starts over.
const (
	crashFirst = 10 * time.Second
	crashMax   = 5 * time.Minute
	crashReset = 10 * time.Minute
)

// A container that cannot be started is tried again at these intervals. Kubelet takes longer for
// some causes; a missing Secret that appears should not keep people waiting.
const (
	startFirst = time.Second
	startMax   = 10 * time.Second
)

// backOff is a growing pause.
type backOff struct {
	first, limit time.Duration
	current      time.Duration
}

// next returns the pause before the next attempt.
func (b *backOff) next() time.Duration {
	b.current = min(max(b.current*2, b.first), b.limit)
	return b.current
}

// crashes is the pause between a crash and the restart.
type crashes struct {
	backOff
	crashed bool
}

// after returns the pause after a run that lasted for the given time.
func (c *crashes) after(run time.Duration) time.Duration {
	if run >= crashReset {
		*c = crashes{}
	}
	if !c.crashed {
		c.crashed = true
		c.backOff = backOff{first: crashFirst, limit: crashMax}
		return 0
	}
	return c.next()
}

// pause reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
