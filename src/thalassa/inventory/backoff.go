package inventory

import (
	"maps"
	"sync"
	"time"
)

// missBackoff is the maximum age of lists for machines that are missing. It grows with the time since which a machine
// is missing: a new node is looked up in a list of the last seconds, and a machine that has been missing for long
// causes no list of its own.
type missBackoff struct {
	mu      sync.Mutex
	missing map[string]missingKey
}

// missingKey is a key that was looked up and not found.
type missingKey struct {
	since, latest time.Time
}

// backoffDivisor is the ratio of the time since which a machine is missing to the maximum age of the list.
const backoffDivisor = 4

func newMissBackoff() *missBackoff { return &missBackoff{missing: map[string]missingKey{}} }

// maxAge returns the maximum age of a list for a key.
func (b *missBackoff) maxAge(key string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, known := b.missing[key]
	if !known {
		return minRefreshInterval
	}
	return min(max(time.Since(m.since)/backoffDivisor, minRefreshInterval), MachineAge)
}

// record records whether a key was found. Keys that are not looked up any more are dropped.
func (b *missBackoff) record(key string, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found {
		delete(b.missing, key)
		return
	}
	now := time.Now()
	m, known := b.missing[key]
	if !known {
		maps.DeleteFunc(b.missing, func(_ string, m missingKey) bool { return now.Sub(m.latest) > absentTTL })
		m.since = now
	}
	m.latest = now
	b.missing[key] = m
}
