// Package controlplanetest gives tests a real control plane to share: that of the run of tests, which all packages
// use one after the other, or one of this package if no run has started it. It is started when the first test asks
// for it, and stopped when the last has ended.
//
//	func TestMain(m *testing.M) { controlplanetest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		client, err := kubernetes.NewForConfig(controlplanetest.Get(t).Config())
//		...
//		namespace := controlplanetest.Namespace(t)
//	}
//
// Cluster-wide objects are shared, so tests name theirs after themselves and remove them. What is left in the end is
// removed for the next package. Tests that cannot share, and that run at the same time, each borrow a control plane
// with Own instead. A test that needs an empty one calls Start.
package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun/share"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// KeepEnv is the environment variable that, when it is not empty, keeps the folder of the control
// plane with its logs and says where it is.
const KeepEnv = "KEEP_CONTROL_PLANE"

// cleanupLimit bounds what happens after a test has ended.
const cleanupLimit = time.Minute

// current is the control plane of this test binary. Tests get nothing handed by TestMain, so it
// can only be a variable of a package.
var current = &shared{} //nolint:gochecknoglobals // see above

// shared is a control plane that starts at most once, and others that are lent.
type shared struct {
	mu      sync.Mutex
	usable  bool // between the begin and the end of Main
	adjust  []func(*controlplane.Options)
	plane   *controlplane.ControlPlane              // for all; nil before the first test asks for it
	release func(clean bool) error                  // gives plane back to the run of tests, if it is that one
	before  map[object]metav1.PartialObjectMetadata // what plane had when it was borrowed
	alone   sync.Mutex                              // held by the test that Own has given plane in the quick tier
	idle    []*controlplane.ControlPlane            // that were given back
	started []*controlplane.ControlPlane
	dirs    []string
	err     error // of the start that failed
}

// Main runs the tests of a package and stops the control plane afterwards, whether they passed or
// not; it is the body of TestMain. The functions may change how the control plane is started. The
// binary fails when a component of the control plane ended on its own.
func Main(m *testing.M, adjust ...func(*controlplane.Options)) {
	current.open(adjust)
	m.Run() // when TestMain returns, the binary exits with its result
	if err := current.close(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: the control plane of these tests:", err)
		os.Exit(1) //nolint:revive // nothing else lets a TestMain fail
	}
}

// Get returns the control plane and starts it when it is not running yet. The test fails when that
// is impossible.
func Get(tb testing.TB) *controlplane.ControlPlane {
	tb.Helper()
	plane, err := current.get(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return plane
}

// Own returns a control plane that no other test has until this one ends, if all of its package use Own. What tests
// before it left in there is there. In the quick tier that is the one of Get, for which the test waits. In the full
// tier as many are started as tests have one at the same time.
func Own(tb testing.TB) *controlplane.ControlPlane {
	tb.Helper()
	if !tier.Full() {
		plane := Get(tb)
		current.alone.Lock()
		tb.Cleanup(current.alone.Unlock)
		return plane
	}
	plane, err := current.lend(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { current.takeBack(plane) })
	return plane
}

// Start returns a control plane in which nothing has been made yet, with further flags of its components by their
// names. It stops when the test ends.
func Start(tb testing.TB, flags map[string][]string) *controlplane.ControlPlane {
	tb.Helper()
	plane, err := controlplane.Start(tb.Context(), controlplane.Options{Dir: tb.TempDir(), Flags: flags})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			tb.Errorf("stopping the control plane of the test: %v", err)
		}
	})
	return plane
}

// Client returns a client of a control plane, as its administrator.
func Client(tb testing.TB, plane *controlplane.ControlPlane) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// Namespace makes a namespace for a test, named after it, and deletes it when the test ends. What
// is in there is deleted by Kubernetes in the background.
func Namespace(tb testing.TB) string {
	tb.Helper()
	return NamespaceIn(tb, Get(tb))
}

// NamespaceIn is Namespace in a control plane that Own has returned.
func NamespaceIn(tb testing.TB, plane *controlplane.ControlPlane) string {
	tb.Helper()
	client, closeIdle := client(tb, plane)
	defer closeIdle()
	made, err := client.CoreV1().Namespaces().Create(tb.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix(tb.Name())}}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("making a namespace: %v", err)
	}
	tb.Cleanup(func() { remove(tb, plane, made.Name) })
	return made.Name
}

