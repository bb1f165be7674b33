package image

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
)

func TestName(t *testing.T) {
	for reference, want := range map[string]string{
		"web":                                  "web",
		"web:1.0":                              "web",
		"ghcr.io/a/web:1.0":                    "ghcr.io/a/web",
		"localhost:5000/web":                   "localhost:5000/web",
		"localhost:5000/web:1.0":               "localhost:5000/web",
		"ghcr.io/a/web@sha256:0123":            "ghcr.io/a/web",
		"localhost:5000/web:1.0@sha256:012345": "localhost:5000/web",
	} {
		t.Run(reference, func(t *testing.T) {
			if got := Name(reference); got != want {
				t.Errorf("Name(%q) = %q, want %q", reference, got, want)
			}
		})
	}
}

type nothing struct{}

func (nothing) Start(context.Context, Launch) (container.Instance, error) { return nil, nil }

func TestFind(t *testing.T) {
	s := Set{"b": nothing{}, "a": nothing{}}
	if _, err := s.Find("a:2", corev1.PullAlways); err != nil {
		t.Errorf("Find of a known image: %v", err)
	}
	tests := []struct {
		set    Set
		policy corev1.PullPolicy
		reason string
		known  string
	}{
		{s, corev1.PullNever, "ErrImageNeverPull", "it has: a, b"},
		{s, corev1.PullIfNotPresent, "ImagePullBackOff", "it has: a, b"},
		{nil, corev1.PullAlways, "ImagePullBackOff", "it has: none"},
	}
	for _, tt := range tests {
		_, err := tt.set.Find("c:1", tt.policy)
		var wait *container.WaitError
		if !errors.As(err, &wait) || wait.Reason != tt.reason || !strings.Contains(wait.Error(), tt.known) {
			t.Errorf("Find(c:1, %s) = %v, want reason %s and %q", tt.policy, err, tt.reason, tt.known)
		}
	}
}
