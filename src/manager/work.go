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
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

const (
	// minDrainTimeout is how long the process has at least to finish what it has
	// begun: the controllers write to Kubernetes as well.
	minDrainTimeout = 20 * time.Second
	// joinMargin is how much longer than the cloud's last write that may take.
	joinMargin = 5 * time.Second
	// exitMargin is for what comes after giving the lease back: the last events
	// and the servers.
	exitMargin = 5 * time.Second
)

// drainWithin bounds how long the process finishes what it has begun, for a
// cloud whose writes take up to so long.
func drainWithin(write time.Duration) time.Duration {
	return max(minDrainTimeout, write+joinMargin)
}

// Grace is how long the process takes to stop at most, for a cloud whose
// Drain takes up to so long. A pod's terminationGracePeriodSeconds must not
// be less.
func Grace(write time.Duration) time.Duration {
	return drainWithin(write) + lease.ReleaseTimeout + exitMargin
}

// drainTimeout is drainWithin for the cloud of the process.
func (p *process) drainTimeout() time.Duration {
	return drainWithin(p.cloud.DrainTimeout)
}

// work is what only the leader does: the cloud's background work and the
// controllers, until ctx ends or one of them cannot go on. It returns when all
// of it has ended; if something is still under way after its drainTimeout, the error
// wraps lease.ErrBusy.
func (p *process) work(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	crew := newCrew(len(p.controllers))
	err := p.start(working, crew)
	if err == nil {
		err = crew.wait(working)
	}
	if ctx.Err() != nil {
		err = nil // told to stop, perhaps before all were up
	}
	stop()
	klog.FromContext(ctx).Info("Finishing what is under way", "within", p.drainTimeout())
	return errors.Join(err, p.finish(context.WithoutCancel(ctx), crew))
}

// start brings up the cloud and then the controllers, in the order of their
// names. One that gets no credentials keeps no other waiting.
func (p *process) start(ctx context.Context, crew *crew) error {
	builder := clients{
		ControllerClientBuilder: p.config.ClientBuilder,
		ctx:                     ctx,
		lastConfig:              p.config.Kubeconfig,
		lastClient:              p.config.Client,
	}
	if p.cloud.Start != nil {
		p.cloud.Start(ctx, builder)
	}
	p.caches.StartWithContext(ctx) // whatever the cloud watches only as a leader
	for _, name := range slices.Sorted(maps.Keys(p.controllers)) {
		client, err := builder.Client(p.controllers[name].account)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Controller starts as soon as it gets credentials", "controller", name)
			crew.add(ctx, name, p.late(builder, name))
			continue
		}
		loop, err := p.construct(ctx, client, name)
		if err != nil {
			return err
		}
		crew.add(ctx, name, loop)
		pause(ctx, p.config.ComponentConfig.Generic.ControllerStartInterval.Duration)
	}
	return nil
}

// construct makes a controller that runs at once.
func (p *process) construct(ctx context.Context, client kubernetes.Interface, name string) (loop, error) {
	row := p.controllers[name]
	made, err := row.construct(environment{
		cloud:     p.cloud,
		client:    client,
		informers: p.caches,
		settings:  p.settings,
	})
	if err != nil {
		return loop{}, fmt.Errorf("starting %s: %w", name, err)
	}
	p.caches.StartWithContext(ctx) // whatever the controller watches that was not warm
	p.watch(name, made)
	if made, err = made.measured(p.metrics, row.metric); err != nil {
		return loop{}, fmt.Errorf("starting %s: %w", name, err)
	}
	klog.FromContext(ctx).Info("Started controller", "controller", name)
	return made, nil
}

// late is a controller that is made when it gets credentials.
func (p *process) late(builder clients, name string) loop {
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

// measured is the loop with its metrics shown from now on until it ends, and counted by that name while it runs.
func (l loop) measured(running *controllers.ControllerManagerMetrics, name string) (loop, error) {
	unmeasure, err := measure(legacyregistry.Registerer(), l.collectors)
	if err != nil {
		return loop{}, err
	}
	run := l.run
	l.run = func(ctx context.Context) {
		defer unmeasure()
		running.ControllerStarted(name)
		defer running.ControllerStopped(name)
		run(ctx)
	}
	return l, nil
}

// watch adds the controller to /livez and /healthz.
func (p *process) watch(name string, l loop) {
	check := healthz.NamedCheck(name, func(*http.Request) error {
		if l.check == nil {
			return nil
		}
		return l.check()
	})
	p.health.live.Add(check)
	p.health.healthy.Add(check)
}

// pause spreads the start of controllers over time, as --controller-start-interval
// asks.
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
func (p *process) finish(ctx context.Context, crew *crew) error {
	ctx, cancel := context.WithTimeout(ctx, p.drainTimeout())
	defer cancel()
	var err error
	if p.cloud.Drain != nil {
		err = drain(ctx, p.cloud.Drain, p.drainTimeout())
	}
	return errors.Join(err, crew.join(ctx))
}

// drain does not trust the cloud to heed its context, which ends within a while.
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
