package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The names of the clouds, as in Options.
const (
	cloudThalassa = "thalassa"
	cloudIronCore = "ironcore"
)

const (
	// createDelay and deleteDelay are how long the cloud takes for a load balancer.
	createDelay, deleteDelay = 2 * time.Second, time.Second
	// cloudTimeout bounds the start of the cloud, and every call to it.
	cloudTimeout = 15 * time.Second
	// pollInterval is how often a condition is checked that has no event to wait for.
	pollInterval = 200 * time.Millisecond
	// clusterName is the name of the cluster in the cloud.
	clusterName = "k8s-demo"
	// region is where the machines are.
	region = "nl-01"
)

// cloud is where the servers and the load balancers of the story are.
type cloud interface {
	// programs are the names of the programs that it needs, or of folders with them, as in bin/.
	programs() []string
	// start starts it and prints where it answers.
	start(ctx context.Context, s *stage) error
	// installation is what a cloud controller manager needs to use it.
	installation() (installation, error)
	// addServer creates a server and returns its address.
	addServer(ctx context.Context, name, zone string) (netip.Addr, error)
	// balancer returns the load balancer of a Service. The error is errNoBalancer if there is none.
	balancer(ctx context.Context, service *corev1.Service) (balancer, error)
	// kinds are what the cloud has for a Service, and remaining names those that it still has; empty if none.
	kinds() []string
	remaining(ctx context.Context) (string, error)
	// access are lines about how to look into it.
	access() []string
}

// installation is how the chart is installed for a cloud.
type installation struct {
	// flags are those of helm that the story mentions.
	flags string
	// secret and credentials are the name and the content of the Secret with the credentials.
	secret      string
	credentials map[string]string
	values      map[string]any
}

// balancer is a load balancer in a cloud.
type balancer struct {
	name, state string
	// served is where its first port answers; empty if it does not. problem is why that is not the port itself.
	served, problem string
	// targets are the addresses of the servers that it sends connections to.
	targets []netip.Addr
}

// errNoBalancer means that a Service has no load balancer in the cloud.
var errNoBalancer = errors.New("the cloud has no load balancer for the Service")

// newCloud returns the cloud with a name, which has to be started.
func newCloud(name string) (cloud, error) {
	switch name {
	case "", cloudThalassa:
		return &thalassa{}, nil
	case cloudIronCore:
		return &ironcore{}, nil
	}
	return nil, fmt.Errorf("there is no cloud %q: use %s or %s", name, cloudThalassa, cloudIronCore)
}
