package process_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"golang.org/x/sys/unix"
)

// limit is how long anything in these tests may take before it counts as never.
const limit = 30 * time.Second

// lifeline is the test's side of the connections that processes keep open while they live.
type lifeline struct {
	t        *testing.T
	listener *net.TCPListener
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &lifeline{t: t, listener: l}
}

func (l *lifeline) address() string { return l.listener.Addr().String() }

// accept waits until a process is up and returns its connection.
func (l *lifeline) accept() net.Conn {
	l.t.Helper()
	deadline := time.Now().Add(limit)
	_ = l.listener.SetDeadline(deadline)
	conn, err := l.listener.Accept()
	if err != nil {
		l.t.Fatalf("no process came up: %v", err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(deadline)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		l.t.Fatalf("a process came up and went away: %v", err)
	}
	return conn
}

// awaitDeath waits until the process behind conn is gone.
func awaitDeath(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := conn.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the process is still alive")
	}
}

// stillAlive reports whether the process behind conn has not closed it yet.
func stillAlive(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func start(t *testing.T, s process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(0) })
	return p
}

func shell(script string) process.Spec {
	return process.Spec{Name: "script", Path: "sh", Args: []string{"-c", script}}
}

func TestExit(t *testing.T) {
	tests := []struct {
		name, script string
		code         int
		signal       syscall.Signal
		message      string
	}{
		{"status 0", "exit 0", 0, 0, ""},
		{"status 3", "exit 3", 3, 0, "exited with status 3"},
		{"a signal", "kill -KILL $$", -1, syscall.SIGKILL, "was ended by signal 9 (killed)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := start(t, shell(tt.script)).Wait()
			if tt.message == "" {
				if err != nil {
					t.Errorf("Wait() = %v, want nil", err)
				}
				return
			}
			var exit *process.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("Wait() = %v, want an *ExitError", err)
			}
			if exit.Code != tt.code || exit.Signal != tt.signal {
				t.Errorf("got code %d and signal %d, want %d and %d", exit.Code, exit.Signal, tt.code, tt.signal)
			}
			if !strings.Contains(err.Error(), "script (pid "+strconv.Itoa(exit.PID)+") "+tt.message) {
				t.Errorf("the error does not name the process and say %q: %v", tt.message, err)
			}
		})
	}
}

func TestExitErrorUnwraps(t *testing.T) {
	err := start(t, shell("exit 4")).Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Errorf("%v does not unwrap to the exec.ExitError with status 4", err)
	}
}

func TestStartErrors(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		spec process.Spec
		want error
	}{
		{"context has ended", gone, shell("exit"), context.Canceled},
		{"no such path", t.Context(), process.Spec{Path: "/no/such/program"}, os.ErrNotExist},
		{"not in PATH", t.Context(), process.Spec{Path: "no-such-program"}, exec.ErrNotFound},
		{"not executable", t.Context(), process.Spec{Path: t.TempDir()}, os.ErrPermission},
		{"no folder for the log", t.Context(), process.Spec{Path: "sh", LogPath: "/no/such/folder/log"},
			os.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := process.Start(tt.ctx, tt.spec)
			if !errors.Is(err, tt.want) {
				t.Errorf("Start() = %v, want %v", err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "starting ") {
				t.Errorf("the error does not say what was attempted: %v", err)
			}
		})
	}
}

func TestEnvironmentAndFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROCESS_TEST_INHERITED", "ours")
	const script = `echo "$(pwd) $PROCESS_TEST_INHERITED $GIVEN"`
	tests := []struct {
		name string
		env  []string
		want string
	}{
		{"inherited", nil, dir + " ours \n"},
		{"given", []string{"GIVEN=theirs"}, dir + "  theirs\n"},
		{"empty", []string{}, dir + "  \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got bytes.Buffer
			s := shell(script)
			s.Env, s.Dir, s.Log = tt.env, dir, &got
			if err := start(t, s).Wait(); err != nil {
				t.Fatal(err)
			}
			if got.String() != tt.want {
				t.Errorf("got %q, want %q", &got, tt.want)
			}
		})
	}
}

func TestStop(t *testing.T) {
	line := newLifeline(t)
	p := start(t, self("polite", line.address()))
	conn := line.accept()
	if err := p.Err(); err != nil {
		t.Errorf("Err() = %v while it runs, want nil", err)
	}
	if err := p.Stop(limit); err != nil {
		t.Errorf("Stop() = %v, want nil", err)
	}
	awaitDeath(t, conn)
	var exit *process.ExitError
	if !errors.As(p.Err(), &exit) || exit.Signal != syscall.SIGTERM {
		t.Errorf("Err() = %v, want an end by SIGTERM", p.Err())
	}
}

