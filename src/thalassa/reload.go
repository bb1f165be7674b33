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
)

const (
	// reloadPeriod is how often files with secrets are looked at: the kubelet takes longer to bring a changed Secret.
	reloadPeriod = 10 * time.Second
	// maxReloadPause is the longest pause before secrets that were refused are tried again.
	maxReloadPause = 5 * time.Minute
)

// Reasons of the events about secrets.
const (
	reasonReloaded    = "CloudSecretsReloaded"
	reasonNotReloaded = "CloudSecretsNotReloaded"
)

// reloader changes over to other credentials and CA certificates when their files change. They are tried first: while
// the new ones are no good, the old ones stay in use.
type reloader struct {
	read  func() (client.Secrets, error)
	adopt func(context.Context, client.Secrets) error
	about *corev1.ObjectReference // what events are about; nil: the log has them all

	mu       sync.Mutex
	recorder record.EventRecorder // nil before Initialize, as on a standby
	untold   string               // the trouble that lasts and could not be made an event yet

	// Only run uses these.
	current client.Secrets // in use
	refused client.Secrets // the latest that were no good
	pause   time.Duration  // before the refused ones are tried again
	retryAt time.Time
	told    string // the latest trouble, so that it is told once

	reloads *prometheus.CounterVec // by result
	failing prometheus.Gauge
	adopted prometheus.Gauge
}

func newReloader(current client.Secrets, read func() (client.Secrets, error),
	adopt func(context.Context, client.Secrets) error) *reloader {
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

// run looks at the files until ctx ends.
func (r *reloader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reloadPeriod):
		}
		r.look(ctx)
	}
}

// look reads the files once and acts on what they hold.
func (r *reloader) look(ctx context.Context) {
	secrets, err := r.read()
	switch {
	case err != nil:
		r.trouble(ctx, "unreadable", err.Error(),
			fmt.Errorf("reading the files with credentials and CA certificates: %w", err))
	case reflect.DeepEqual(secrets, r.current):
		r.settle()
	case reflect.DeepEqual(secrets, r.refused) && time.Now().Before(r.retryAt):
		// Not again so soon.
	default:
		r.try(ctx, secrets)
	}
}

func (r *reloader) try(ctx context.Context, secrets client.Secrets) {
	if err := r.adopt(ctx, secrets); err != nil {
		if !reflect.DeepEqual(secrets, r.refused) {
			r.refused, r.pause, r.told = secrets, reloadPeriod, ""
		}
		r.pause = min(2*r.pause, maxReloadPause)
		r.retryAt = time.Now().Add(r.pause)
		result := "refused"
		if errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) ||
			errors.Is(err, client.ErrMalformed) {
			result = "untried"
		}
		r.trouble(ctx, result, result, fmt.Errorf("trying %s: %w", secrets.Credentials, err))
		return
	}
	r.current = secrets
	r.reloads.WithLabelValues("adopted").Inc()
	r.adopted.SetToCurrentTime()
	r.settle()
	r.tell(ctx, corev1.EventTypeNormal, reasonReloaded,
		fmt.Sprintf("The new secrets are in use for calls to the cloud: %s", secrets.Credentials))
}

// settle ends a trouble: the files hold what is in use.
func (r *reloader) settle() {
	r.told, r.refused, r.pause = "", client.Secrets{}, 0
	r.failing.Set(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untold = ""
}

// trouble tells why the old secrets stay in use, once for what is the same trouble.
func (r *reloader) trouble(ctx context.Context, result, same string, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	r.failing.Set(1)
	if r.told == same {
		return
	}
	r.told = same
	r.reloads.WithLabelValues(result).Inc()
	r.tell(ctx, corev1.EventTypeWarning, reasonNotReloaded,
		fmt.Sprintf("The files with the secrets for the cloud have changed, but the new secrets cannot be used. The "+
			"previous ones stay in use: %v", err))
}

func (r *reloader) tell(ctx context.Context, kind, reason, message string) {
	klog.FromContext(ctx).Info(message, "reason", reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.about == nil:
	case r.recorder != nil:
		r.recorder.Event(r.about, kind, reason, message)
	case kind == corev1.EventTypeWarning:
		r.untold = message
	}
}

// recordTo makes events of what is told from now on, and of the trouble that there is already.
func (r *reloader) recordTo(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder = recorder; r.untold != "" {
		r.recorder.Event(r.about, corev1.EventTypeWarning, reasonNotReloaded, r.untold)
		r.untold = ""
	}
}

func (r *reloader) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.reloads, r.failing, r.adopted}
}

// ownPod refers to the pod that this process runs in, as the environment names it; nil when it does not.
func ownPod(getenv func(string) string) *corev1.ObjectReference {
	name, namespace := getenv("POD_NAME"), getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name,
		UID: types.UID(getenv("POD_UID"))}
}
