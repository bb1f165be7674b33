package route

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Library makes of a Provider what k8s.io/cloud-provider wants of a cloud, so that a cloud can say that it has routes. The controller of
// this package takes the provider out of it again. Nobody else can use it: whose route a route is cannot be said in the library's words.
type Library struct{ provider cloud.Routes }

var _ cloudprovider.Routes = (*Library)(nil)

// NewLibrary returns it.
func NewLibrary(provider cloud.Routes) *Library { return &Library{provider} }

// ProviderOf returns the provider behind what a cloud has for routes: the one in a Library, else one that calls the methods of
// k8s.io/cloud-provider with the cluster's name.
func ProviderOf(routes cloudprovider.Routes, cluster string) cloud.Routes {
	if library, ok := routes.(*Library); ok {
		return library.provider
	}
	return classic{routes, cluster}
}

// ListRoutes returns cloudprovider.NotImplemented.
func (*Library) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, cloudprovider.NotImplemented
}

// CreateRoute returns cloudprovider.NotImplemented.
func (*Library) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return cloudprovider.NotImplemented
}

// DeleteRoute returns cloudprovider.NotImplemented.
func (*Library) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	return cloudprovider.NotImplemented
}
