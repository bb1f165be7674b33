// Package load uses a service the way its users do, without a pause, and records the result of every connection: new
// ones at a steady pace, each of which sends a byte and reads its echo, and beside them streams that stay open and do
// that now and then.
//
//	server := httptest.NewServer(load.Handler(func(*http.Request) string { return "worker-1" }))
//	...
//	l := load.Start(load.Options{Dial: load.TCP(server.Listener.Addr().String()), Pace: 200, Streams: 20})
//	...
//	l.Stop()
//	if failed := l.Report().Failures(); len(failed) > 0 { ... }
//
// What it connects to is a Handler, which answers with its name: so it is known where each connection went, also when
// a load balancer chose.
package load

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// tick is how often new connections are opened: a handful at once at a usual pace, and so little work for the
	// clock.
	tick = 5 * time.Millisecond
	// defaultConcurrent is room for connections of one second at a usual pace.
	defaultConcurrent = 256
	defaultTimeout    = 10 * time.Second
	defaultPulse      = 100 * time.Millisecond
)

// Options say what to connect to, and how much.
type Options struct {
	// Dial opens a connection. Required.
	Dial func(context.Context) (net.Conn, error)
	// Pace is how many connections are opened in a second. What could not be opened in time, because Concurrent were
	// open or the machine was busy, is opened as soon as possible: after any time the pace was that on average, unless
	// it never could be.
	Pace int
	// Streams is how many connections stay open. One that ends is replaced.
	Streams int
	// Concurrent bounds how many of the new connections are open at a time. Default: 256.
	Concurrent int
	// Timeout bounds how long a connection may take, or the echo of a byte of a stream. Default: 10 seconds.
	Timeout time.Duration
	// Pulse is the time between two bytes of a stream. Default: 100 ms.
	Pulse time.Duration
}

// TCP dials an address, a host and a port.
func TCP(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
}

// Load is load under way. Its methods may be called from any goroutine.
type Load struct {
	options Options
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	attempts []Attempt
	streams  []*Stream
}

// Start starts the load. It goes on until Stop, whatever happens to connections, and records each, at a hundred
// bytes.
func Start(o Options) *Load {
	if o.Concurrent == 0 {
		o.Concurrent = defaultConcurrent
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Pulse == 0 {
		o.Pulse = defaultPulse
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Load{options: o, stop: stop}
	if o.Pace > 0 {
		l.running.Go(func() { l.pace(ctx) })
	}
	for range o.Streams {
		l.running.Go(func() { l.keepStream(ctx) })
	}
	return l
}

// Stop opens no more connections, lets the echoes under way come to their end, closes the streams and returns when
// all is done. Stopping again does nothing.
func (l *Load) Stop() {
	l.stop()
	l.running.Wait()
}

// Report is what became of all connections until now.
func (l *Load) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Attempts: slices.Clone(l.attempts)}
	for _, stream := range l.streams {
		r.Streams = append(r.Streams, *stream)
	}
	return r
}

// pace opens as many connections as the time that has passed asks for.
func (l *Load) pace(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	room := make(chan struct{}, l.options.Concurrent)
	began, opened := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for due := int(time.Since(began).Seconds() * float64(l.options.Pace)); opened < due; opened++ {
			select {
			case <-ctx.Done():
				return
			case room <- struct{}{}:
			}
			l.running.Go(func() {
				defer func() { <-room }()
				l.attempt()
			})
		}
	}
}

// attempt makes one connection with one echo. It does not end with the load: each attempt has a result.
func (l *Load) attempt() {
	a := Attempt{Began: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
	defer cancel()
	connection, err := open(ctx, l.options.Dial)
	if err == nil {
		a.Target = connection.target
		err = connection.echo(ctx)
		connection.Close()
	}
	a.Err, a.Ended = err, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
}

// keepStream has one stream open at any time. What cannot be opened is a failed attempt like any other.
func (l *Load) keepStream(ctx context.Context) {
	ticker := time.NewTicker(l.options.Pulse)
	defer ticker.Stop()
	for ctx.Err() == nil {
		l.stream(ctx, ticker.C)
		select {
		case <-ctx.Done():
		case <-ticker.C: // the next one, but not at once: a server that refuses gets no more than that
		}
	}
}

// stream opens a stream and uses it until it breaks, or ctx ends.
func (l *Load) stream(ctx context.Context, pulse <-chan time.Time) {
	began := time.Now()
	opening, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	connection, err := open(opening, l.options.Dial)
	if ctx.Err() != nil {
		if err == nil {
			connection.Close()
		}
		return
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.attempts = append(l.attempts, Attempt{Began: began, Ended: time.Now(), Err: err})
		return
	}
	defer connection.Close()
	s := &Stream{Target: connection.target, Began: time.Now()}
	l.mu.Lock()
	l.streams = append(l.streams, s)
	l.mu.Unlock()
	for l.beat(connection, s) {
		select {
		case <-ctx.Done():
			return
		case <-pulse:
		}
	}
}

// beat sends one byte of a stream and reads its echo, and reports whether it is still alive.
func (l *Load) beat(connection *connection, s *Stream) bool {
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
	defer cancel()
	err := connection.echo(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		s.Err, s.Ended = err, time.Now()
		return false
	}
	s.Echoes++
	return true
}
