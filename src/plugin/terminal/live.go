package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// Control sequences of ECMA-48 and xterm, which all terminals of today know.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	interrupt   = '\x03' // Ctrl-C while keys are read
)

// Live shows what draw writes on a screen of its own, now and at each tick, until the user presses q or Ctrl-C, ctx
// ends, or draw fails. What the terminal showed before is there again afterwards.
func (t Terminal) Live(ctx context.Context, ticks <-chan time.Time, draw func(context.Context, Terminal) error) error {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	if t.Raw != nil {
		restore, err := t.Raw()
		if err != nil {
			return fmt.Errorf("reading keys from the terminal (print once with --once): %w", err)
		}
		defer restore()
		go t.awaitQuit(quit)
	}
	t.Print(enterScreen)
	defer t.Print(leaveScreen)
	for {
		if err := t.frame(ctx, draw); err != nil {
			if ctx.Err() != nil {
				return nil // the user ended it while it read
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// awaitQuit reads keys until one of them ends the view. A read cannot be interrupted, so that this lasts until the next
// key or the end of the process.
func (t Terminal) awaitQuit(quit func()) {
	var key [1]byte
	for {
		if _, err := t.In.Read(key[:]); err != nil {
			return // the view lasts until the context ends
		}
		if key[0] == 'q' || key[0] == interrupt {
			quit()
			return
		}
	}
}

// frame writes one picture over the one before: the lines that the terminal has space for.
func (t Terminal) frame(ctx context.Context, draw func(context.Context, Terminal) error) error {
	var content bytes.Buffer
	on, height := t, 0
	on.Out = &content
	if t.Size != nil {
		on.Width, height = t.Size()
	}
	if err := draw(ctx, on); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(content.String(), "\n"), "\n")
	if height > 1 && len(lines) > height {
		hidden := len(lines) - height + 1
		lines = append(lines[:height-1], fmt.Sprintf("… %d more lines", hidden))
	}
	// Without output processing, a line feed does not return to the first column.
	t.Print("%s%s%s%s", home, strings.Join(lines, clearLine+"\r\n"), clearLine, clearBelow)
	return nil
}

// sizeOf returns what measures a terminal. COLUMNS takes precedence.
func sizeOf(out *os.File, getenv func(string) string) func() (width, height int) {
	return func() (width, height int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return minWidth, 0
		}
		if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
			width = columns
		}
		return max(width, minWidth), height
	}
}

// raw puts a terminal into raw mode.
func raw(in *os.File) (restore func(), err error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(in.Fd()), before) }, nil
}
