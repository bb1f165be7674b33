// Package process runs child processes that never outlive the process that started them.
//
// A child is the leader of a process group of its own, so that a Ctrl-C in the terminal reaches
// us and not it, and so that whatever it started goes away with it. It is stopped with Stop or by
// ending the context it was started with. When we are killed without a chance to clean up, the
// kernel kills it for us (Linux' parent death signal). That last safety net holds for the child
// itself; children of the child need a net of their own, which Spec.Isolate is.
//
//	p, err := process.Start(ctx, process.Spec{Name: "etcd", Path: lab, Args: []string{"etcd"}, LogPath: "etcd.log"})
//	if err != nil {
//		return err
//	}
//	defer p.Stop(5 * time.Second)
//
// The package needs Linux; it needs no privileges but for Spec.Isolate.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// DefaultGrace is how long a process whose context has ended may take to react to SIGTERM
	// when its Spec says nothing else.
	DefaultGrace = 5 * time.Second

	// killLimit bounds the wait after SIGKILL. Only a process stuck inside the kernel, on a dead
	// disk for example, needs longer, and waiting for that one would hang the caller too.
	killLimit = 10 * time.Second
)

// ErrKilled is wrapped by the error of Stop when the process did not end within its grace period
// and was killed.
var ErrKilled = errors.New("killed after its grace period")

// Spec says what to run.
type Spec struct {
	// Name is what errors call the process. Default: Path.
	Name string
	// Path is the executable; a name without a slash is looked up in PATH.
	Path string
	// Args are the arguments without the program's own name.
	Args []string
	// Env is the whole environment, as "key=value"; nil inherits ours.
	Env []string
	// Dir is the working directory. Default: ours.
	Dir string
	// LogPath is a file that standard output and standard error are appended to. It is created
	// with mode 0600; its folder must exist.
	LogPath string
	// Log receives the same bytes as LogPath, in one goroutine. It must not block for long: the
	// child blocks with it. An error of Log or of the file ends neither the child nor the other.
	Log io.Writer
	// Grace is the time between SIGTERM and SIGKILL when the context ends. Default: DefaultGrace.
	Grace time.Duration
	// Isolate makes the process the first one of PID, mount and UTS namespaces of its own, which needs
	// root. When it ends, in whatever way, the kernel ends everything it started with it, wherever
	// that went, and removes every mount. As a first process it does not die of signals that it does
	// not handle, SIGKILL from outside excepted.
	Isolate bool
}

// Process is a child process that was started. All methods may be called from any goroutine and
// also after the process has ended.
type Process struct {
	spec    Spec
	pid     int
	began   time.Time
	output  *output
	done    chan struct{}
	err     error      // set before done is closed
	signals sync.Mutex // protects reaped: a process ID is ours only until we have reaped it
	reaped  bool
}

// Start starts a process. It returns once the executable runs; a missing or unusable one is an
// error. When ctx ends the process is stopped as Stop does, with the Spec's grace period.
func Start(ctx context.Context, s Spec) (*Process, error) {
	s = withDefaults(s)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	out, err := openOutput(s)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	p := &Process{spec: s, began: time.Now(), output: out, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(ctx, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	return p, nil
}

func withDefaults(s Spec) Spec {
	if s.Name == "" {
		s.Name = s.Path
	}
	if s.Grace == 0 {
		s.Grace = DefaultGrace
	}
	return s
}

// run starts the process and sees it to its end. It owns an OS thread from start to end because
// the parent death signal follows the thread that forked, not the process: without the lock the
// Go runtime may retire that thread and the kernel would kill a healthy child.
func (p *Process) run(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := command(ctx, p.spec, p.output)
	if err := cmd.Start(); err != nil {
		p.output.close()
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	unwatch := context.AfterFunc(ctx, func() { _ = p.Stop(p.spec.Grace) })
	started <- nil
	awaitExit(p.pid)
	p.finish(cmd)
	unwatch()
	close(p.done)
}

// command leaves the end of ctx to us: os/exec would kill only the leader, and without a grace.
func command(ctx context.Context, s Spec, output *output) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.Path, s.Args...)
	cmd.Env = s.Env
	cmd.Dir = s.Dir
	cmd.Stdout = output
	cmd.Stderr = output
	cmd.WaitDelay = drainLimit
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if s.Isolate {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS
	}
	return cmd
}

// awaitExit blocks the calling thread until the process has exited and leaves it a zombie, so
// that its ID keeps naming its group until all processes of the group have ended.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// finish kills what is left of the group, reaps the leader and records how it ended.
func (p *Process) finish(cmd *exec.Cmd) {
	p.signals.Lock()
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	err := cmd.Wait()
	p.reaped = true
	p.signals.Unlock()
	p.output.close()
	// With WaitDelay it ended well, and who holds its output open is not of its group.
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.err = p.exitError(cmd.ProcessState, err)
	}
}

// PID is the ID of the process, which is also the ID of its process group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended, its output has been written and nothing is left of
// its process group.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is nil while the process runs and when it exited with status 0; otherwise it is an
// *ExitError.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Wait waits until the process has ended and returns Err.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Tail returns the last lines that the process wrote so far.
func (p *Process) Tail() string { return p.output.String() }

// Signal sends a signal to the process and its whole group. It returns os.ErrProcessDone when
// the process has ended.
func (p *Process) Signal(sig syscall.Signal) error {
	p.signals.Lock()
	defer p.signals.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	if err := unix.Kill(-p.pid, sig); err != nil {
		return fmt.Errorf("sending %s to %s (pid %d): %w", sig, p.spec.Name, p.pid, err)
	}
	return nil
}

// Stop sends SIGTERM to the process group, waits up to grace, then kills what is left. It returns
// nil when the process ended within grace, however it exited, and also when it had ended before;
// an error that wraps ErrKilled and shows the last log lines when it had to be killed.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err == nil {
		// A stopped process reacts to SIGTERM only once it continues.
		_ = p.Signal(syscall.SIGCONT)
	}
	if p.endsWithin(grace) {
		return nil
	}
	_ = p.Signal(syscall.SIGKILL)
	if !p.endsWithin(killLimit) {
		return fmt.Errorf("stopping %s (pid %d): still there %s after SIGKILL; it hangs inside the kernel", p.spec.Name,
			p.pid, killLimit)
	}
	return fmt.Errorf("stopping %s (pid %d): %w of %s%s", p.spec.Name, p.pid, ErrKilled, grace, p.logHint())
}

func (p *Process) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
