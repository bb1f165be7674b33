package client

import "sync"

// health remembers how the latest call ended.
type health struct {
	mu   sync.Mutex
	last error
}

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}
