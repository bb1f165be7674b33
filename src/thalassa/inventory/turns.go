package inventory

import (
	"context"
	"sync"
)

// turns let one at a time work on something that has a name. The zero value is ready to use.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the turn ends
}

// take waits until it is the caller's turn, which ends with done.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	for {
		t.mu.Lock()
		ends, busy := t.busy[name]
		if !busy {
			break
		}
		t.mu.Unlock()
		select {
		case <-ends:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer t.mu.Unlock()
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	ends := make(chan struct{})
	t.busy[name] = ends
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.busy, name)
		close(ends)
	}, nil
}
