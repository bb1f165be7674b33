package inventory

import (
	"maps"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// doubts remembers for which owners a creation ended without an answer: the object may exist, nobody knows its identity, and
// lists may not show it yet. The zero value is ready to use.
type doubts struct {
	mu    sync.Mutex
	since map[string]time.Time // owner -> when the latest such creation ended
}

// note remembers a creation that may have happened.
func (d *doubts) note(owner string, err error) {
	if !client.Uncertain(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[string]time.Time{}
	}
	maps.DeleteFunc(d.since, func(_ string, at time.Time) bool { return time.Since(at) > visibleAfter })
	d.since[owner] = time.Now()
}

// Doubtful says that something of the owner's may exist that lists do not show yet. So long nobody may take for certain that
// nothing is there.
func (i *Inventory) Doubtful(owner string) bool {
	i.doubts.mu.Lock()
	defer i.doubts.mu.Unlock()
	at, known := i.doubts.since[owner]
	return known && time.Since(at) <= visibleAfter
}
