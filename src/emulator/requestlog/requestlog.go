// Package requestlog counts the requests to the API and records the writes.
package requestlog

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// maxWrites bounds the log of writes; the oldest are dropped beyond it.
const maxWrites = 100_000

// Write is an entry of the log of writes: a request that may change something,
// whether or not it succeeded. It never holds a body, a header or a token.
type Write struct {
	Time time.Time `json:"time"`
	// Operation is a method and a path pattern, e.g. "PUT /v1/loadbalancers/{id}".
	Operation string `json:"operation"`
	// Path is the request's path, without its query.
	Path string `json:"path"`
	// Identity is the object that was created, changed or removed; empty when
	// the request failed.
	Identity string `json:"identity,omitempty"`
	// Subject is who sent the request: the id of a client, the identity of a
	// service account, or "personal-access-token". It is empty when the
	// credentials were refused.
	Subject string `json:"subject,omitempty"`
	Status  int    `json:"status"`
	// Fault is the kind of fault that the request met, if any: its client may
	// have got another answer, or none. Requests that a fault kept from being
	// handled are not in the log.
	Fault fault.Kind `json:"fault,omitempty"`
}

// Log counts requests and keeps the log of writes.
type Log struct {
	mu     sync.Mutex
	counts map[string]int
	writes []Write
}

// Count counts a request.
func (l *Log) Count(operation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[operation]++
}

// Write records a write.
func (l *Log) Write(w Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.writes) >= maxWrites {
		l.writes = slices.Delete(l.writes, 0, maxWrites/10)
	}
	l.writes = append(l.writes, w)
}

// Reset removes all counts and all writes.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.writes = nil, nil
}

// All are the requests by operation.
func (l *Log) All() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		return map[string]int{}
	}
	return maps.Clone(l.counts)
}

// Log are the writes, oldest first.
func (l *Log) Log() []Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.writes)
}
