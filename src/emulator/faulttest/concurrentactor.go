package faulttest

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// ConcurrentActor is another system that works in the same cloud at the same time.
// Its own calls are not disturbed. With one each call takes some virtual time,
// so that the calls of both alternate, in the same way each time.
type ConcurrentActor struct {
	// Subject is who the concurrent actor's writes are by, see emulator.Write: a client
	// of the seed that nothing else uses.
	Subject string
	// Begin returns how the concurrent actor is started, once, when the work begins. The
	// cloud must not change yet. What the concurrent actor does must come to an end.
	Begin func(t *testing.T, cloud *emulator.Emulator) Start
}

// One call takes as long as another; the concurrent actor's begin halfway through ours.
const (
	pace   = 10 * time.Millisecond
	offset = pace / 2
)

// join starts the concurrent actor, and returns what waits for its end.
func (n *ConcurrentActor) join(ctx context.Context, t *testing.T, cloud *emulator.Emulator,
	guard *guard) (wait func() error) {
	t.Helper()
	if n == nil {
		return func() error { return nil }
	}
	own := &network{cloud: cloud.Transport(), guard: guard, pace: pace, caller: "the concurrent actor's ",
		earlier: map[string]answer{}}
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit,
		fmt.Errorf("the concurrent actor is not done after %s", timeLimit))
	work := n.Begin(t, cloud)(own.process(ctx))
	done := make(chan error, 1)
	go func() {
		defer cancel()
		err := sleep(ctx, offset)
		if err == nil {
			err = work(ctx)
		}
		done <- cmp.Or(context.Cause(ctx), err)
	}()
	return func() error {
		if err := <-done; err != nil {
			return fmt.Errorf("the concurrent actor: %w", err)
		}
		return nil
	}
}

// Wait lets virtual time pass. The error is that ctx ended before, and why.
func Wait(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }

// sleep waits, not longer than ctx lives.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// others are the writes of the system under test: all but the concurrent actor's.
func (n *ConcurrentActor) others(writes []emulator.Write) []emulator.Write {
	if n == nil {
		return writes
	}
	var others []emulator.Write
	for _, w := range writes {
		if w.Subject != n.Subject {
			others = append(others, w)
		}
	}
	return others
}

// trespassing are the writes to what somebody else made meanwhile: the first
// write that names an object is the one that made it. Before are those that
// were there already.
func trespassing(writes []emulator.Write, before map[string]bool) []emulator.Write {
	maker := map[string]string{}
	var found []emulator.Write
	for _, w := range writes {
		for _, id := range named(w) {
			if by, made := maker[id]; made && by != w.Subject {
				found = append(found, w)
				break
			}
		}
		if _, made := maker[w.Identity]; w.Identity != "" && !made && !before[w.Identity] {
			maker[w.Identity] = w.Subject
		}
	}
	return found
}
