package store

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
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

// RefusalTTL is how long a list that was refused is not requested again, unless its users need it less often.
const RefusalTTL = 10 * time.Second

// WithRefusals returns a function for lists that very many callers may request: if the cloud answers with no list, such
// as because of a missing permission, or with one that breaks off, the error is returned without a call until it
// expires. A cloud that does not answer refuses nothing: the client itself keeps calls from it.
func WithRefusals[T any](ttl time.Duration,
	list func(context.Context) ([]T, error)) func(context.Context) ([]T, error) {
	refusal := NewTTLCache[error](ttl)
	return func(ctx context.Context) ([]T, error) {
		if err, refused := refusal.Get(""); refused {
			return nil, err
		}
		all, err := list(ctx)
		failure, is := errors.AsType[*client.Error](err)
		if is && failure.Status > 0 && failure.Status < http.StatusInternalServerError &&
			!errors.Is(err, client.ErrThrottled) {
			refusal.Put("", err)
		}
		return all, err
	}
}
