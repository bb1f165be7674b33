package container

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestTerminationMessage(t *testing.T) {
	log := strings.Repeat("x", 3000) + "the end"
	tests := []struct {
		name   string
		policy corev1.TerminationMessagePolicy
		exit   Exit
		want   string
	}{
		{"from the log", corev1.TerminationMessageFallbackToLogsOnError, Exit{Code: 1, Log: log}, log[len(log)-2048:]},
		{"short log", corev1.TerminationMessageFallbackToLogsOnError, Exit{Code: 1, Log: "short"}, "short"},
		{"success", corev1.TerminationMessageFallbackToLogsOnError, Exit{Log: log}, ""},
		{"from a file", corev1.TerminationMessageReadFile, Exit{Code: 1, Log: log}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &history{}
			k := New(h.config(&corev1.Container{TerminationMessagePolicy: tt.policy}, corev1.RestartPolicyNever, nil))
			k.terminated(time.Now(), tt.exit)
			if got := k.Status().State.Terminated.Message; got != tt.want {
				t.Errorf("message = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPrevious(t *testing.T) {
	done := corev1.ContainerStatus{ContainerID: "virtual://x", RestartCount: 2, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}}
	running := corev1.ContainerStatus{ContainerID: "virtual://x", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	tests := []struct {
		name     string
		previous *corev1.ContainerStatus
		policy   corev1.RestartPolicy
		starts   int
		restarts int32
		last     int32 // exit code of the last termination, -1 for none
	}{
		{"new", nil, corev1.RestartPolicyNever, 1, 0, -1},
		{"never started", &corev1.ContainerStatus{}, corev1.RestartPolicyNever, 1, 0, -1},
		{"was running", &running, corev1.RestartPolicyNever, 1, 3, 137},
		{"had finished", &done, corev1.RestartPolicyOnFailure, 0, 2, -1},
		{"had ended and starts again", &done, corev1.RestartPolicyAlways, 1, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, starts := &history{}, 0
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				c := h.config(&corev1.Container{Name: "main"}, tt.policy, func(context.Context) (Instance, error) {
					starts++
					return newRun(0, 0, Exit{}), nil
				})
				c.Previous = tt.previous
				k := New(c)
				k.Run(ctx)
				s := k.Status()
				last := int32(-1)
				if l := s.LastTerminationState.Terminated; l != nil {
					last = l.ExitCode
				}
				if starts != tt.starts || s.RestartCount != tt.restarts || last != tt.last {
					t.Errorf("%d starts, restart count %d, last exit %d; want %d, %d, %d", starts, s.RestartCount, last, tt.starts, tt.restarts, tt.last)
				}
			})
		})
	}
}
