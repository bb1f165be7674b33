package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// ExitError says how a process ended that did not exit with status 0.
type ExitError struct {
	// Name is the name from the Spec.
	Name string
	// PID is the ID the process had.
	PID int
	// Code is the exit status; -1 when a signal ended the process.
	Code int
	// Signal is the signal that ended the process; 0 when it exited by itself.
	Signal syscall.Signal
	// Uptime is how long it ran.
	Uptime time.Duration
	// Tail is the last lines it wrote.
	Tail string
	// LogPath is the file with everything it wrote, when there is one.
	LogPath string

	cause error
}

// Error names the process, how it ended and its last log lines.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exited with status %d", e.Code)
	if e.Signal != 0 {
		how = fmt.Sprintf("was ended by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("%s (pid %d) %s after %s%s", e.Name, e.PID, how, e.Uptime.Round(time.Millisecond),
		hint(e.Tail, e.LogPath))
}

// Unwrap returns the *exec.ExitError.
func (e *ExitError) Unwrap() error { return e.cause }

func (p *Process) exitError(state *os.ProcessState, cause error) *ExitError {
	e := &ExitError{
		Name: p.spec.Name, PID: p.pid, Code: state.ExitCode(),
		Uptime: time.Since(p.began), Tail: p.Tail(), LogPath: p.spec.LogPath, cause: cause,
	}
	if state == nil { // somebody else reaped our child; cause says so
		return e
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

func (p *Process) logHint() string { return hint(p.Tail(), p.spec.LogPath) }

// hint is the part of an error message that shows the end of a log and says where the rest is.
func hint(tail, path string) string {
	var b strings.Builder
	if path != "" {
		fmt.Fprintf(&b, "; its log is %s", path)
	}
	if tail == "" {
		b.WriteString("; it wrote nothing")
		return b.String()
	}
	b.WriteString("; its last lines:")
	for line := range strings.Lines(tail) {
		b.WriteString("\n  | " + strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}
