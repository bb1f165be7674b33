package route

import (
	"errors"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestLibrary: the provider in it is found, and nobody else can do anything by it.
func TestLibrary(t *testing.T) {
	provider := newPlain()
	library := NewLibrary(provider)
	if found := ProviderOf(library, "k1"); found != cloud.Routes(provider) {
		t.Errorf("found %v, not the provider in it", found)
	}
	_, listed := library.ListRoutes(t.Context(), "k1")
	for what, err := range map[string]error{
		"list": listed, "create": library.CreateRoute(t.Context(), "k1", "", nil), "delete": library.DeleteRoute(t.Context(), "k1", nil),
	} {
		if !errors.Is(err, cloudprovider.NotImplemented) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if text := provider.writes; len(text) > 0 {
		t.Errorf("written: %v", text)
	}
}
