package container

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func probeEvery(seconds, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}},
		PeriodSeconds: seconds, FailureThreshold: failures,
	}
}

func TestProbes(t *testing.T) {
	readiness := probeEvery(1, 1)
	failure := errors.New("no")
	between := func(from, to, now time.Duration) error {
		if from <= now && now < to {
			return failure
		}
		return nil
	}
	tests := []struct {
		name  string
		spec  corev1.Container
		check func(p *corev1.Probe, since time.Duration) error
		want  []string
	}{
		{"readiness comes and goes", corev1.Container{Name: "main", ReadinessProbe: readiness},
			func(_ *corev1.Probe, since time.Duration) error { return between(3*time.Second, 5*time.Second, since) },
			[]string{"0s ContainerCreating", "0s run 0 started true ready false", "0s run 0 started true ready true",
				"3s run 0 started true ready false", "5s run 0 started true ready true", "20s terminated 0"}},
		{"liveness is not checked", corev1.Container{Name: "main", LivenessProbe: probeEvery(1, 1)},
			func(*corev1.Probe, time.Duration) error { return failure },
			[]string{"0s ContainerCreating", "0s run 0 started true ready true", "20s terminated 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &history{}
				c := h.config(&tt.spec, func(context.Context) (Instance, error) {
					return newRun(0, 0, Exit{}), nil
				})
				c.Check = func(_ context.Context, p *corev1.Probe) error { return tt.check(p, time.Since(h.began)) }
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				h.watch(c).Run(ctx)
				if diff := cmp.Diff(tt.want, h.states); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The readiness of a container that is being stopped is still checked.
func TestProbesWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{}
		spec := corev1.Container{Name: "main", ReadinessProbe: probeEvery(1, 1)}
		c := h.config(&spec, func(context.Context) (Instance, error) {
			return newRun(0, 10*time.Second, Exit{}), nil
		})
		c.Check = func(_ context.Context, p *corev1.Probe) error {
			if time.Since(h.began) < 5*time.Second {
				return nil
			}
			return errors.New("no more")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		h.watch(c).Run(ctx)
		want := []string{"0s ContainerCreating", "0s run 0 started true ready false",
			"0s run 0 started true ready true", "5s run 0 started true ready false", "14.5s terminated 0"}
		if diff := cmp.Diff(want, h.states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}
