package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// tailBytes and tailLines bound what an error shows of a log: enough for a Go stack's top
	// or a flag error with its context, short enough to read in a terminal.
	tailBytes = 8 << 10
	tailLines = 25

	// drainLimit bounds the wait for output after the group is dead. Only a descendant that left
	// the group can still hold the pipe open then.
	drainLimit = 2 * time.Second
)

// output carries what the child writes to a log file, to a writer and to the tail.
type output struct {
	parentEnd *os.File
	childEnd  *os.File
	file      *os.File // nil without a LogPath
	sinks     []io.Writer
	tail      tail
	copied    chan struct{}
}

func openOutput(s Spec) (*output, error) {
	o := &output{copied: make(chan struct{})}
	if s.LogPath != "" {
		f, err := os.OpenFile(s.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening its log: %w", err)
		}
		o.file = f
		o.sinks = append(o.sinks, f)
	}
	if s.Log != nil {
		o.sinks = append(o.sinks, s.Log)
	}
	r, w, err := os.Pipe()
	if err != nil {
		_ = o.closeFile()
		return nil, fmt.Errorf("opening a pipe for its output: %w", err)
	}
	o.parentEnd, o.childEnd = r, w
	go o.copy()
	return o, nil
}

// copy reads until every holder of the child's end has closed it. It keeps reading when a sink
// fails, because a child whose output is not read hangs.
func (o *output) copy() {
	defer close(o.copied)
	buf := make([]byte, 32<<10)
	for {
		n, err := o.parentEnd.Read(buf)
		o.tail.write(buf[:n])
		for _, sink := range o.sinks {
			_, _ = sink.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// started closes our copy of the child's end, so that the child's death ends the copying.
func (o *output) started() { _ = o.childEnd.Close() }

// drain waits until everything written has been copied and closes what we opened.
func (o *output) drain() {
	_ = o.parentEnd.SetReadDeadline(time.Now().Add(drainLimit))
	<-o.copied
	_ = o.parentEnd.Close()
	_ = o.closeFile()
}

func (o *output) closeFile() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// tail keeps the last tailBytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
		t.cut = true
	}
}

// String returns the last tailLines lines without a final newline. The first line is left out
// when its beginning has been lost, unless it is the only one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimRight(t.buf, "\n")
	if _, rest, found := bytes.Cut(text, []byte("\n")); t.cut && found {
		text = rest
	}
	lines := bytes.Split(text, []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return string(bytes.Join(lines, []byte("\n")))
}