func remove(tb testing.TB, plane *controlplane.ControlPlane, namespace string) {
	tb.Helper()
	client, closeIdle := client(tb, plane)
	defer closeIdle()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit) // the test's own has ended
	defer cancel()
	err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		tb.Errorf("deleting the namespace of the test: %v", err)
	}
}

// client returns a client and what closes its connections, so that tests may detect leaks.
func client(tb testing.TB, plane *controlplane.ControlPlane) (kubernetes.Interface, func()) {
	tb.Helper()
	config := plane.Config()
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		tb.Fatal(err)
	}
	return client, transport.CloseIdleConnections
}

// unfit is what names of tests have and names of namespaces may not.
var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// prefix makes the beginning of a namespace's name of a test's name. 40 characters leave room for
// what the API server appends, and for names that are made of the namespace's.
func prefix(test string) string {
	name := unfit.ReplaceAllString(strings.ToLower(test), "-")
	return strings.Trim(name[:min(len(name), 40)], "-") + "-"
}

func (s *shared) open(adjust []func(*controlplane.Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usable, s.adjust = true, adjust
}

// get returns the control plane of all and starts it when it is not running yet.
func (s *shared) get(ctx context.Context) (*controlplane.ControlPlane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plane == nil {
		plane, err := s.borrow(ctx)
		if errors.Is(err, share.ErrNoServer) {
			plane, err = s.start(ctx)
		}
		if err != nil {
			return nil, err
		}
		s.plane = plane
	}
	return s.plane, s.trouble(s.plane)
}

// borrow requires that mu is held. It returns the control plane of the run of tests, unless this package needs
// another.
func (s *shared) borrow(ctx context.Context) (*controlplane.ControlPlane, error) {
	if !s.usable {
		return nil, errNotInMain
	}
	if len(s.adjust) > 0 {
		return nil, share.ErrNoServer
	}
	dir, release, err := share.Borrow(ctx)
	if err != nil {
		return nil, err
	}
	plane, err := controlplane.Attach(dir)
	if err == nil {
		s.before, err = objects(ctx, plane.Config())
	}
	if err != nil {
		return nil, errors.Join(err, release(false))
	}
	s.release = release
	return plane, nil
}

// giveBack requires that mu is held. It removes what tests have left in the control plane of the run.
func (s *shared) giveBack() error {
	if s.release == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	err := reset(ctx, s.plane.Config(), s.before)
	return errors.Join(err, s.release(err == nil))
}

// lend returns a control plane that no test uses, and starts one when there is none.
func (s *shared) lend(ctx context.Context) (*controlplane.ControlPlane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return s.start(ctx)
	}
	plane := s.idle[last]
	s.idle = s.idle[:last]
	return plane, s.trouble(plane)
}

func (s *shared) takeBack(plane *controlplane.ControlPlane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, plane)
}

// trouble requires that mu is held. It is why a control plane that was started is of no use.
func (s *shared) trouble(plane *controlplane.ControlPlane) error {
	if !s.usable {
		return errNotInMain
	}
	return plane.Err()
}

// errNotInMain is for tests of packages without Main, and after its end.
var errNotInMain = errors.New("no shared control plane: let TestMain of this package call controlplanetest.Main")

// start requires that mu is held. A failed start is not repeated, because it takes long and would fail the same way
// for every other test.
func (s *shared) start(ctx context.Context) (*controlplane.ControlPlane, error) {
	if !s.usable {
		return nil, errNotInMain
	}
	if s.err != nil {
		return nil, s.err
	}
	plane, err := s.startNew(ctx)
	if err != nil {
		s.err = err
		return nil, err
	}
	s.started = append(s.started, plane)
	return plane, nil
}

// startNew must not end with the test that happens to be the first.
func (s *shared) startNew(ctx context.Context) (*controlplane.ControlPlane, error) {
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a control plane of these tests: %w", err)
	}
	s.dirs = append(s.dirs, dir)
	o := controlplane.Options{
		Dir:      dir,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	for _, adjust := range s.adjust {
		adjust(&o)
	}
	return controlplane.Start(context.WithoutCancel(ctx), o)
}

// close stops the control planes and removes their folders.
func (s *shared) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usable = false
	errs := []error{s.giveBack()}
	for _, plane := range s.started {
		errs = append(errs, plane.Stop())
	}
	for _, dir := range s.dirs {
		if os.Getenv(KeepEnv) != "" {
			fmt.Fprintln(os.Stderr, "a control plane of these tests is kept in", dir)
			continue
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
