package thalassa

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

const (
	// reloadPeriod is how often files with secrets are read. The kubelet takes longer to update a Secret.
	reloadPeriod = 10 * time.Second
	// maxReloadPause is the longest pause before refused secrets are tried again.
	maxReloadPause = 5 * time.Minute
)

// Reasons of the events about secrets.
const (
	reasonReloaded    = "CloudSecretsReloaded"
	reasonNotReloaded = "CloudSecretsNotReloaded"
)

// reloader adopts other credentials and CA certificates when their files change. It tries them first: while the new
// ones do not work, the old ones stay in use.
type reloader struct {
	read  func() (secret.Secrets, error)
	adopt func(context.Context, secret.Secrets) error
	about *corev1.ObjectReference // the object of events; nil: messages are only logged

	mu         sync.Mutex
	recorder   record.EventRecorder // nil before Initialize, as on a standby
	unreported string               // the failure that persists and for which no event could be written

	// Only run uses these.
	current  secret.Secrets // in use
	refused  secret.Secrets // the latest ones that did not work
	pause    time.Duration  // before the refused ones are tried again
	retryAt  time.Time
	reported string // the latest failure, so that it is reported once

	reloads *prometheus.CounterVec // by result
	failing prometheus.Gauge
	adopted prometheus.Gauge
}

func newReloader(current secret.Secrets, read func() (secret.Secrets, error),
	adopt func(context.Context, secret.Secrets) error) *reloader {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "cloudprovider", Subsystem: "thalassa", Name: name, Help: help}
	}
	r := &reloader{
		read: read, adopt: adopt, current: current,
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

// run reads the files periodically until ctx ends.
func (r *reloader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reloadPeriod):
		}
		r.poll(ctx)
	}
}

// poll reads the files once and tries their secrets if they changed.
func (r *reloader) poll(ctx context.Context) {
	secrets, err := r.read()
	switch {
	case err != nil:
		r.reportFailure(ctx, "unreadable", err.Error(),
			fmt.Errorf("reading the files with credentials and CA certificates: %w", err))
	case reflect.DeepEqual(secrets, r.current):
		r.clearFailure()
	case reflect.DeepEqual(secrets, r.refused) && time.Now().Before(r.retryAt):
		// They are tried again later.
	default:
		r.try(ctx, secrets)
	}
}

func (r *reloader) try(ctx context.Context, secrets secret.Secrets) {
	if err := r.adopt(ctx, secrets); err != nil {
		if !reflect.DeepEqual(secrets, r.refused) {
			r.refused, r.pause, r.reported = secrets, reloadPeriod, ""
		}
		r.pause = min(2*r.pause, maxReloadPause)
		r.retryAt = time.Now().Add(r.pause)
		result := "refused"
		if errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) ||
			errors.Is(err, client.ErrMalformed) {
			result = "untried"
		}
		r.reportFailure(ctx, result, result, fmt.Errorf("trying %s: %w", secrets.Credentials, err))
		return
	}
	r.current = secrets
	r.reloads.WithLabelValues("adopted").Inc()
	r.adopted.SetToCurrentTime()
	r.clearFailure()
	r.report(ctx, corev1.EventTypeNormal, reasonReloaded,
		fmt.Sprintf("The new secrets are in use for calls to the cloud: %s", secrets.Credentials))
}

// clearFailure is called when the files contain the secrets that are in use.
func (r *reloader) clearFailure() {
	r.reported, r.refused, r.pause = "", secret.Secrets{}, 0
	r.failing.Set(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unreported = ""
}

// reportFailure reports why the old secrets stay in use, once for each failure.
func (r *reloader) reportFailure(ctx context.Context, result, same string, err error) {
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
		fmt.Sprintf("The files with the secrets for the cloud have changed, but the new secrets cannot be used. The "+
			"previous ones stay in use: %v", err))
}

func (r *reloader) report(ctx context.Context, kind, reason, message string) {
	klog.FromContext(ctx).Info(message, "reason", reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.about == nil:
	case r.recorder != nil:
		r.recorder.Event(r.about, kind, reason, message)
	case kind == corev1.EventTypeWarning:
		r.unreported = message
	}
}

// recordTo writes events from now on, including one for a failure that persists.
func (r *reloader) recordTo(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder = recorder; r.unreported != "" {
		r.recorder.Event(r.about, corev1.EventTypeWarning, reasonNotReloaded, r.unreported)
		r.unreported = ""
	}
}

func (r *reloader) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.reloads, r.failing, r.adopted}
}

// ownPod returns the pod of this process from the environment; nil if it is not set.
func ownPod(getenv func(string) string) *corev1.ObjectReference {
	name, namespace := getenv("POD_NAME"), getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name,
		UID: types.UID(getenv("POD_UID"))}
}
