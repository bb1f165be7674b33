//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// margin is how long before its time limit a test is taken for one that hangs: several times what collecting may
	// take.
	margin = 2 * time.Minute
	// cutShort is the folder for what is collected then.
	cutShort = "cut-short"
)

// startWatchdog makes sure that everything is kept also when the test is ended from outside, after which no cleanup
// runs: shortly before its time limit, and at a signal. That signal then ends the program. The context ends, too; a
// cluster that is being started with it keeps its logs.
func (r *report) startWatchdog(t *testing.T, margin time.Duration) context.Context {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	g := watchdog{report: r, end: end, over: make(chan struct{}), signals: make(chan os.Signal, 1)}
	signal.Notify(g.signals, os.Interrupt, syscall.SIGTERM)
	if limit, limited := t.Deadline(); limited {
		g.late = time.After(time.Until(limit.Add(-margin)))
	}
	var watching sync.WaitGroup
	watching.Go(g.watch)
	t.Cleanup(func() {
		close(g.over)
		watching.Wait()
		signal.Stop(g.signals)
		end(nil)
	})
	return ctx
}

// watchdog waits for what ends a test from outside.
type watchdog struct {
	report  *report
	end     context.CancelCauseFunc
	over    chan struct{} // is closed when the test and its cleanups are done
	late    <-chan time.Time
	signals chan os.Signal
}

func (g watchdog) watch() {
	for {
		select {
		case <-g.over:
			return
		case <-g.late:
			g.keep("its time limit is near")
		case s := <-g.signals:
			signal.Ignore(syscall.SIGPIPE) // what reads the output of the test may have ended
			g.keep(fmt.Sprintf("the program got the signal %q", s))
			keeping.Lock() // each other test keeps what it has, too
			os.Exit(1)
		}
	}
}

// keeping is locked for reading while a test that is cut short keeps what there is to know.
var keeping sync.RWMutex

// keep ends what is being started, which keeps its own logs, or else collects what there is to know.
func (g watchdog) keep(why string) {
	keeping.RLock()
	defer keeping.RUnlock()
	g.report.say("the test is cut short: " + why)
	g.end(fmt.Errorf("the test is cut short: %s", why))
	if !g.report.hasCluster() {
		select {
		case <-g.over:
		case <-time.After(collectLimit):
		}
		return
	}
	if err := g.report.keep(context.Background(), cutShort); err != nil {
		g.report.say(fmt.Sprintf("not everything could be collected: %v", err))
	}
}
