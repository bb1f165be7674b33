package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// messageLimit bounds how many lines of the go tool's messages an error repeats.
const messageLimit = 40

// buildLog reads what "go build -v" writes: the path of each package it compiles on a line of its
// own, the modules it downloads, and messages about what goes wrong.
type buildLog struct {
	name      string // of what is built, for people
	mu        sync.Mutex
	partial   []byte
	packages  int
	downloads int
	messages  []string
}

// Write takes the next piece of output. It never fails.
func (l *buildLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, b...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.add(string(line))
		l.partial = rest
	}
}

func (l *buildLog) add(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		l.downloads++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		l.packages++
	case len(l.messages) < messageLimit:
		l.messages = append(l.messages, line)
	}
}

// summary says how far the build is after the given time.
func (l *buildLog) summary(took time.Duration) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	took = took.Round(time.Second)
	switch {
	case l.packages > 0:
		return fmt.Sprintf("building %s, once: %d packages so far, %s; later runs reuse the build cache",
			l.name, l.packages, took)
	case l.downloads > 0:
		return fmt.Sprintf("downloading %s, once: %d modules so far, %s; later runs reuse the module cache",
			l.name, l.downloads, took)
	default:
		return fmt.Sprintf("preparing %s, %s", l.name, took)
	}
}

// explain turns the end of the go tool into an error with the messages that matter, instead of
// the last lines, which are names of packages that did compile.
func (l *buildLog) explain(ctx context.Context, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d packages: %w", l.packages, context.Cause(ctx))
	}
	if len(l.messages) == 0 {
		return err
	}
	return fmt.Errorf("the go tool says:\n  %s", strings.Join(l.messages, "\n  "))
}
