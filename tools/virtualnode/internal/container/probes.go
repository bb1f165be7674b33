package container

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/probe"
)

// probe makes all probes of one run. The startup probe comes first. Readiness is followed to the
// end of the run, the others until the container is asked to stop (ctx).
func (k *Container) probe(ctx, run context.Context, unhealthy chan<- string) {
	alive, cancel := context.WithCancel(run)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if !k.startup(alive, unhealthy) {
		return
	}
	var loops sync.WaitGroup
	defer loops.Wait()
	spec := k.config.Spec
	if spec.ReadinessProbe != nil {
		loops.Go(func() {
			k.loop(run, "Readiness", spec.ReadinessProbe, func(ok bool) { k.pass(spec.ReadinessProbe, ok) })
		})
	}
	if spec.LivenessProbe != nil {
		loops.Go(func() { k.loop(alive, "Liveness", spec.LivenessProbe, failing(unhealthy, "liveness")) })
	}
}

// startup reports whether the container has started.
func (k *Container) startup(ctx context.Context, unhealthy chan<- string) bool {
	spec := k.config.Spec.StartupProbe
	if spec == nil {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := false
	k.loop(ctx, "Startup", spec, func(ok bool) {
		started = ok
		if ok {
			k.pass(spec, true)
		} else {
			unhealthy <- "startup"
		}
		cancel()
	})
	return started
}

// failing sends the name of a probe once, when it fails.
func failing(unhealthy chan<- string, name string) func(bool) {
	var once sync.Once
	return func(ok bool) {
		if !ok {
			once.Do(func() { unhealthy <- name })
		}
	}
}

func (k *Container) loop(ctx context.Context, name string, spec *corev1.Probe, verdict func(bool)) {
	probe.Loop{
		Spec:  spec,
		Check: func(ctx context.Context) error { return k.config.Check(ctx, spec) },
		Failed: func(err error) {
			k.config.Event(corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %v", name, err))
		},
		Verdict: verdict,
	}.Run(ctx)
}
