package pod

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/probe"
)

// defaultGrace is the API's default for terminationGracePeriodSeconds.
const defaultGrace = 30

// worker runs one pod from its start to its end.
type worker struct {
	node      *Node
	status    *reporter
	began     time.Time
	container *container.Container

	pod  atomic.Pointer[corev1.Pod] // as last seen
	addr atomic.Pointer[netip.Addr] // once the pod has one

	// stopping ends when the pod is to stop, api when its object must no longer be written.
	stopping, api context.Context
	stop, silence context.CancelFunc
	// killed is closed when the pod is to end at once.
	killed chan struct{}
	kill   func()
	done   chan struct{}
}

// start starts a worker; it does nothing before after is closed (nil: no wait).
func start(n *Node, pod *corev1.Pod, after <-chan struct{}) *worker {
	w := &worker{node: n, began: time.Now(), killed: make(chan struct{}), done: make(chan struct{})}
	w.kill = sync.OnceFunc(func() { close(w.killed) })
	w.stopping, w.stop = context.WithCancel(context.Background())
	w.api, w.silence = context.WithCancel(context.Background())
	w.pod.Store(pod)
	w.status = newReporter(n, w.observe)
	w.container = w.newContainer(&pod.Spec.Containers[0])
	go w.run(after)
	return w
}

// update gives the worker the present state of its object.
func (w *worker) update(pod *corev1.Pod) {
	w.pod.Store(pod)
	if pod.DeletionTimestamp != nil {
		w.stop()
	}
	w.status.seen(pod)
}

// gone ends the worker, because its object no longer exists.
func (w *worker) gone() {
	w.silence()
	w.kill()
	w.stop()
}

// powerOff stops the pod without writing to the API server, as a machine that goes down does. When
// ctx ends the pod is killed.
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

// live runs the container to its end and returns what gives the pod's address back.
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
	w.container.Run(w.stopping)
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

func (w *worker) newContainer(spec *corev1.Container) *container.Container {
	pod := w.pod.Load()
	return container.New(container.Config{
		Spec: spec, Pod: pod.Namespace + "/" + pod.Name,
		Start: func(ctx context.Context) (container.Instance, error) { return w.launch(ctx, spec) },
		Check: func(ctx context.Context, p *corev1.Probe) error {
			return probe.Target{Pod: *w.addr.Load(), Container: spec, Dial: w.node.dial}.Check(ctx, p)
		},
		Grace: w.grace, Kill: w.killed, Event: w.event, Changed: func() { w.status.changed() },
	})
}

func (w *worker) launch(ctx context.Context, spec *corev1.Container) (container.Instance, error) {
	pod := w.pod.Load()
	if err := supported(pod, spec); err != nil {
		return nil, &container.WaitError{Reason: container.ReasonConfig, Err: err}
	}
	runtime, err := w.node.Images.Find(spec.Image)
	if err != nil {
		return nil, err
	}
	return runtime.Start(ctx, image.Launch{
		Machine: w.node.Machine, Pod: w.addressed, Container: spec, Dir: w.dir(),
		Log: w.node.LogPath(pod.Namespace, pod.Name, spec.Name), Event: w.event,
	})
}

// supported refuses what would otherwise be left out silently. Liveness probes are left out, as the package says.
func supported(pod *corev1.Pod, c *corev1.Container) error {
	switch {
	case len(pod.Spec.Containers) > 1:
		return errors.New("virtual nodes run one container of a pod")
	case len(pod.Spec.InitContainers) > 0:
		return errors.New("virtual nodes run no init containers")
	case pod.Spec.RestartPolicy != corev1.RestartPolicyAlways:
		return errors.New("virtual nodes support no other restartPolicy than Always")
	case len(pod.Spec.ReadinessGates) > 0:
		return errors.New("virtual nodes support no readiness gates")
	case c.Lifecycle != nil:
		return errors.New("virtual nodes run no lifecycle hooks")
	case c.StartupProbe != nil:
		return errors.New("virtual nodes support no startup probes")
	}
	return probe.Supported(c.ReadinessProbe)
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

// grace is how long the pod's container may take to end.
func (w *worker) grace() time.Duration {
	pod := w.pod.Load()
	seconds := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGrace)
	return time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, seconds)) * time.Second
}

func (w *worker) event(eventType, reason, message string) {
	w.node.Recorder.Event(w.pod.Load(), eventType, reason, message)
}

// observe returns the pod and what is known about it.
func (w *worker) observe() (*corev1.Pod, observed) {
	o := observed{began: w.began, host: w.node.Machine.Address, container: w.container.Status()}
	if addr := w.addr.Load(); addr != nil {
		o.addr = *addr
	}
	return w.pod.Load(), o
}

// finish clears the pod's directory and has its object removed, if it is being deleted. The logs stay.
func (w *worker) finish() {
	if err := os.RemoveAll(w.dir()); err != nil {
		w.node.Logger.Warn("clearing the directory of a pod that has ended", "error", err)
	}
	w.node.remove(w.api, w.pod.Load())
}
