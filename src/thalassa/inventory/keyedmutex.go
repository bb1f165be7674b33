package inventory

import (
	"context"
	"sync"
)

// keyedMutex is a mutex for each key. The zero value is ready to use.
type keyedMutex struct {
	mu     sync.Mutex
	locked map[string]chan struct{} // closed on unlock
}

// lock waits until the caller holds the mutex of the key. The caller releases it with unlock.
func (m *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		m.mu.Lock()
		unlocked, locked := m.locked[key]
		if !locked {
			break
		}
		m.mu.Unlock()
		select {
		case <-unlocked:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer m.mu.Unlock()
	if m.locked == nil {
		m.locked = map[string]chan struct{}{}
	}
	unlocked := make(chan struct{})
	m.locked[key] = unlocked
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locked, key)
		close(unlocked)
	}, nil
}
