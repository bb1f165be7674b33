// Package reload adopts other credentials when the files that contain them change. It tries them first: while new ones
// do not work, the previous ones stay in use.
package reload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// maxPause is the longest pause before refused secrets are tried again.
const maxPause = 5 * time.Minute

// Options describe what is reloaded. T contains the secrets and everything else that is exchanged with them. All fields
// but About are required.
type Options[T any] struct {
	// Cloud is the subsystem in the names of the metrics: "thalassa".
	Cloud string
	// Current is in use at the beginning.
	Current T
	// Period is the time between two reads of the files.
	Period time.Duration
	// Read returns what the files contain now. The error contains no secrets.
	Read func() (T, error)
	// Same reports whether two reads have returned the same secrets.
	Same func(a, b T) bool
	// Adopt tries the secrets, and uses them from now on if they work. The error contains no secrets.
	Adopt func(context.Context, T) error
	// Untried reports whether an error of Adopt is that the cloud does not answer, so that it has not refused anything.
	Untried func(error) bool
	// Describe names the secrets without repeating them.
	Describe func(T) string
	// About is the object of events; nil: messages are only logged.
	About *corev1.ObjectReference
}

// Reloader adopts secrets when their files change.
type Reloader[T any] struct {
	Options[T]

	mu         sync.Mutex
	recorder   record.EventRecorder // nil before RecordTo, as on a standby
	unreported string               // the failure that persists and for which no event could be written

	// Only Poll uses these.
	refused  *T            // the latest ones that did not work
	pause    time.Duration // before the refused ones are tried again
	retryAt  time.Time
	reported string // the latest failure, so that it is reported once

	reloads *prometheus.CounterVec // by result
	failing prometheus.Gauge
	adopted prometheus.Gauge
}

// New returns a reloader. Run reads the files.
func New[T any](o Options[T]) *Reloader[T] {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "cloudprovider", Subsystem: o.Cloud, Name: name, Help: help}
	}
	r := &Reloader[T]{
		Options: o,
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts(name("secrets_reloads_total",
			"Number of changes of the files with credentials and CA certificates, by result: adopted, refused (by "+
				"the cloud), untried (the cloud does not answer) or unreadable.")), []string{"result"}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts(name("secrets_reload_failing",
			"1 if the files with credentials and CA certificates cannot be used and previous ones are in use, "+
				"otherwise 0."))),
		adopted: prometheus.NewGauge(prometheus.GaugeOpts(name("secrets_adopted_timestamp_seconds",
			"Time at which the current credentials and CA certificates were adopted, as a Unix timestamp in "+
				"seconds."))),
	}
	r.adopted.SetToCurrentTime()
	return r
}

// Run reads the files periodically until ctx ends.
func (r *Reloader[T]) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.Period):
		}
		r.Poll(ctx)
	}
}

// Poll reads the files once, and tries their secrets if they changed. Only one goroutine may call it at a time.
func (r *Reloader[T]) Poll(ctx context.Context) {
	secrets, err := r.Read()
	switch {
	case err != nil:
		r.reportFailure(ctx, "unreadable", err.Error(),
			fmt.Errorf("reading the files with credentials and CA certificates: %w", err))
	case r.Same(secrets, r.Current):
		r.clearFailure()
	case r.wasRefused(secrets) && time.Now().Before(r.retryAt):
		// They are tried again later.
	default:
		r.try(ctx, secrets)
	}
}

func (r *Reloader[T]) wasRefused(secrets T) bool {
	return r.refused != nil && r.Same(secrets, *r.refused)
}

func (r *Reloader[T]) try(ctx context.Context, secrets T) {
	if err := r.Adopt(ctx, secrets); err != nil {
		if !r.wasRefused(secrets) {
			r.refused, r.pause, r.reported = &secrets, r.Period, ""
		}
		r.pause = min(2*r.pause, maxPause)
		r.retryAt = time.Now().Add(r.pause)
		result := "refused"
		if r.Untried(err) {
			result = "untried"
		}
		r.reportFailure(ctx, result, result, fmt.Errorf("trying %s: %w", r.Describe(secrets), err))
		return
	}
	r.Current = secrets
	r.reloads.WithLabelValues("adopted").Inc()
	r.adopted.SetToCurrentTime()
	r.clearFailure()
	r.report(ctx, corev1.EventTypeNormal, reasonReloaded,
		fmt.Sprintf(textReloaded, r.Describe(secrets)))
}

// clearFailure is called when the files contain the secrets that are in use.
func (r *Reloader[T]) clearFailure() {
	r.reported, r.refused, r.pause = "", nil, 0
	r.failing.Set(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unreported = ""
}

// reportFailure reports why the old secrets stay in use, once for each failure.
func (r *Reloader[T]) reportFailure(ctx context.Context, result, same string, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	r.failing.Set(1)
	if r.reported == same {
		return
	}
	r.reported = same
	r.reloads.WithLabelValues(result).Inc()
	r.report(ctx, corev1.EventTypeWarning, reasonNotReloaded,
		fmt.Sprintf(textNotReloaded, err))
}

func (r *Reloader[T]) report(ctx context.Context, kind, reason, message string) {
	klog.FromContext(ctx).Info(message, "reason", reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.About == nil:
	case r.recorder != nil:
		r.recorder.Event(r.About, kind, reason, message)
	case kind == corev1.EventTypeWarning:
		r.unreported = message
	}
}

// RecordTo writes events from now on, including one for a failure that persists.
func (r *Reloader[T]) RecordTo(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder = recorder; r.unreported != "" {
		r.recorder.Event(r.About, corev1.EventTypeWarning, reasonNotReloaded, r.unreported)
		r.unreported = ""
	}
}

// Collectors are the metrics of the reloader.
func (r *Reloader[T]) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.reloads, r.failing, r.adopted}
}

// OwnPod returns the pod of this process from the environment; nil if it is not set.
func OwnPod(getenv func(string) string) *corev1.ObjectReference {
	name, namespace := getenv("POD_NAME"), getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name,
		UID: types.UID(getenv("POD_UID"))}
}
