package virtualnode

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/discovery"
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
	cancel  context.CancelFunc
	watches watches

	version atomic.Pointer[string] // nil until the API server has told it

	// mu guards nodes. It is held while news are passed on, so that a node that joins and one
	// that is told something see them in one order.
	mu    sync.Mutex
	nodes map[string]*Node
}

// NewNetwork returns the network of the cluster behind an API server. The configuration must allow
// reading Nodes, Pods, Services and EndpointSlices everywhere; nodes without a configuration of
// their own use it for everything. A nil logger discards.
func NewNetwork(config *rest.Config, logger *slog.Logger) (*Network, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // a thousand nodes share it
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	n := newNetwork(client, logger)
	if n.apiHost, n.apiPort, err = hostPort(config.Host); err != nil {
		return nil, err
	}
	return n, nil
}

func newNetwork(client kubernetes.Interface, logger *slog.Logger) *Network {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	n := &Network{client: client, logger: logger, fabric: &fabric.Fabric{}, nodes: map[string]*Node{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.watches = newWatches(client)
	return n
}

// hostPort reads the host of a client configuration: a URL, or host:port.
func hostPort(host string) (string, int, error) {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		u = &url.URL{Scheme: "https", Host: host}
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	number, err := strconv.Atoi(port)
	if err != nil || u.Hostname() == "" {
		return "", 0, fmt.Errorf("the API server's address %q is neither a URL nor host:port", host)
	}
	return u.Hostname(), number, nil
}

// Close ends the watches. Nodes must have been stopped before.
func (n *Network) Close() {
	n.cancel()
	n.watches.close()
}

// serverVersion is the version that nodes claim to have: the API server's. Nodes that start at
// the same time may each ask for it, so that none waits for longer than its own context.
func (n *Network) serverVersion(ctx context.Context) (string, error) {
	if known := n.version.Load(); known != nil {
		return *known, nil
	}
	info, err := discovery.ToServerVersionInterfaceWithContext(n.client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	n.version.Store(&info.GitVersion)
	return info.GitVersion, nil
}

// join passes news on to a node from now on, beginning with everything that is known.
func (n *Network) join(node *Node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[node.options.Name] != nil {
		return fmt.Errorf("node %q is running already", node.options.Name)
	}
	n.nodes[node.options.Name] = node
	// The node knows its own object already, and better than the cache, which may not have it yet.
	node.observe(node.seen.Load())
	if node.options.Light {
		return nil
	}
	for _, name := range n.watches.podsOf(node.options.Name) {
		n.tellPod(name, node.options.Name)
	}
	for _, name := range n.watches.allServices() {
		node.setService(n.watches.service(name))
	}
	return nil
}

// leave stops passing news on to a node.
func (n *Network) leave(node *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[node.options.Name] == node {
		delete(n.nodes, node.options.Name)
	}
}
