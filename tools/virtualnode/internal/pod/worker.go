package pod

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/probe"
)

// defaultGrace is the API's default for terminationGracePeriodSeconds.
const defaultGrace = 30 * time.Second

// worker runs one pod from its start to its end.
type worker struct {
	node   *Node
	status *reporter
	began  time.Time

	pod  atomic.Pointer[corev1.Pod] // as last seen
	addr atomic.Pointer[netip.Addr] // once the pod has one

	// stopping ends when the pod is to stop, api when its object must no longer be written.
	stopping, api context.Context
	stop, silence context.CancelFunc
	// killed is closed when the pod is to end at once.
	killed chan struct{}
	kill   func()
	done   chan struct{}

	mu          sync.Mutex
	init, main  []*container.Container
	initialized bool
	over        bool
}

// start starts a worker; it does nothing before after is closed (nil: no wait).
func start(n *Node, pod *corev1.Pod, after <-chan struct{}) *worker {
	w := &worker{node: n, began: time.Now(), killed: make(chan struct{}), done: make(chan struct{})}
	w.kill = sync.OnceFunc(func() { close(w.killed) })
	w.stopping, w.stop = context.WithCancel(context.Background())
	w.api, w.silence = context.WithCancel(context.Background())
	w.pod.Store(pod)
	w.status = newReporter(n, w.observe)
	go w.run(after)
	return w
}

// update tells the worker the present state of its object.
func (w *worker) update(pod *corev1.Pod) {
	w.pod.Store(pod)
	if pod.DeletionTimestamp != nil {
		w.stop()
	}
	w.status.seen(pod)
}

// gone tells the worker that its object no longer exists.
func (w *worker) gone() {
	w.silence()
	w.kill()
	w.stop()
}

// powerOff stops the pod without a word to the API server, which does not hear from a machine
// that goes down either. When ctx ends the pod is killed.
func (w *worker) powerOff(ctx context.Context) {
	w.silence()
	w.stop()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.kill()
		<-w.done
	}
}

func (w *worker) run(after <-chan struct{}) {
	defer close(w.done)
	defer w.stop()
	defer w.silence()
	if after != nil {
		<-after
	}
	var reporting sync.WaitGroup
	defer reporting.Wait()
	reportCtx, endReports := context.WithCancel(w.api)
	defer endReports()
	reporting.Go(func() { w.status.run(reportCtx) })

	release := w.live()
	defer release()
	<-w.stopping.Done()
	endReports()
	reporting.Wait()
	w.finish()
}

// live runs the containers to their end and returns what gives the pod's address back.
func (w *worker) live() (release func()) {
	addr, release, err := w.address()
	if err != nil {
		return func() {}
	}
	w.addr.Store(&addr)
	w.status.changed()
	if err := w.makeDirs(); err != nil {
		w.event(corev1.EventTypeWarning, "FailedCreatePodSandBox", err.Error())
		return release
	}
	if w.runInit() {
		w.runMain()
	}
	return release
}

// address waits until the node can give the pod an address.
func (w *worker) address() (netip.Addr, func(), error) {
	if w.pod.Load().Spec.HostNetwork {
		return w.node.Machine.Address, func() {}, nil
	}
	addr, err := w.node.Addresses.Take(w.stopping)
	return addr, func() { w.node.Addresses.Release(addr) }, err
}

func (w *worker) makeDirs() error {
	for _, dir := range []string{w.dir(), filepath.Join(w.node.Dir, "logs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making a directory for the pod: %w", err)
		}
	}
	return nil
}

func (w *worker) dir() string {
	return filepath.Join(w.node.Dir, "pods", string(w.pod.Load().UID))
}

// runInit runs the init containers one after the other and reports whether all succeeded.
func (w *worker) runInit() bool {
	pod := w.pod.Load()
	policy := pod.Spec.RestartPolicy
	if policy == corev1.RestartPolicyAlways {
		policy = corev1.RestartPolicyOnFailure
	}
	containers := w.containers(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, policy)
	w.set(func() { w.init = containers })
	main := w.containers(pod.Spec.Containers, pod.Status.ContainerStatuses, pod.Spec.RestartPolicy)
	w.set(func() { w.main = main })
	for _, c := range containers {
		c.Run(w.stopping)
		if s := c.Status(); s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
			return false
		}
	}
	w.set(func() { w.initialized = true })
	return true
}

