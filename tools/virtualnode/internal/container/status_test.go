package container

import (
	"strings"
	"testing"
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
			k := New(h.config(&corev1.Container{TerminationMessagePolicy: tt.policy}, nil))
			k.terminated(time.Now(), tt.exit)
			if got := k.Status().State.Terminated.Message; got != tt.want {
				t.Errorf("message = %q, want %q", got, tt.want)
			}
		})
	}
}
