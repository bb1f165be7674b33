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

// output carries what the child writes to a log file and to a writer, and keeps the last tailBytes of it.
type output struct {
	file *os.File  // nil without a LogPath
	log  io.Writer // may be nil

	mu   sync.Mutex
	tail []byte
	cut  bool
}

func openOutput(s Spec) (o *output, err error) {
	o = &output{log: s.Log}
	if s.LogPath == "" {
		return o, nil
	}
	if o.file, err = os.OpenFile(s.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	return o, nil
}

// Write never fails, also when the log is full: a child whose output is not read hangs.
func (o *output) Write(b []byte) (int, error) {
	if o.file != nil {
		_, _ = o.file.Write(b)
	}
	if o.log != nil {
		_, _ = o.log.Write(b)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, b...)
	if extra := len(o.tail) - tailBytes; extra > 0 {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
		o.cut = true
	}
	return len(b), nil
}

func (o *output) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}

// String returns the last tailLines lines without a final newline. The first line is left out
// when its beginning has been lost, unless it is the only one.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := bytes.TrimRight(o.tail, "\n")
	if _, rest, found := bytes.Cut(text, []byte("\n")); o.cut && found {
		text = rest
	}
	lines := bytes.Split(text, []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return string(bytes.Join(lines, []byte("\n")))
}