func (w *worker) runMain() {
	var running sync.WaitGroup
	for _, c := range w.main {
		running.Go(func() { c.Run(w.stopping) })
	}
	running.Wait()
}

// set changes what is observed.
func (w *worker) set(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.status.changed()
}

func (w *worker) containers(specs []corev1.Container, previous []corev1.ContainerStatus, policy corev1.RestartPolicy) []*container.Container {
	var out []*container.Container
	for i := range specs {
		out = append(out, w.container(&specs[i], find(previous, specs[i].Name), policy))
	}
	return out
}

func find(previous []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range previous {
		if previous[i].Name == name {
			return &previous[i]
		}
	}
	return nil
}

func (w *worker) container(spec *corev1.Container, previous *corev1.ContainerStatus, policy corev1.RestartPolicy) *container.Container {
	pod := w.pod.Load()
	target := probe.Target{Pod: *w.addr.Load(), Container: spec, Dial: w.node.dial}
	return container.New(container.Config{
		Spec: spec, Pod: pod.Namespace + "/" + pod.Name, Policy: policy, Previous: previous,
		Start: func(ctx context.Context) (container.Instance, error) { return w.launch(ctx, spec) },
		Check: target.Check,
		Grace: w.grace, Kill: w.killed, Event: w.event, Changed: w.status.changed,
	})
}

func (w *worker) launch(ctx context.Context, spec *corev1.Container) (container.Instance, error) {
	runtime, err := w.node.Images.Find(spec.Image, spec.ImagePullPolicy)
	if err != nil {
		return nil, err
	}
	if spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return nil, &container.WaitError{Reason: container.ReasonConfig, Err: fmt.Errorf("virtual nodes do not run sidecar init containers")}
	}
	pod := w.pod.Load()
	return runtime.Start(ctx, image.Launch{
		Machine: w.node.Machine, Pod: w.addressed, Container: spec, Dir: w.dir(),
		Log: w.node.LogPath(pod.Namespace, pod.Name, spec.Name), Event: w.event,
	})
}

// addressed returns the pod with its addresses in its status, which the API server may not have
// yet.
func (w *worker) addressed() *corev1.Pod {
	pod := w.pod.Load().DeepCopy()
	addr, host := w.addr.Load().String(), w.node.Machine.Address.String()
	pod.Status.PodIP, pod.Status.PodIPs = addr, []corev1.PodIP{{IP: addr}}
	pod.Status.HostIP, pod.Status.HostIPs = host, []corev1.HostIP{{IP: host}}
	return pod
}

// grace is how long the pod's containers may take to end.
func (w *worker) grace() time.Duration {
	pod := w.pod.Load()
	for _, seconds := range []*int64{pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds} {
		if seconds != nil {
			return time.Duration(*seconds) * time.Second
		}
	}
	return defaultGrace
}

func (w *worker) event(eventType, reason, message string) {
	w.node.Recorder.Event(w.pod.Load(), eventType, reason, message)
}

// observe returns the pod and what is known about it.
func (w *worker) observe() (*corev1.Pod, observed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := observed{began: w.began, host: w.node.Machine.Address, initialized: w.initialized, over: w.over}
	if addr := w.addr.Load(); addr != nil {
		o.addr = *addr
	}
	for _, c := range w.init {
		o.init = append(o.init, c.Status())
	}
	for _, c := range w.main {
		o.main = append(o.main, c.Status())
	}
	return w.pod.Load(), o
}

// finish reports the end of the pod, clears its directory and, last of all, has its object removed.
// The logs stay.
func (w *worker) finish() {
	w.set(func() { w.over = true })
	reported := w.status.last(w.api)
	if err := os.RemoveAll(w.dir()); err != nil {
		w.node.Logger.Warn("clearing the directory of a pod that has ended", "error", err)
	}
	if reported {
		w.node.remove(w.api, w.pod.Load())
	}
}