func TestStopAfterTheEnd(t *testing.T) {
	p := start(t, shell("exit 1"))
	<-p.Done()
	if err := p.Stop(limit); err != nil {
		t.Errorf("Stop() = %v, want nil", err)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal() = %v, want os.ErrProcessDone", err)
	}
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	line := newLifeline(t)
	p := start(t, self("stubborn", line.address()))
	conn := line.accept()
	const grace = 100 * time.Millisecond
	began := time.Now()
	err := p.Stop(grace)
	if took := time.Since(began); took < grace {
		t.Errorf("it was killed after %s, within its grace of %s", took, grace)
	}
	if !errors.Is(err, process.ErrKilled) || !strings.Contains(err.Error(), "not listening to SIGTERM") {
		t.Errorf("Stop() = %v, want ErrKilled and the last log line", err)
	}
	awaitDeath(t, conn)
	if err := unix.Kill(-p.PID(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("signalling the process group: got %v, want ESRCH", err)
	}
}

func TestStopWakesAStoppedProcess(t *testing.T) {
	line := newLifeline(t)
	p := start(t, self("polite", line.address()))
	line.accept()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(limit); err != nil {
		t.Errorf("Stop() = %v, want nil", err)
	}
}

func TestStopFromManySides(t *testing.T) {
	line := newLifeline(t)
	p := start(t, self("polite", line.address()))
	line.accept()
	errs := make(chan error)
	for range 8 {
		go func() { errs <- p.Stop(limit) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Errorf("Stop() = %v, want nil", err)
		}
	}
}

func TestContextEndStops(t *testing.T) {
	for _, role := range []string{"polite", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			line := newLifeline(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := self(role, line.address())
			s.Grace = 100 * time.Millisecond
			p, err := process.Start(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			conn := line.accept()
			cancel()
			awaitDeath(t, conn)
			if p.Wait() == nil {
				t.Error("Wait() = nil, want the signal that ended it")
			}
		})
	}
}

// A child of the child stays in the group, holds the log open and ignores SIGTERM: it must go
// when its parent exits by itself, and Done must not wait for anything else.
func TestGroupEndsWithItsLeader(t *testing.T) {
	line := newLifeline(t)
	p := start(t, self("parent", line.address()))
	first, second := line.accept(), line.accept()
	if !stillAlive(first) || !stillAlive(second) {
		t.Fatal("the processes ended by themselves")
	}
	if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil { // the leader alone
		t.Fatal(err)
	}
	awaitDeath(t, first)
	awaitDeath(t, second)
	<-p.Done()
}

func TestChildDiesWithItsKilledOwner(t *testing.T) {
	line := newLifeline(t)
	o := exec.CommandContext(t.Context(), "/proc/self/exe")
	o.Env = self("owner", line.address()).Env
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	conn := line.accept()
	if !stillAlive(conn) {
		t.Error("the child died before its owner")
	}
	if err := o.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.Wait()
	awaitDeath(t, conn)
}

// The death signal follows the thread that forked. Starting from a thread that then ends must
// not end the child.
func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	line := newLifeline(t)
	var p *process.Process
	var err error
	tid := onThrowawayThread(func() {
		p, err = process.Start(t.Context(), self("polite", line.address()))
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := line.accept()
	awaitThreadEnd(t, tid)
	if !stillAlive(conn) {
		t.Fatalf("the child ended with the thread: %v", p.Err())
	}
	if err := p.Stop(limit); err != nil {
		t.Error(err)
	}
}

// onThrowawayThread runs f on a thread that ends afterwards and returns the thread's ID.
func onThrowawayThread(f func()) int {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread never ends; hold it and take another
			defer runtime.UnlockOSThread()
			tid <- onThrowawayThread(f)
			return
		}
		f()
		tid <- unix.Gettid() // no unlocking: the thread ends with the goroutine
	}()
	return <-tid
}

func awaitThreadEnd(t *testing.T, tid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		if err := unix.Tgkill(os.Getpid(), tid, 0); errors.Is(err, unix.ESRCH) {
			return
		}
		<-tick.C
	}
	t.Fatalf("thread %d does not end", tid)
}
