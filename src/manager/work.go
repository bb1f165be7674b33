package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cloud-provider/names"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

const (
	// minDrainTimeout is the minimum time for the process to finish what is in flight, because controllers also write
	// to Kubernetes.
	minDrainTimeout = 20 * time.Second
	// joinMargin is the additional time after the cloud's last write.
	joinMargin = 5 * time.Second
	// exitMargin is the time after the lease is released: for the last events and the servers.
	exitMargin = 5 * time.Second
)

// drainWithin returns how long the process may finish what is in flight, for a cloud with writes of up to this
// duration.
func drainWithin(write time.Duration) time.Duration {
	return max(minDrainTimeout, write+joinMargin)
}

// Grace returns how long the process takes to stop at most, for a cloud with a Drain of up to this duration. A pod's
// terminationGracePeriodSeconds must not be less.
func Grace(write time.Duration) time.Duration {
	return drainWithin(write) + lease.ReleaseTimeout + exitMargin
}

// drainTimeout is drainWithin for the cloud of this process.
func (p *process) drainTimeout() time.Duration {
	return drainWithin(p.cloud.DrainTimeout)
}

// work runs what only the leader runs: the cloud's background work and the controllers, until ctx ends or one of them
// cannot continue. It returns when all have ended. If something is still in flight after drainTimeout, the error wraps
// lease.ErrBusy.
func (p *process) work(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	group := newControllerGroup(len(p.controllers))
	err := p.start(working, group)
	if err == nil {
		err = group.wait(working)
	}
	if ctx.Err() != nil {
		err = nil // stopped, perhaps before all controllers were started
	}
	stop()
	klog.FromContext(ctx).Info("Finishing what is under way", "within", p.drainTimeout())
	return errors.Join(err, p.finish(context.WithoutCancel(ctx), group))
}

// start starts the cloud and then the controllers, in the order of their names. A controller that gets no credentials
// does not delay the others.
func (p *process) start(ctx context.Context, group *controllerGroup) error {
	builder := clients{
		ControllerClientBuilder: tracedClients{p.config.ClientBuilder},
		ctx:                     ctx,
		lastConfig:              p.config.Kubeconfig,
		lastClient:              p.config.Client,
	}
	if p.identify(ctx); ctx.Err() != nil {
		return ctx.Err()
	}
	if p.cloud.Start != nil {
		p.cloud.Start(ctx, builder)
	}
	p.caches.StartWithContext(ctx) // informers that the cloud needs only on the leader
	for _, name := range slices.Sorted(maps.Keys(p.controllers)) {
		own := contextOf(ctx, name)
		client, err := builder.Client(p.controllers[name].account)
		if err != nil {
			klog.FromContext(own).Error(err, "Controller starts as soon as it gets credentials")
			group.add(ctx, name, p.constructLater(builder, name))
			continue
		}
		loop, err := p.construct(own, client, name)
		if err != nil {
			return err
		}
		group.add(ctx, name, loop)
		pause(ctx, p.config.ComponentConfig.Generic.ControllerStartInterval.Duration)
	}
	return nil
}

// identify passes the UID of the cluster to the cloud, if Services have load balancers. Without an answer it waits,
// because the controllers need the API server, too. If the UID may not be read, they work without it until it may, and
// delete no orphans.
func (p *process) identify(ctx context.Context) {
	if _, runs := p.controllers[names.ServiceLBController]; !runs || p.cloud.ClusterIdentity == nil {
		return
	}
	cloud.FindClusterUID(ctx, p.config.Client, p.cloud.ClusterIdentity.SetUID)
}

// construct creates a controller that can run at once. The context is that of the controller.
func (p *process) construct(ctx context.Context, client kubernetes.Interface, name string) (loop, error) {
	row := p.controllers[name]
	made, err := row.construct(environment{
		cloud:     p.cloud,
		client:    client,
		recorder:  event.NewRecorder(ctx, client, row.source),
		informers: p.caches,
		settings:  p.settings,
	})
	if err != nil {
		return loop{}, fmt.Errorf("starting %s: %w", name, err)
	}
	p.caches.StartWithContext(ctx) // informers that the controller did not list in watches
	p.watch(name)
	if made, err = made.withMetrics(p.metrics, row.metric); err != nil {
		return loop{}, fmt.Errorf("starting %s: %w", name, err)
	}
	klog.FromContext(ctx).Info("Started controller")
	return made, nil
}

// constructLater returns a loop that creates the controller when it gets credentials, and runs it.
func (p *process) constructLater(builder clients, name string) loop {
	return loop{run: func(ctx context.Context) {
		client, err := builder.await(p.controllers[name].account)
		if err != nil {
			return // the process ends
		}
		made, err := p.construct(ctx, client, name)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Controller cannot start")
			return
		}
		made.run(ctx)
	}}
}

// withMetrics returns the loop with its metrics registered until it ends, and counted by the name while it runs.
func (l loop) withMetrics(running *controllers.ControllerManagerMetrics, name string) (loop, error) {
	unregister, err := register(legacyregistry.Registerer(), l.collectors)
	if err != nil {
		return loop{}, err
	}
	run := l.run
	l.run = func(ctx context.Context) {
		defer unregister()
		running.ControllerStarted(name)
		defer running.ControllerStopped(name)
		run(ctx)
	}
	return l, nil
}

// watch adds the controller to /livez and /healthz, which show that it was started.
func (p *process) watch(name string) {
	started := healthz.NamedCheck(name, func(*http.Request) error { return nil })
	p.health.live.Add(started)
	p.health.healthy.Add(started)
}

// pause distributes the starts of controllers over time, as --controller-start-interval requests.
func pause(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		return
	}
	const jitter = 1.0 // up to twice the interval, as in the library
	select {
	case <-ctx.Done():
	case <-time.After(wait.Jitter(interval, jitter)):
	}
}

// finish waits until the cloud and all controllers have ended.
func (p *process) finish(ctx context.Context, group *controllerGroup) error {
	ctx, cancel := context.WithTimeout(ctx, p.drainTimeout())
	defer cancel()
	var err error
	if p.cloud.Drain != nil {
		err = drain(ctx, p.cloud.Drain, p.drainTimeout())
	}
	return errors.Join(err, group.join(ctx))
}

// drain returns when drainCloud has ended, or ctx: the cloud may ignore its context.
func drain(ctx context.Context, drainCloud func(context.Context) error, within time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- drainCloud(ctx) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w: finishing the write in flight: %w", lease.ErrBusy, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the write in flight did not finish within %s", lease.ErrBusy, within)
	}
}
