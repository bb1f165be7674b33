package emulator

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

// ledger counts requests and keeps the log of writes.
type ledger struct {
	mu     sync.Mutex
	counts map[string]int
	writes []Write
}

func (l *ledger) count(operation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[operation]++
}

func (l *ledger) write(w Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.writes) >= maxWrites {
		l.writes = slices.Delete(l.writes, 0, maxWrites/10)
	}
	l.writes = append(l.writes, w)
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.writes = nil, nil
}

// Counters are the API requests served since the start or the last reset, by
// operation: a method and a path pattern, such as "GET /v1/machines" or
// "POST /v1/loadbalancers/{id}/listeners". Refused requests count as well;
// requests to the admin API do not.
func (e *Emulator) Counters() map[string]int {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	if e.ledger.counts == nil {
		return map[string]int{}
	}
	return maps.Clone(e.ledger.counts)
}

// Operations are all operations of the API that belong to an organisation,
// sorted: a method and a path pattern each, as in Counters.
func (e *Emulator) Operations() []string {
	return slices.Sorted(maps.Keys(e.operations()))
}

// Writes is the log of writes since the start or the last reset, oldest first.
func (e *Emulator) Writes() []Write {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	return slices.Clone(e.ledger.writes)
}

// ResetCounters empties the counters and the log of writes.
func (e *Emulator) ResetCounters() { e.ledger.reset() }
