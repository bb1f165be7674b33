package testrun

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun/share"
)

const (
	// headerLimit bounds how long a test may take to send its request.
	headerLimit = 10 * time.Second
	// stopLimit is how long the control plane may take to end.
	stopLimit = 30 * time.Second
)

// Server gives the tests of a run what they share: programs, each of which is built at most once, and one control
// plane. Nothing is built or started before a test asks for it, so a run whose results are all reused builds and
// starts nothing.
type Server struct {
	root, dir string
	out       io.Writer
	secret    string
	lock      *os.File
	http      *http.Server
	user      chan struct{}   // has an element while a process uses the control plane
	ctx       context.Context //nolint:containedctx // the run, which ends what tests have asked for
	cancel    context.CancelFunc

	returned atomic.Bool // the process that used the control plane has removed what it had made in it

	mu     sync.Mutex
	builds map[string]func() error
	plane  func() error // starts it once
	child  *process.Process
}

// Serve starts a server for a run in the repository at root. It keeps its files in dist/test there and writes what is
// built to out. Stop ends it.
func Serve(ctx context.Context, root string, out io.Writer) (*Server, error) {
	s := &Server{root: root, dir: filepath.Join(root, "dist", folder(os.Geteuid())), out: out, secret: rand.Text(),
		user: make(chan struct{}, 1), builds: map[string]func() error{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.plane = sync.OnceValue(s.startPlane)
	if err := s.lockDir(); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for tests: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /make", s.make)
	mux.HandleFunc("POST /control-plane", s.lend)
	mux.HandleFunc("POST /control-plane/returned", func(http.ResponseWriter, *http.Request) { s.returned.Store(true) })
	s.http = &http.Server{Handler: s.authorized(mux), ReadHeaderTimeout: headerLimit}
	go func() { _ = s.http.Serve(listener) }() // ends with Close
	address := fmt.Sprintf("http://test:%s@%s", s.secret, listener.Addr())
	if err := renameio.WriteFile(s.addressFile(), []byte(address), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("saying where the server of the test run is: %w", err), s.http.Close())
	}
	return s, nil
}

// folder is the name of the folder of a run: root has one of its own, because an ordinary user cannot write root's
// files.
func folder(user int) string {
	if user == 0 {
		return "test-as-root"
	}
	return "test"
}

// giveAway gives the folders that root has made to whom the repository belongs, who may want to remove them.
func (s *Server) giveAway() error {
	info, err := os.Stat(s.root)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return nil
	}
	for _, dir := range []string{filepath.Dir(s.dir), s.dir} {
		if err := os.Lchown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("giving a folder to the owner of the repository: %w", err)
		}
	}
	return nil
}

// lockDir makes the folder of the run, and waits for another run that uses it. The kernel takes the lock back from a
// process that ends.
func (s *Server) lockDir() error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the test run: %w", err)
	}
	if err := s.giveAway(); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the lock of the test run: %w", err)
	}
	s.lock = lock
	for how := unix.LOCK_EX | unix.LOCK_NB; ; how = unix.LOCK_EX {
		err := unix.Flock(int(lock.Fd()), how)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			_, _ = fmt.Fprintln(s.out, "waiting for another run of the tests in this folder")
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("locking %q: %w", lock.Name(), err)
		case err == nil:
			return nil
		}
	}
}

// addressFile is the file that share.AddressEnv names.
func (s *Server) addressFile() string { return filepath.Join(s.dir, "server") }

// Env returns the variable of the environment by which tests find the server.
func (s *Server) Env() string { return share.AddressEnv + "=" + s.addressFile() }

// Stop ends the control plane and the server. The error contains why the control plane ended before.
func (s *Server) Stop() error {
	errs := []error{s.http.Close(), os.Remove(s.addressFile())}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		errs = append(errs, s.endedEarly(s.child))
	}
	s.cancel()
	if s.child != nil {
		errs = append(errs, s.child.Stop(stopLimit))
		s.child = nil
	}
	if os.Geteuid() == 0 {
		errs = append(errs, os.RemoveAll(s.planeDir())) // nobody else can
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// authorized refuses whoever does not know the secret in the address file: other users of this machine.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
			http.Error(w, "the request has not the secret of this test run", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// make builds the target that the parameter of the request names.
func (s *Server) make(w http.ResponseWriter, r *http.Request) {
	target := r.FormValue("target")
	if err := s.build(target)(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// build returns the function that builds a target of the Makefile once.
func (s *Server) build(target string) func() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.builds[target] == nil {
		s.builds[target] = sync.OnceValue(func() error { return share.Build(s.ctx, s.root, target, s.out) })
	}
	return s.builds[target]
}

// lend answers with the folder of the control plane, which the test has until it ends the request. If the test did not
// return it before, such as after a crash, objects of the test are still in it, and the next one gets another.
func (s *Server) lend(w http.ResponseWriter, r *http.Request) {
	// The end of the connection is noticed only after all of the request was read.
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case s.user <- struct{}{}:
		defer func() { <-s.user }()
	case <-r.Context().Done():
		return // the test has ended
	}
	err := s.plane()
	if err == nil {
		err = s.endedEarly(s.child)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, s.planeDir())
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	if !s.returned.Swap(false) {
		s.renew()
	}
}

// renew ends the control plane, so that the next test starts another.
func (s *Server) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return
	}
	if err := s.child.Stop(stopLimit); err != nil {
		_, _ = fmt.Fprintln(s.out, "ending a control plane that tests did not return:", err)
	}
	s.child, s.plane = nil, sync.OnceValue(s.startPlane)
}

// endedEarly returns why the control plane has ended, which nobody has asked for, or nil.
func (s *Server) endedEarly(child *process.Process) error {
	select {
	case <-child.Done():
		if s.ctx.Err() == nil {
			return fmt.Errorf("the control plane of the test run has ended: %w\n%s", child.Err(), child.Tail())
		}
	default:
	}
	return nil
}

func (s *Server) planeDir() string { return filepath.Join(s.dir, "control-plane") }

// startPlane starts the program that runs the control plane, and waits until it says that it is ready.
func (s *Server) startPlane() error {
	if err := s.build("bin/controlplane")(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.planeDir()); err != nil {
		return fmt.Errorf("removing the control plane of an earlier test run: %w", err)
	}
	ready := &readiness{done: make(chan struct{})}
	child, err := process.Start(s.ctx, process.Spec{
		Name: "the control plane of the test run", Path: filepath.Join(s.root, "bin", "controlplane"),
		Args: []string{"run", "--dir=" + s.planeDir()}, Dir: s.root, Log: io.MultiWriter(ready, s.out),
		Grace: stopLimit,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.child = child
	s.mu.Unlock()
	select {
	case <-ready.done:
		return nil
	case <-child.Done():
		ended := errors.New("the control plane of the test run ended before it was ready")
		return fmt.Errorf("%w\n%s", errors.Join(ended, child.Err()), child.Tail())
	}
}

// readiness waits for a line of the program that runs the control plane.
type readiness struct {
	seen bytes.Buffer
	done chan struct{}
}

// ReadyLine is what the program that runs the control plane writes when it is ready.
const ReadyLine = "ready\n"

// Write implements io.Writer.
func (r *readiness) Write(p []byte) (int, error) {
	before := strings.Contains(r.seen.String(), ReadyLine)
	r.seen.Write(p)
	if !before && strings.Contains(r.seen.String(), ReadyLine) {
		close(r.done)
	}
	return len(p), nil
}
