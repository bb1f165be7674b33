package image

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	if _, err := s.Find("a:2"); err != nil {
		t.Errorf("Find of a known image: %v", err)
	}
	for _, tt := range []struct {
		set   Set
		known string
	}{{s, "it has: a, b"}, {nil, "it has: none"}} {
		_, err := tt.set.Find("c:1")
		var wait *container.WaitError
		if !errors.As(err, &wait) || wait.Reason != "ImagePullBackOff" || !strings.Contains(wait.Error(), tt.known) {
			t.Errorf("Find(c:1) = %v, want ImagePullBackOff and %q", err, tt.known)
		}
	}
}
