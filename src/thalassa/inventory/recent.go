package inventory

import (
	"maps"
	"sync"
	"time"
)

// recent remembers when something was last noted about a key, for a while. The zero value remembers nothing; it is safe for
// concurrent use.
type recent struct {
	mu sync.Mutex
	at map[string]time.Time
}

// note remembers the key from now on; what is older than lifetime is forgotten.
func (r *recent) note(key string, lifetime time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = map[string]time.Time{}
	}
	maps.DeleteFunc(r.at, func(_ string, at time.Time) bool { return time.Since(at) > lifetime })
	r.at[key] = time.Now()
}

// within says whether the key was noted less than an age ago.
func (r *recent) within(key string, age time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.at[key]
	return known && time.Since(at) < age
}
