package proxy

import (
	"io"
	"sync"
)

// connections knows everything that is open, so that it can be cut, and waits for the goroutines
// that serve it.
type connections struct {
	mu     sync.Mutex
	open   map[io.Closer]bool // nil once closed
	active sync.WaitGroup
}

func newConnections() *connections {
	return &connections{open: map[io.Closer]bool{}}
}

// serve runs serve in a goroutine of its own with c, which it closes afterwards; close cuts it
// short. After close it only closes c.
func (t *connections) serve(c io.Closer, serve func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		_ = c.Close()
		return
	}
	t.open[c] = true
	t.active.Go(func() {
		defer t.forget(c)
		serve()
	})
}

func (t *connections) forget(c io.Closer) {
	_ = c.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// close cuts everything and waits until nothing is served any more.
func (t *connections) close() {
	t.mu.Lock()
	for c := range t.open {
		_ = c.Close()
	}
	t.open = nil
	t.mu.Unlock()
	t.active.Wait()
}
