// Package terminal runs programs on pseudo-terminals, to test what a person sees.
package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Control sequences.
const (
	Home  = "\x1b[H"   // moves to the top of the screen
	Again = "\r\x1b[K" // removes the line of the cursor
)

// rows are the lines of every terminal.
const rows = 50

// Terminal is a terminal whose user is the test.
type Terminal struct {
	testing.TB
	keys, screen *os.File
	shown        bytes.Buffer // everything since the beginning
}

// New opens a terminal, until the test ends.
func New(tb testing.TB, columns int) *Terminal {
	tb.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	t := &Terminal{TB: tb, keys: keys}
	tb.Cleanup(func() { _ = keys.Close() })
	var number int
	t.control(func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if t.screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = t.screen.Close() })
	t.Resize(columns)
	return t
}

// control calls a function with the descriptor, without making reads from it block.
func (t *Terminal) control(call func(fd int) error) {
	t.Helper()
	connection, err := t.keys.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	if err := errors.Join(connection.Control(func(fd uintptr) { failure = call(int(fd)) }), failure); err != nil {
		t.Fatal(err)
	}
}

// Resize changes the number of columns.
func (t *Terminal) Resize(columns int) {
	t.Helper()
	t.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: uint16(columns)})
	})
}

// Settings are those of the terminal, such as echo.
func (t *Terminal) Settings() (settings unix.Termios) {
	t.Helper()
	t.control(func(fd int) error {
		got, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			settings = *got
		}
		return err
	})
	return settings
}

// Len is the number of bytes that have been shown.
func (t *Terminal) Len() int { return t.shown.Len() }

// Await reads until what is shown since from has a text, for a minute, and returns that.
func (t *Terminal) Await(from int, text string) string {
	t.Helper()
	if err := t.keys.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for part := make([]byte, 4096); !strings.Contains(t.shown.String()[from:], text); {
		n, err := t.keys.Read(part)
		t.shown.Write(part[:n])
		if err != nil {
			t.Fatalf("the terminal does not show %q (%v):\n%s", text, err, t.shown.String()[from:])
		}
	}
	return t.shown.String()[from:]
}

// Press presses keys.
func (t *Terminal) Press(keys string) {
	t.Helper()
	if _, err := t.keys.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// Start starts a command on the terminal, with both of its outputs.
func (t *Terminal) Start(cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.screen, t.screen, t.screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// Show returns what a command that ends by itself shows. The command may fail.
func Show(tb testing.TB, columns int, cmd *exec.Cmd) string {
	tb.Helper()
	t := New(tb, columns)
	t.Start(cmd)
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&t.shown, t.keys)
		read <- err
	}()
	err := cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		tb.Fatal(err)
	}
	if err := t.screen.Close(); err != nil {
		tb.Fatal(err)
	}
	// Linux reports that nobody has the other side open as an error of input.
	if err := <-read; err != nil && !errors.Is(err, syscall.EIO) {
		tb.Fatal(err)
	}
	return t.shown.String()
}

// Check checks that what a command shows on terminals with 80 and 200 columns fits them and has a text and colours,
// that it does so without colours if NO_COLOR is set, and that it writes no control sequences to a pipe. Command makes
// it.
func Check(tb testing.TB, want string, command func() *exec.Cmd) {
	tb.Helper()
	for _, columns := range []int{80, 200} {
		shown := Show(tb, columns, command())
		if !strings.Contains(shown, want) || !colours().MatchString(shown) {
			tb.Errorf("%v in %d columns lacks %q or colours:\n%s", command().Args, columns, want, shown)
		}
		RequireWidth(tb, shown, columns)
		plain := command()
		plain.Env = append(plain.Env, "NO_COLOR=1")
		shown = Show(tb, columns, plain)
		if !strings.Contains(shown, want) || colours().MatchString(shown) {
			tb.Errorf("%v in %d columns with NO_COLOR lacks %q, or has colours: %q", plain.Args, columns, want, shown)
		}
		RequireWidth(tb, shown, columns)
	}
	output, err := command().CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		tb.Fatal(err)
	}
	if !strings.Contains(string(output), want) || strings.Contains(string(output), "\x1b") {
		tb.Errorf("%v without a terminal lacks %q, or writes control sequences: %q", command().Args, want, output)
	}
}

// RequireWidth checks that all lines fit the terminal.
func RequireWidth(tb testing.TB, shown string, columns int) {
	tb.Helper()
	shown = strings.NewReplacer(Home, "\n", Again, "\n").Replace(shown)
	for line := range strings.SplitSeq(sequences().ReplaceAllString(shown, ""), "\n") {
		if line = strings.TrimRight(line, "\r"); utf8.RuneCountInString(line) > columns {
			tb.Errorf("a line is wider than %d columns: %s", columns, line)
		}
	}
}

// colours matches a control sequence that sets the colour or weight of text.
func colours() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*m`) }

// sequences matches control sequences.
func sequences() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`) }
