// Package probe checks whether containers are alive and ready: kubelet's httpGet probes.
package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	if !pause(ctx, seconds(l.Spec.InitialDelaySeconds, 0)) {
		return
	}
	successes, failures := int32(0), int32(0)
	for {
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
		if !pause(ctx, seconds(l.Spec.PeriodSeconds, 10)) {
			return
		}
	}
}

func (l Loop) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(l.Spec.TimeoutSeconds, 1))
	defer cancel()
	return l.Check(ctx)
}

// pause reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
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
