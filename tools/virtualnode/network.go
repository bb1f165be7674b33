package virtualnode

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

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
	running sync.Map // from netip.Addr to *Node
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

// Dial connects from a loopback address to the address of a load balancer and a port of its Service, through the node
// with an address, as a load balancer does that passes packets to nodes unchanged. It is refused unless the status of
// the Service has the load balancer's address with ipMode VIP, and the port has endpoints.
func (n *Network) Dial(ctx context.Context, node netip.Addr, to netip.AddrPort, from netip.Addr) (net.Conn, error) {
	if one, running := n.running.Load(node); running {
		return one.(*Node).proxy.Dial(ctx, to, from)
	}
	return nil, fmt.Errorf("dialling %s: no node has the address %s: %w", to, node, syscall.EHOSTUNREACH)
}

// Close ends the watches. Nodes must have been stopped before.
func (n *Network) Close() {
	n.stop()
	n.watches.objects.Shutdown()
	n.watches.scheduled.Shutdown()
}
