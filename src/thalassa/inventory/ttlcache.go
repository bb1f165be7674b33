package inventory

import (
	"context"
	"maps"
	"sync"
	"time"
)

// ttlCache contains values that expire. It is safe for concurrent use.
type ttlCache[V any] struct {
	ttl     time.Duration
	mu      sync.Mutex
	entries map[string]ttlEntry[V]
}

type ttlEntry[V any] struct {
	value V
	added time.Time
}

func newTTLCache[V any](ttl time.Duration) *ttlCache[V] {
	return &ttlCache[V]{ttl: ttl, entries: map[string]ttlEntry[V]{}}
}

// put stores the value of the key. It expires after the TTL.
func (c *ttlCache[V]) put(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.entries[key]; !known {
		maps.DeleteFunc(c.entries, func(_ string, e ttlEntry[V]) bool { return time.Since(e.added) >= c.ttl })
	}
	c.entries[key] = ttlEntry[V]{value, time.Now()}
}

// remove removes the key.
func (c *ttlCache[V]) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// get returns the value of the key, unless it has expired.
func (c *ttlCache[V]) get(key string) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, known := c.entries[key]
	if !known || time.Since(entry.added) >= c.ttl {
		return value, false
	}
	return entry.value, true
}

// failureTTL is how long a list that failed is not repeated: the client has retried it several times already.
const failureTTL = 10 * time.Second

// withFailureTTL returns a function for lists that repeats the latest failure instead of the call until it expires.
func withFailureTTL[T any](ttl time.Duration,
	list func(context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	failure := newTTLCache[error](ttl)
	return func(ctx context.Context) ([]T, error) {
		if err, failed := failure.get(""); failed {
			return nil, err
		}
		all, err := list(ctx)
		if err != nil {
			failure.put("", err)
		}
		return all, err
	}
}
