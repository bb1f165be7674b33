package store

import (
	"context"
	"maps"
	"sync"
	"time"
)

// TTLCache contains values that expire. It is safe for concurrent use.
type TTLCache[V any] struct {
	ttl     time.Duration
	mu      sync.Mutex
	entries map[string]ttlEntry[V]
	cleaned time.Time // when expired entries were last removed
}

type ttlEntry[V any] struct {
	value V
	added time.Time
}

// NewTTLCache returns an empty cache whose values expire after the TTL.
func NewTTLCache[V any](ttl time.Duration) *TTLCache[V] {
	return &TTLCache[V]{ttl: ttl, entries: map[string]ttlEntry[V]{}}
}

// Put stores the value of the key. It expires after the TTL.
func (c *TTLCache[V]) Put(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.cleaned) >= c.ttl/10 { // not each time: a start puts an entry for each Service
		maps.DeleteFunc(c.entries, func(_ string, e ttlEntry[V]) bool { return now.Sub(e.added) >= c.ttl })
		c.cleaned = now
	}
	c.entries[key] = ttlEntry[V]{value, now}
}

// Remove removes the key.
func (c *TTLCache[V]) Remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// Get returns the value of the key, unless it has expired.
func (c *TTLCache[V]) Get(key string) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, known := c.entries[key]
	if !known || time.Since(entry.added) >= c.ttl {
		return value, false
	}
	return entry.value, true
}

// FailureTTL is how long a list that failed is not repeated: the client has retried it several times already.
const FailureTTL = 10 * time.Second

// WithFailureTTL returns a function for lists that repeats the latest failure instead of the call until it expires.
func WithFailureTTL[T any](ttl time.Duration,
	list func(context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	failure := NewTTLCache[error](ttl)
	return func(ctx context.Context) ([]T, error) {
		if err, failed := failure.Get(""); failed {
			return nil, err
		}
		all, err := list(ctx)
		if err != nil {
			failure.Put("", err)
		}
		return all, err
	}
}
