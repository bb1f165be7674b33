package inventory

import (
	"maps"
	"sync"
	"time"
)

// ttlSet is a set of keys that expire. It is safe for concurrent use.
type ttlSet struct {
	ttl   time.Duration
	mu    sync.Mutex
	added map[string]time.Time
}

func newTTLSet(ttl time.Duration) *ttlSet {
	return &ttlSet{ttl: ttl, added: map[string]time.Time{}}
}

// add adds the key, or renews it.
func (r *ttlSet) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.added, func(_ string, at time.Time) bool { return time.Since(at) > r.ttl })
	r.added[key] = time.Now()
}

// remove removes the key.
func (r *ttlSet) remove(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.added, key)
}

// has reports whether the key was added and has not expired.
func (r *ttlSet) has(key string) bool {
	_, known := r.addedAt(key)
	return known
}

// addedAt returns when the key was last added, unless it has expired.
func (r *ttlSet) addedAt(key string) (at time.Time, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known = r.added[key]
	return at, known && time.Since(at) <= r.ttl
}
