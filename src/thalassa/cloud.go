// Package thalassa connects Kubernetes to Thalassa Cloud: its machines are nodes, its load balancers serve Services.
//
// Everything the cloud has is read through one inventory, everything that should change is written as a plan; see the packages
// loadbalancer and inventory. Names, labels, annotations, providerIDs and configuration keys are those of the CCM this provider
// replaces, so that a cluster can change over and no address changes.
package thalassa

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// component is the source of the provider's own events, and the name of its Kubernetes client.
const component = "cloud-provider-thalassa"

// Cloud is Thalassa Cloud as k8s.io/cloud-provider sees it.
type Cloud struct {
	config    Config
	client    *client.Client
	inventory *inventory.Inventory
	nodes     *node.Library
	balancers *balancers
	routes    *routes
	library   *servicecontroller.Library
	readiness readiness
	reloader  *reloader // nil when the configuration refers to no files
}

var _ cloudprovider.Interface = (*Cloud)(nil)

// New returns how the cloud is made from a cloud-config file. version follows the program's name in the user agent; getenv is os.Getenv, or stands
// for it. Making it calls nobody, so it fails only for what is wrong with the file, or with one it refers to. Those that may
// change are looked at again until the context ends.
func New(version string, getenv func(string) string) func(ctx context.Context, path string) (cloudprovider.Interface, error) {
	return func(ctx context.Context, path string) (cloudprovider.Interface, error) {
		c, secrets, err := readConfigAndSecrets(path, getenv)
		if err != nil {
			return nil, err
		}
		c.warn()
		cloud, err := build(c, secrets, version, nil)
		if err != nil {
			return nil, err
		}
		if c.secretsMayChange() {
			cloud.reloader = cloud.newReloader(secrets, c.ReadSecrets, ownPod(getenv))
			go cloud.reloader.run(ctx)
		}
		return cloud, nil
	}
}

// warn logs what is allowed and dangerous.
func (c Config) warn() {
	endpoint, err := url.Parse(c.Endpoint)
	if err == nil && endpoint.Scheme == "http" && !isLoopback(endpoint.Hostname()) {
		klog.InfoS("Warning: endpoint begins with http://, so the credentials are sent without encryption; use https://", "endpoint", endpoint.Redacted())
	}
	if c.Insecure {
		klog.InfoS("Warning: insecure is set, so the API's certificate is not verified and an attacker on the network can read the credentials; use caBundle")
	}
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && address.IsLoopback())
}

// build makes the cloud; network carries its calls, nil is the real one.
func build(c Config, secrets client.Secrets, version string, network http.RoundTripper) (*Cloud, error) {
	api, err := client.New(client.Options{
		Endpoint: c.Endpoint, Organisation: c.Organisation, Project: c.Project, Insecure: c.Insecure,
		UserAgent: component + "/" + version, Secrets: secrets, Network: network,
		CallTimeout: seconds(c.API.CallTimeout), Rate: c.API.RequestsPerSecond, Burst: c.API.Burst,
	})
	if err != nil {
		return nil, err
	}
	known := inventory.New(api, scopeOf(c))
	balancers := newBalancers(c, known)
	return &Cloud{
		config: c, client: api, inventory: known,
		nodes:     node.NewLibrary(&instances{config: c, inventory: known}, c.InstancesV2.behaviour()),
		routes:    &routes{config: c, inventory: known},
		balancers: balancers, library: servicecontroller.NewLibrary(balancers, c.LoadBalancer.behaviour(), &record.FakeRecorder{}),
	}, nil
}

// Initialize begins to record the provider's events; they go on until stop is closed.
func (c *Cloud) Initialize(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	if c.reloader == nil {
		return // nothing else has events that are not about Services
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartStructuredLogging(0)
	c.reloader.recordTo(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}))
	ctx, cancel := context.WithCancel(context.Background())
	c.attend(ctx, clients, broadcaster)
	go func() {
		<-stop
		cancel()
		broadcaster.Shutdown()
	}()
}

// attend makes events of what the provider has to say as soon as there is a client of Kubernetes: its API may be away right now.
func (c *Cloud) attend(ctx context.Context, clients cloudprovider.ControllerClientBuilder, broadcaster record.EventBroadcaster) {
	attend := func(client kubernetes.Interface) {
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	}
	client, err := clients.Client(component)
	if err == nil {
		attend(client)
		return
	}
	klog.ErrorS(err, "No Kubernetes client for the cloud provider yet: until there is one, what it has to say appears in this log only")
	go func() {
		// The manager's builder waits until it has one, or the process ends.
		if late := clients.ClientOrDie(component); late != nil && ctx.Err() == nil {
			attend(late)
		}
	}()
}

// Ready is nil while the cloud answers and accepts the credentials. It answers at once, from how the latest call ended; before
// the first one, and after trouble, it also makes a call in the background, so that the next answer is newer.
func (c *Cloud) Ready() error { return c.readiness.check(c.client.Err, c.inventory.Probe) }

// Drain sends nothing more to the cloud and waits for the writes that were sent.
func (c *Cloud) Drain(ctx context.Context) error { return c.client.Drain(ctx) }

// DrainTimeout is the longest time that Drain takes.
func (c *Cloud) DrainTimeout() time.Duration { return c.client.DrainTimeout() }

// Collectors are the provider's metrics.
func (c *Cloud) Collectors() []prometheus.Collector {
	all := append(c.client.Collectors(), c.inventory.Collector())
	if c.reloader == nil {
		return all
	}
	return append(all, c.reloader.collectors()...)
}

// newReloader keeps the cloud's secrets as read finds them; inUse are those that it has now.
func (c *Cloud) newReloader(inUse client.Secrets, read func() (client.Secrets, error), about *corev1.ObjectReference) *reloader {
	r := newReloader(inUse, read, func(ctx context.Context, secrets client.Secrets) error {
		return c.client.Adopt(ctx, secrets, c.inventory.ProbeWith)
	})
	r.about = about
	return r
}

// LoadBalancer returns the load balancers, unless they are switched off.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return c.library, c.config.LoadBalancer.Enabled
}

// InstancesV2 returns the machines, unless they are switched off.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c.nodes, c.config.InstancesV2.Enabled
}

// Instances is superseded by InstancesV2.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is superseded by InstancesV2.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not offered.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes returns the routes to the pods of nodes, if they are switched on.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) {
	return route.NewLibrary(c.routes), c.config.Routes.Enabled
}

// ClusterCIDR is the networks of all pods, as the configuration says them; it may be empty.
func (c *Cloud) ClusterCIDR() string { return c.config.ClusterCIDR }

// LabelDomain begins the names of labels and annotations by which nodes are steered.
func (c *Cloud) LabelDomain() string { return strings.TrimSuffix(labelReserved, "/") }

// ProviderName is the scheme of providerIDs.
func (c *Cloud) ProviderName() string { return ProviderName }

// HasClusterID is always true: the configuration demands a cluster identity.
func (c *Cloud) HasClusterID() bool { return true }
