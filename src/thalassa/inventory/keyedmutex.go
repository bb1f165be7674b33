package inventory

import (
	"context"
	"sync"
)

// keyedMutex is a mutex for each key. The zero value is ready to use.
type keyedMutex struct {
	locked sync.Map // key -> chan struct{}, which is closed on unlock
}

// lock waits until the caller holds the mutex of the key. The caller releases it with unlock.
func (m *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	unlocked := make(chan struct{})
	for {
		held, locked := m.locked.LoadOrStore(key, unlocked)
		if !locked {
			return func() {
				m.locked.Delete(key)
				close(unlocked)
			}, nil
		}
		select {
		case <-held.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
