package virtualnode

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

// Network is what the nodes of one cluster share: one watch for the whole cluster instead of one
// per node, and the connections to its pods.
type Network struct {
	client kubernetes.Interface
	logger *slog.Logger
	fabric *fabric.Fabric
	// apiHost and apiPort are where the API server is.
	apiHost string
	apiPort int

	ctx     context.Context
	stop    context.CancelFunc
	watches watches
	// trouble is the last reason why objects could not be read.
	trouble atomic.Pointer[error]
}

// NewNetwork returns the network of the cluster behind an API server. The configuration must allow
// everything that nodes do, and reading Nodes, Pods, Services and EndpointSlices everywhere. Pods
// find the API server where the configuration finds it.
func NewNetwork(config *rest.Config, logger *slog.Logger) (*Network, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // all nodes share it
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	host, port, err := APIServer(config)
	if err != nil {
		return nil, err
	}
	n, err := newNetwork(client, logger)
	if err != nil {
		return nil, err
	}
	n.apiHost, n.apiPort = host, port
	return n, nil
}

func newNetwork(client kubernetes.Interface, logger *slog.Logger) (*Network, error) {
	n := &Network{client: client, logger: logger, fabric: &fabric.Fabric{}}
	n.ctx, n.stop = context.WithCancel(context.Background())
	if err := n.prepare(); err != nil {
		n.Close()
		return nil, fmt.Errorf("watching the cluster: %w", err)
	}
	return n, nil
}

// APIServer is the host and the port of the API server that a client configuration names, as pods find it. The error
// says that the address is not a URL of scheme and host, or has a path, for which pods have no environment variable.
func APIServer(config *rest.Config) (host string, port int, err error) {
	u, err := url.Parse(config.Host)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return "", 0, fmt.Errorf("the API server's address %q is not a URL such as https://host:port, without a path",
			config.Host)
	}
	text := u.Port()
	if text == "" {
		text = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("reading the port of the API server's address %q: %w", config.Host, err)
	}
	return u.Hostname(), port, nil
}

// Close ends the watches. Nodes must have been stopped before.
func (n *Network) Close() {
	n.stop()
	n.watches.objects.Shutdown()
	n.watches.scheduled.Shutdown()
}
