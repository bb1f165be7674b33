// Package client has the typed clients of the IronCore API for one namespace.
package client

import (
	"fmt"

	computev1alpha1 "github.com/ironcore-dev/ironcore/client-go/ironcore/versioned/typed/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/client-go/ironcore/versioned/typed/networking/v1alpha1"
	"k8s.io/client-go/rest"
)

// Client reads and writes the objects that the cluster uses: those of one namespace, and the machine pools, which have
// no namespace. It is safe for concurrent use.
type Client struct {
	// Namespace contains all objects but machine pools.
	Namespace string

	Machines             computev1alpha1.MachineInterface
	MachinePools         computev1alpha1.MachinePoolInterface
	Networks             networkingv1alpha1.NetworkInterface
	NetworkInterfaces    networkingv1alpha1.NetworkInterfaceInterface
	LoadBalancers        networkingv1alpha1.LoadBalancerInterface
	LoadBalancerRoutings networkingv1alpha1.LoadBalancerRoutingInterface
}

// New returns a client of the API server that config names. It sends no request. The error is that the configuration
// cannot be used, such as a certificate that cannot be read.
func New(config *rest.Config, namespace string) (*Client, error) {
	// The server of IronCore does not offer protobuf.
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the IronCore API: %w", err)
	}
	compute, err := computev1alpha1.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("making a client of compute.ironcore.dev: %w", err)
	}
	networking, err := networkingv1alpha1.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("making a client of networking.ironcore.dev: %w", err)
	}
	return &Client{
		Namespace: namespace,
		Machines:  compute.Machines(namespace), MachinePools: compute.MachinePools(),
		Networks:             networking.Networks(namespace),
		NetworkInterfaces:    networking.NetworkInterfaces(namespace),
		LoadBalancers:        networking.LoadBalancers(namespace),
		LoadBalancerRoutings: networking.LoadBalancerRoutings(namespace),
	}, nil
}
