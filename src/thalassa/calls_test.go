package thalassa

import (
	"errors"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestEventsWithoutAClient: the existing CCM only logs that it has no Kubernetes client, and then uses it. Ours works
// without: its events go nowhere.
func TestEventsWithoutAClient(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.cloud.Start(t.Context(), clients{err: errors.New("forbidden")})
	web := service("web", 80)
	annotated("max-connections", "many")(web)
	if status, err := l.library.EnsureLoadBalancer(t.Context(), "", web, l.nodes("a")); err != nil ||
		len(status.Ingress) != 1 {
		t.Errorf("status %+v, error %v; want an address", status, err)
	}
}
