// Package thalassa connects Kubernetes to Thalassa Cloud: its machines are nodes, its load balancers serve Services.
//
// Everything the cloud has is read through one inventory, everything that should change is written as a plan; see the
// packages loadbalancer and inventory. Names, labels, annotations, providerIDs and configuration keys are those of the
// CCM this provider replaces, so that a cluster can change over and no address changes.
package thalassa

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// component is the source of the provider's own events, and the name of its Kubernetes client.
const component = "cloud-provider-thalassa"

// Cloud is Thalassa Cloud.
type Cloud struct {
	config    Config
	client    *client.Client
	inventory *inventory.Inventory
	machines  *instances
	balancers *balancers
	routes    *routes
	readiness readiness
	reloader  *reloader // nil when the configuration refers to no files
}

// New returns how the cloud is made from a cloud-config file. version follows the program's name in the user agent;
// getenv is os.Getenv, or stands for it. Making it calls nobody, so it fails only for what is wrong with the file, or
// with one it refers to. Those that may change are looked at again until the context ends.
func New(version string, getenv func(string) string) func(context.Context, cloud.Options) (*cloud.Cloud, error) {
	return func(ctx context.Context, options cloud.Options) (*cloud.Cloud, error) {
		c, err := read(ctx, version, getenv, options.ConfigFile)
		if err != nil {
			return nil, err
		}
		return c.Offer(), nil
	}
}

// read makes the cloud from a cloud-config file, and reads the files it refers to again until ctx ends.
func read(ctx context.Context, version string, getenv func(string) string, path string) (*Cloud, error) {
	config, secrets, err := readConfigAndSecrets(path, getenv)
	if err != nil {
		return nil, err
	}
	config.warn()
	c, err := build(config, secrets, version, nil)
	if err != nil {
		return nil, err
	}
	if config.secretsMayChange() {
		c.reloader = c.newReloader(secrets, config.ReadSecrets, ownPod(getenv))
		go c.reloader.run(ctx)
	}
	return c, nil
}

// Offer returns what the controllers and their process use of the cloud.
func (c *Cloud) Offer() *cloud.Cloud {
	offered := &cloud.Cloud{
		Name: ProviderName, LabelDomain: strings.TrimSuffix(labelReserved, "/"), ClusterCIDR: c.config.ClusterCIDR,
		Collectors: c.collectors(), Ready: c.Ready, Start: c.Start, Drain: c.Drain,
		DrainTimeout: c.client.DrainTimeout(),
	}
	if c.config.LoadBalancer.Enabled {
		offered.LoadBalancers, offered.LoadBalancerBehaviour = c.balancers, c.config.LoadBalancer.behaviour()
	}
	if c.config.InstancesV2.Enabled {
		offered.Machines, offered.MachineBehaviour = c.machines, c.config.InstancesV2.behaviour()
	}
	if c.config.Routes.Enabled {
		offered.Routes = c.routes
	}
	return offered
}

// warn logs what is allowed and dangerous.
func (c Config) warn() {
	endpoint, err := url.Parse(c.Endpoint)
	if err == nil && endpoint.Scheme == "http" && !isLoopback(endpoint.Hostname()) {
		klog.InfoS(
			"Warning: endpoint begins with http://, so the credentials are sent without encryption; use https://",
			"endpoint", endpoint.Redacted())
	}
	if c.Insecure {
		klog.InfoS("Warning: insecure is set, so the API's certificate is not verified and an attacker on the " +
			"network can read the credentials; use caBundle")
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
	return &Cloud{
		config: c, client: api, inventory: known, machines: &instances{config: c, inventory: known},
		balancers: newBalancers(c, known), routes: &routes{config: c, inventory: known},
	}, nil
}

// Start records the provider's events until ctx ends.
func (c *Cloud) Start(ctx context.Context, clients cloud.Clients) {
	if c.reloader == nil {
		return // nothing else has events that are not about Services
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartStructuredLogging(0)
	c.reloader.recordTo(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}))
	c.attend(ctx, clients, broadcaster)
	go func() {
		<-ctx.Done()
		broadcaster.Shutdown()
	}()
}

// attend makes events of what the provider has to say as soon as there is a client of Kubernetes: its API may be away
// right now.
func (c *Cloud) attend(ctx context.Context, clients cloud.Clients, broadcaster record.EventBroadcaster) {
	attend := func(client kubernetes.Interface) {
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	}
	client, err := clients.Client(component)
	if err == nil {
		attend(client)
		return
	}
	klog.ErrorS(err, "No Kubernetes client for the cloud provider yet: until there is one, what it has to say "+
		"appears in this log only")
	go func() {
		// The manager's builder waits until it has one, or the process ends.
		if late := clients.ClientOrDie(component); late != nil && ctx.Err() == nil {
			attend(late)
		}
	}()
}

// Ready is nil while the cloud answers and accepts the credentials. It answers at once, from how the latest call ended;
// before the first one, and after trouble, it also makes a call in the background, so that the next answer is newer.
func (c *Cloud) Ready() error { return c.readiness.check(c.client.Err, c.inventory.Probe) }

// Drain sends nothing more to the cloud and waits for the writes that were sent.
func (c *Cloud) Drain(ctx context.Context) error { return c.client.Drain(ctx) }

// collectors are the provider's metrics.
func (c *Cloud) collectors() []prometheus.Collector {
	all := append(c.client.Collectors(), c.inventory.Collector())
	if c.reloader == nil {
		return all
	}
	return append(all, c.reloader.collectors()...)
}

// newReloader keeps the cloud's secrets as read finds them; inUse are those that it has now.
func (c *Cloud) newReloader(inUse client.Secrets, read func() (client.Secrets, error),
	about *corev1.ObjectReference) *reloader {
	r := newReloader(inUse, read, func(ctx context.Context, secrets client.Secrets) error {
		return c.client.Adopt(ctx, secrets, c.inventory.ProbeWith)
	})
	r.about = about
	return r
}
