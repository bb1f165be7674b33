package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// printer writes the story as it happens.
type printer struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
}

func newPrinter(w io.Writer) *printer { return &printer{w: w, began: time.Now()} }

// chapter begins a new part of the story.
func (t *printer) chapter(title string) { t.write("\n== %s\n", title) }

// say prints one thing that happened, with the seconds since the beginning.
func (t *printer) say(format string, args ...any) {
	t.write("  %5.1fs  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// plain writes a line as it is.
func (t *printer) plain(format string, args ...any) { t.write(format+"\n", args...) }

func (t *printer) write(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A reader that went away does not stop the story: what was started must still be removed.
	_, _ = fmt.Fprintf(t.w, format, args...)
}
