// Package probe checks whether containers are ready: kubelet's httpGet probes.
package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Loop repeats one probe of one container.
type Loop struct {
	Spec *corev1.Probe
	// Check makes one attempt.
	Check func(context.Context) error
	// Failed is called for every attempt that failed.
	Failed func(error)
	// Verdict is called each time the success or the failure threshold is reached.
	Verdict func(healthy bool)
}

// Run probes until ctx ends.
func (l Loop) Run(ctx context.Context) {
	select {
	case <-time.After(seconds(l.Spec.InitialDelaySeconds, 0)):
	case <-ctx.Done():
		return
	}
	successes, failures := int32(0), int32(0)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := l.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			successes, failures = successes+1, 0
		} else {
			successes, failures = 0, failures+1
			l.Failed(err)
		}
		if successes == max(l.Spec.SuccessThreshold, 1) {
			l.Verdict(true)
		}
		if failures == orDefault(l.Spec.FailureThreshold, 3) {
			l.Verdict(false)
		}
	}, seconds(l.Spec.PeriodSeconds, 10))
}

func (l Loop) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(l.Spec.TimeoutSeconds, 1))
	defer cancel()
	return l.Check(ctx)
}

// seconds uses the API's default for a value that is not set, which happens only where no API
// server filled it in.
func seconds(value, fallback int32) time.Duration {
	return time.Duration(orDefault(value, fallback)) * time.Second
}

func orDefault(value, fallback int32) int32 {
	if value == 0 {
		return fallback
	}
	return value
}
