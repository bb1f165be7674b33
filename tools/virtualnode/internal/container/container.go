package container

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/probe"
)

// Config is what a Container needs.
type Config struct {
	Spec *corev1.Container
	// Pod is how messages call the pod.
	Pod string
	// Policy says when to restart.
	Policy corev1.RestartPolicy
	// Start starts a run.
	Start func(context.Context) (Instance, error)
	// Check makes one attempt of a probe.
	Check func(context.Context, *corev1.Probe) error
	// Grace is how long a run may take to end when asked to.
	Grace func() time.Duration
	// Kill is closed when a run that is being stopped must not be waited for any longer.
	Kill <-chan struct{}
	// Event tells the owner of the pod what happens.
	Event func(eventType, reason, message string)
	// Changed is called after every change of Status.
	Changed func()
	// Previous is the status from before this node was started, nil for a new pod.
	Previous *corev1.ContainerStatus
}

// Container keeps one container running.
type Container struct {
	config Config

	mu     sync.Mutex
	status corev1.ContainerStatus
	passed map[*corev1.Probe]bool
	runs   int
}

// New returns a container that waits to be run.
func New(c Config) *Container {
	k := &Container{config: c, passed: map[*corev1.Probe]bool{}}
	k.status = corev1.ContainerStatus{
		Name: c.Spec.Name, Image: c.Spec.Image,
		State:   corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: ReasonInitializing}},
		Started: new(bool),
	}
	if p := c.Previous; p != nil && p.ContainerID != "" {
		k.status.RestartCount = p.RestartCount + 1
		k.status.LastTerminationState = lastTermination(p)
	}
	return k
}

// lastTermination is what remains of a run that ended with its node: kubelet cannot know more.
func lastTermination(p *corev1.ContainerStatus) corev1.ContainerState {
	if p.State.Terminated != nil {
		return p.State
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "ContainerStatusUnknown", ContainerID: p.ContainerID,
		Message: "The container could not be located when the node started",
	}}
}

// Status returns the state of the container as the API shows it.
func (k *Container) Status() corev1.ContainerStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *k.status.DeepCopy()
}

// Run keeps the container running until its restart policy says that it is done, or until ctx
// ends; then it stops it with the grace period.
func (k *Container) Run(ctx context.Context) {
	if k.finished() {
		return
	}
	k.waiting(ReasonCreating, "")
	var crashed crashes
	for ctx.Err() == nil {
		instance := k.start(ctx)
		if instance == nil {
			return
		}
		began := time.Now()
		k.running(began)
		exit := k.attend(ctx, instance)
		k.terminated(began, exit)
		if ctx.Err() != nil || !restarts(k.config.Policy, exit) {
			return
		}
		if !k.backOff(ctx, crashed.after(time.Since(began))) {
			return
		}
	}
}

// finished reports whether the container ended for good before this node was started, and shows
// that.
func (k *Container) finished() bool {
	p := k.config.Previous
	if p == nil || p.State.Terminated == nil || restarts(k.config.Policy, Exit{Code: p.State.Terminated.ExitCode}) {
		return false
	}
	k.change(func(s *corev1.ContainerStatus) { *s = *p.DeepCopy() })
	return true
}

func restarts(policy corev1.RestartPolicy, exit Exit) bool {
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && exit.Code != 0
}

// start tries until a run has been started; nil when ctx ended first.
func (k *Container) start(ctx context.Context) Instance {
	retry := backOff{first: startFirst, limit: startMax}
	for {
		instance, err := k.tryStart(ctx)
		if err == nil {
			return instance
		}
		if ctx.Err() != nil {
			return nil
		}
		k.refused(err)
		if !pause(ctx, retry.next()) {
			return nil
		}
	}
}

func (k *Container) tryStart(ctx context.Context) (Instance, error) {
	if err := supported(k.config.Spec); err != nil {
		return nil, &WaitError{Reason: ReasonConfig, Err: err}
	}
	return k.config.Start(ctx)
}

// supported refuses what would otherwise be left out silently.
func supported(c *corev1.Container) error {
	for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if err := probe.Supported(p); err != nil {
			return err
		}
	}
	if l := c.Lifecycle; l != nil && (l.PostStart != nil || l.PreStop != nil && l.PreStop.Sleep == nil) {
		return errors.New("virtual nodes run no lifecycle hook but preStop.sleep")
	}
	return nil
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

// backOff waits before a restart.
func (k *Container) backOff(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", d, k.config.Spec.Name, k.config.Pod)
	k.waiting(ReasonCrashLoop, message)
	k.config.Event(corev1.EventTypeWarning, "BackOff", message)
	return pause(ctx, d)
}

// attend probes a run until it ends, and ends it when it is unhealthy or when ctx ends.
func (k *Container) attend(ctx context.Context, instance Instance) Exit {
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhealthy := make(chan string, 2) // one for each probe that can end a run
	var probes sync.WaitGroup
	defer probes.Wait()
	defer cancel()
	probes.Go(func() { k.probe(ctx, runCtx, unhealthy) })
	select {
	case <-instance.Done():
	case which := <-unhealthy:
		k.kill(instance, fmt.Sprintf("Container %s failed %s probe, will be restarted", k.config.Spec.Name, which))
	case <-ctx.Done():
		k.kill(instance, "Stopping container "+k.config.Spec.Name)
	}
	return instance.Exit()
}

// kill runs the preStop hook and stops the run; both share the grace period.
func (k *Container) kill(instance Instance, why string) {
	k.config.Event(corev1.EventTypeNormal, "Killing", why)
	deadline := time.Now().Add(k.config.Grace())
	k.preStop(instance, deadline)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		instance.Stop(max(time.Until(deadline), 0))
	}()
	select {
	case <-stopped:
	case <-k.config.Kill:
		instance.Stop(0)
		<-stopped
	}
}

// preStop lets a container serve on while others learn that it is about to stop.
func (k *Container) preStop(instance Instance, deadline time.Time) {
	l := k.config.Spec.Lifecycle
	if l == nil || l.PreStop == nil || l.PreStop.Sleep == nil {
		return
	}
	pause := min(time.Duration(l.PreStop.Sleep.Seconds)*time.Second, time.Until(deadline))
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-instance.Done():
	case <-k.config.Kill:
	}
}
