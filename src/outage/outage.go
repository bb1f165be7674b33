// Package outage finds the end of an outage of a cloud, so that work that failed is tried again at once and not after a
// pause that has grown during the outage.
package outage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// period is the time between two probes while the cloud does not answer, and until the first one. The end of a
	// shorter outage is not reported: the pauses between attempts are still short.
	period = 3 * time.Second
	// timeout is the longest time that a probe takes. A probe that was begun before the end of the outage may never be
	// answered.
	timeout = period
)

// Monitor records whether a cloud answers. The client records the result of each call, Run probes the cloud while it
// does not answer, and controllers Watch for the end.
type Monitor struct {
	// answered is when the cloud has answered last, in nanoseconds since the Unix epoch; 0 if it does not answer now.
	answered atomic.Int64

	mu       sync.Mutex
	failing  bool
	changed  chan struct{} // closed when failing changes
	watchers map[*func()]bool
}

// NewMonitor returns a monitor of a cloud that answers.
func NewMonitor() *Monitor {
	return &Monitor{changed: make(chan struct{}), watchers: map[*func()]bool{}}
}

// Record records the result of a call: whether the cloud has answered. A refusal is an answer.
func (m *Monitor) Record(answered bool) {
	m.answered.Store(0)
	if answered {
		m.answered.Store(time.Now().UnixNano())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing == !answered {
		return
	}
	m.failing = !answered
	close(m.changed)
	m.changed = make(chan struct{})
}

// AnsweredWithin reports whether the cloud has answered within this time, and every call since.
func (m *Monitor) AnsweredWithin(d time.Duration) bool {
	at := m.answered.Load()
	return at != 0 && time.Since(time.Unix(0, at)) <= d
}

// state returns whether the cloud does not answer, and what is closed when that changes.
func (m *Monitor) state() (failing bool, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failing, m.changed
}

// Run probes the cloud while it does not answer, until ctx ends. Probe makes one call, whose result the client records.
// A quiet cloud that answers causes no call.
func (m *Monitor) Run(ctx context.Context, probe func(context.Context) error) {
	for {
		failing, changed := m.state()
		if !failing {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return
			}
		}
		if !m.probeUntilEnd(ctx, probe) {
			return
		}
	}
}

// probeUntilEnd returns when the cloud answers again. It reports that if a probe has failed as well: a call may also
// fail because of what it requests, and the cloud answers other calls. It returns false if ctx has ended.
func (m *Monitor) probeUntilEnd(ctx context.Context, probe func(context.Context) error) bool {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for away := false; ; {
		failing, changed := m.state()
		if !failing {
			if away {
				m.report()
			}
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-tick.C:
			attempt, cancel := context.WithTimeout(ctx, timeout)
			away = probe(attempt) != nil || away // the client records the result, too
			cancel()
		}
	}
}

// Watch calls report each time the cloud answers again after an outage, until ctx ends. Report only queues work, and
// returns soon.
func (m *Monitor) Watch(ctx context.Context, report func()) {
	defer m.OnEnd(report)()
	<-ctx.Done()
}

// OnEnd calls report each time the cloud answers again after an outage, until stop is called. Report returns soon.
func (m *Monitor) OnEnd(report func()) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers[&report] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, &report)
	}
}

// AwaitEnd waits while the cloud does not answer. It returns whether it has waited and the cloud answers now: false at
// once if the cloud answers, and at the end of ctx. Run has to run.
func (m *Monitor) AwaitEnd(ctx context.Context) bool {
	for waited := false; ; waited = true {
		failing, changed := m.state()
		if !failing {
			return waited
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// report calls all watchers.
func (m *Monitor) report() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for watcher := range m.watchers {
		(*watcher)()
	}
}
