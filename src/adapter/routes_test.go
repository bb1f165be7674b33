package adapter

import (
	"context"
	"errors"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// unreachable are routes that cannot be listed.
type unreachable struct{ cloudprovider.Routes }

func (unreachable) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, errors.New("away")
}

// TestUnsupportedRoutes: what such a cloud cannot do is an error.
func TestUnsupportedRoutes(t *testing.T) {
	routes := Routes("plain", unreachable{}, "k1")
	if err := routes.Delete(t.Context(), "", cloud.ActualRoute{}); err == nil {
		t.Error("a route that was never listed is deleted")
	}
	if _, err := routes.List(t.Context(), cloud.PodNetwork{}, 0); err == nil {
		t.Error("a list that failed is an answer")
	}
}
