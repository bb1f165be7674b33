package testrun

import (
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"gotest.tools/gotestsum/testjson"
)

// quiet is how long nothing may be printed before a line says that the run goes on.
const quiet = 30 * time.Second

// progress prints a line for each package and the output of each test that failed, at once. Its methods are called
// from two goroutines.
type progress struct {
	mu        sync.Mutex
	out       io.Writer
	formatter testjson.EventFormatter
	printed   time.Time
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, printed: time.Now()}
	p.formatter = testjson.NewEventFormatter(p, "pkgname-and-test-fails",
		testjson.FormatOptions{HideEmptyPackages: true, Icons: "text"})
	return p
}

// Write implements io.Writer for the formatter.
func (p *progress) Write(text []byte) (int, error) {
	if len(text) > 0 {
		p.printed = time.Now()
	}
	return p.out.Write(text)
}

// Event implements testjson.EventHandler.
func (p *progress) Event(event testjson.TestEvent, execution *testjson.Execution) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.printed) >= quiet && event.Test != "" {
		_, _ = fmt.Fprintf(p, "... after %s: %s %s\n", execution.Elapsed().Round(time.Second), path.Base(event.Package),
			event.Test)
	}
	return p.formatter.Format(event, execution)
}

// Err implements testjson.EventHandler: what the go command itself says.
func (p *progress) Err(text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintln(p, text)
	return err
}
