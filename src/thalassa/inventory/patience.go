package inventory

import (
	"maps"
	"sync"
	"time"
)

// patience is how old a list may be that says once more of a machine that it is not there. A node that has just joined
// is looked for in a list of the last seconds; one whose machine has been missing for long costs no list of its own.
type patience struct {
	mu     sync.Mutex
	missed map[string]missing
}

// missing is something that was looked for in vain.
type missing struct {
	since, latest time.Time
}

// impatience is how much younger the list must be than the time since which something is missing.
const impatience = 4

func newPatience() *patience { return &patience{missed: map[string]missing{}} }

// of is the age for a key.
func (p *patience) of(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, known := p.missed[key]
	if !known {
		return minRefreshInterval
	}
	return min(max(time.Since(m.since)/impatience, minRefreshInterval), MachineAge)
}

// note remembers whether there was something. What nobody looks for any more is forgotten.
func (p *patience) note(key string, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found {
		delete(p.missed, key)
		return
	}
	now := time.Now()
	m, known := p.missed[key]
	if !known {
		maps.DeleteFunc(p.missed, func(_ string, m missing) bool { return now.Sub(m.latest) > absentMemory })
		m.since = now
	}
	m.latest = now
	p.missed[key] = m
}
