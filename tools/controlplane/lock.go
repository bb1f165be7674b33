package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockEvery is how often a lock that another process holds is tried again.
const lockEvery = 100 * time.Millisecond

// lock takes the lock on a file and returns what gives it back. The kernel takes it back from a
// process that ends, so that a killed build does not block another one.
func (b builder) lock(ctx context.Context, path string) (unlock func(), err error) {
	// Read only: another user may have made the file, root in the end.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	done := make(chan struct{})
	defer close(done)
	go b.reportUntil(done, func(took time.Duration) string {
		return fmt.Sprintf("waiting for another build of the lab, %s so far", took.Round(time.Second))
	})
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("locking %q: %w", path, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("waiting for another build of the lab: %w", context.Cause(ctx))
		}
	}
}
