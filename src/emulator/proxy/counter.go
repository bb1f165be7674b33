package proxy

import (
	"sync/atomic"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// counter counts what a frontend or a target carried. Its zero value is ready to use.
type counter struct{ connections, bytesReceived, bytesSent atomic.Uint64 }

func (c *counter) read() traffic.Counters {
	return traffic.Counters{
		Connections: c.connections.Load(), Received: c.bytesReceived.Load(), Sent: c.bytesSent.Load(),
	}
}

// tally counts one session, for its frontend and for its target.
type tally [2]*counter

// tally counts a session that begins.
func (f *frontend) tally(target traffic.Target) tally {
	t := tally{&f.carried, f.pool.counter(target)}
	for _, c := range t {
		c.connections.Add(1)
	}
	return t
}

func (t tally) received(bytes int) {
	for _, c := range t {
		c.bytesReceived.Add(uint64(bytes))
	}
}

func (t tally) sent(bytes int) {
	for _, c := range t {
		c.bytesSent.Add(uint64(bytes))
	}
}

// counter is the counter of a target, or one that nobody reads if the target was removed.
func (p *pool) counter(target traffic.Target) *counter {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if m.target == target {
			return m.carried
		}
	}
	return &counter{}
}
