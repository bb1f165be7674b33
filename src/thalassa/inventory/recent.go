package inventory

import (
	"maps"
	"sync"
	"time"
)

// recent remembers for a lifetime that something was noted about a key. It is safe for concurrent use.
type recent struct {
	lifetime time.Duration
	mu       sync.Mutex
	at       map[string]time.Time
}

func newRecent(lifetime time.Duration) *recent {
	return &recent{lifetime: lifetime, at: map[string]time.Time{}}
}

// note remembers the key from now on.
func (r *recent) note(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.at, func(_ string, at time.Time) bool { return time.Since(at) > r.lifetime })
	r.at[key] = time.Now()
}

// forget takes back that the key was noted.
func (r *recent) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, key)
}

// has says whether the key was noted within the lifetime.
func (r *recent) has(key string) bool {
	_, known := r.noted(key)
	return known
}

// noted is when the key was noted last, if that was within the lifetime.
func (r *recent) noted(key string) (at time.Time, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known = r.at[key]
	return at, known && time.Since(at) <= r.lifetime
}
