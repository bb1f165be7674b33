package monitoring

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election is the lease of the API server, for one process.
type election struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	broken bool
}

var errAway = errors.New("the API server is away")

// Get implements resourcelock.Interface.
func (e *election) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.broken:
		return nil, nil, errAway
	case e.record == nil:
		return nil, nil, apierrors.NewNotFound(corev1.Resource("leases"), "cloud-controller-manager")
	}
	return e.record, []byte(e.record.RenewTime.String()), nil
}

// Create implements resourcelock.Interface.
func (e *election) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.Update(ctx, record)
}

// Update implements resourcelock.Interface.
func (e *election) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken {
		return errAway
	}
	e.record = &record
	return nil
}

// RecordEvent implements resourcelock.Interface.
func (e *election) RecordEvent(string) {}

// Identity implements resourcelock.Interface.
func (e *election) Identity() string { return "a" }

// Describe implements resourcelock.Interface.
func (e *election) Describe() string { return "lease" }

// fail makes the API server refuse to read and to renew the lease.
func (e *election) fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = true
}

// apiServer is the way to the API server. While it is broken, watches end and requests fail.
type apiServer struct {
	next http.RoundTripper
	mu   sync.Mutex
	up   context.Context //nolint:containedctx // of the time until it breaks
	down func()
}

// repair makes requests succeed again.
func (a *apiServer) repair() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up, a.down = context.WithCancel(context.Background())
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	a.mu.Lock()
	up := a.up
	a.mu.Unlock()
	select {
	case <-up.Done():
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable",
			Body: io.NopCloser(strings.NewReader("")), Request: request, Header: http.Header{}}, nil
	default:
	}
	ctx, cancel := context.WithCancel(request.Context())
	context.AfterFunc(up, cancel)
	return a.next.RoundTrip(request.WithContext(ctx))
}

// clients are those of the cloud, for its events.
type clients struct{ kubernetes.Interface }

func (c clients) Client(string) (kubernetes.Interface, error) { return c.Interface, nil }

func (c clients) ClientOrDie(string) kubernetes.Interface { return c.Interface }

func (c clients) Config(string) (*rest.Config, error) { return &rest.Config{}, nil }

func (c clients) ConfigOrDie(string) *rest.Config { return &rest.Config{} }
