package container

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/probe"
)

// Config is what a Container needs.
type Config struct {
	Spec *corev1.Container
	// Pod is how messages call the pod.
	Pod string
	// Start starts a run.
	Start func(context.Context) (Instance, error)
	// Check makes one attempt of a probe.
	Check func(context.Context, *corev1.Probe) error
	// Grace is how long a run may take to end when asked to.
	Grace func() time.Duration
	// Kill is closed when a run that is being stopped must not be waited for any longer.
	Kill <-chan struct{}
	// Event reports to the owner of the pod what happens.
	Event func(eventType, reason, message string)
	// Changed is called after every change of Status.
	Changed func()
}

// Container keeps one container running.
type Container struct {
	config Config

	mu     sync.Mutex
	status corev1.ContainerStatus
	ready  bool // what the readiness probe says
	runs   int
}

// New returns a container that waits to be run.
func New(c Config) *Container {
	return &Container{config: c, status: corev1.ContainerStatus{
		Name: c.Spec.Name, Image: c.Spec.Image,
		State:   corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: ReasonCreating}},
		Started: new(bool),
	}}
}

// Status returns the state of the container as the API shows it.
func (k *Container) Status() corev1.ContainerStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *k.status.DeepCopy()
}

// Run keeps the container running until ctx ends; then it stops it with the grace period.
func (k *Container) Run(ctx context.Context) {
	k.waiting(ReasonCreating, "")
	for ctx.Err() == nil {
		instance := k.start(ctx)
		if instance == nil {
			return
		}
		began := time.Now()
		k.running(began)
		exit := k.attend(ctx, instance)
		k.terminated(began, exit)
		if !pause(ctx, restartPause) {
			return
		}
	}
}

// restartPause is the time between the end of a run and the next one.
const restartPause = time.Second

// A container that cannot be started is tried again at these intervals. Kubelet takes longer for
// some causes; a missing Secret that appears should not keep people waiting.
const (
	startFirst = time.Second
	startMax   = 10 * time.Second
)

// pause reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// start tries until a run has been started; nil when ctx ended first.
func (k *Container) start(ctx context.Context) Instance {
	retry := wait.Backoff{Duration: startFirst, Factor: 2, Cap: startMax, Steps: math.MaxInt}
	for {
		instance, err := k.config.Start(ctx)
		if err == nil {
			return instance
		}
		if ctx.Err() != nil {
			return nil
		}
		k.refused(err)
		if !pause(ctx, retry.Step()) {
			return nil
		}
	}
}

// refused reports why a run could not be started.
func (k *Container) refused(err error) {
	reason, event := ReasonRun, "Failed"
	if wait := (*WaitError)(nil); errors.As(err, &wait) {
		reason = wait.Reason
		if wait.Event != "" {
			event = wait.Event
		}
	}
	k.waiting(reason, err.Error())
	k.config.Event(corev1.EventTypeWarning, event, err.Error())
}

// attend follows the readiness of a run until it ends, and ends it when ctx ends.
func (k *Container) attend(ctx context.Context, instance Instance) Exit {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var probes sync.WaitGroup
	defer probes.Wait()
	defer cancel()
	if spec := k.config.Spec.ReadinessProbe; spec != nil {
		probes.Go(func() { k.probe(run, spec) })
	}
	select {
	case <-instance.Done():
	case <-ctx.Done():
		k.kill(instance)
	}
	return instance.Exit()
}

// kill stops the run within the grace period.
func (k *Container) kill(instance Instance) {
	k.config.Event(corev1.EventTypeNormal, "Killing", "Stopping container "+k.config.Spec.Name)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		instance.Stop(k.config.Grace())
	}()
	select {
	case <-stopped:
	case <-k.config.Kill:
		instance.Stop(0)
		<-stopped
	}
}

// probe follows the readiness of one run until ctx ends.
func (k *Container) probe(ctx context.Context, spec *corev1.Probe) {
	probe.Loop{
		Spec:  spec,
		Check: func(ctx context.Context) error { return k.config.Check(ctx, spec) },
		Failed: func(err error) {
			k.config.Event(corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("Readiness probe failed: %v", err))
		},
		Verdict: k.setReady,
	}.Run(ctx)
}
