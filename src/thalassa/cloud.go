// Package thalassa connects Kubernetes to Thalassa Cloud: its machines are nodes, its load balancers serve Services.
//
// All objects of the cloud are read through one inventory, and all changes are written as a plan; see the packages
// inventory and src/controller/service. The packages machine and route serve the controllers of nodes and routes.
// Names, labels, annotations, provider IDs and configuration keys are those of the CCM that this provider replaces, so
// that a cluster can be migrated without a change of its addresses.
package thalassa

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/machine"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// ProviderName is the value of --cloud-provider, and the scheme of provider IDs.
const ProviderName = providerid.Scheme

// component is the source of the provider's own events, and the name of its Kubernetes client.
const component = "cloud-provider-thalassa"

// Cloud is Thalassa Cloud.
type Cloud struct {
	config    cloudconfig.Config
	client    *client.Client
	inventory *inventory.Inventory
	machines  *machine.Provider
	balancers *balancers
	uid       *cloud.ClusterUID
	routes    *route.Provider
	stored    *stored
	readiness client.Readiness
	reloader  *reload.Reloader[secret.Secrets] // nil if the configuration refers to no files
}

// New returns a function that creates the cloud from a cloud-config file. version follows the program's name in the
// user agent. The function sends no request, so it fails only because of the file, or a file that this one refers to.
// Until the context ends, it reads files with secrets again periodically.
func New(version string) func(context.Context, cloud.Options) (*cloud.Cloud, error) {
	return func(ctx context.Context, options cloud.Options) (*cloud.Cloud, error) {
		c, err := read(ctx, version, options)
		if err != nil {
			return nil, err
		}
		return c.Offer(), nil
	}
}

// read creates the cloud from a cloud-config file, and reads the files with secrets again until ctx ends.
func read(ctx context.Context, version string, options cloud.Options) (*Cloud, error) {
	from := options.Environment
	config, secrets, err := cloudconfig.Read(options.ConfigFile, from, balancer.CheckDefaults)
	if err != nil {
		return nil, err
	}
	config.Warn()
	c, err := build(config, secrets, version, options.Network)
	if err != nil {
		return nil, err
	}
	if options.ReadOnly {
		c.readOnly()
	}
	if config.SecretsMayChange() && from.Own() { // what another process has mounted is read once
		read := func() (secret.Secrets, error) { return config.ReadSecrets(from) }
		c.reloader = client.NewReloader(secrets, read, c.adopt, reload.OwnPod(from.Getenv))
		go c.reloader.Run(ctx)
	}
	return c, nil
}

// readOnly makes a cloud that refuses all writes, and compares as a leader that has nothing in flight.
func (c *Cloud) readOnly() {
	c.client.RefuseWrites()
	c.balancers.executor.memory.alone = true
}

// Offer returns the interfaces that the controllers and their process use.
func (c *Cloud) Offer() *cloud.Cloud {
	offered := &cloud.Cloud{
		Name: ProviderName, LabelDomain: label.Domain, ClusterCIDR: c.config.ClusterCIDR,
		Collectors: c.collectors(), Ready: c.Ready, Start: c.Start, Drain: c.Drain,
		Recovered: c.recovered, Observe: c.observe, Storage: c.stored,
		DrainTimeout: c.client.DrainTimeout(), CheckAccess: c.checkAccess,
		ClusterIdentity: c.balancers, // volumes have the UID of their cluster, too
	}
	if c.config.LoadBalancer.Enabled {
		offered.LoadBalancers, offered.LoadBalancerBehaviour = c.balancers, c.config.LoadBalancer.Behaviour()
	}
	if c.config.InstancesV2.Enabled {
		offered.Machines, offered.MachineBehaviour = c.machines, c.config.InstancesV2.Behaviour()
	}
	if c.config.Routes.Enabled {
		offered.Routes = c.routes
	}
	return offered
}

// build creates the cloud. network carries its calls; nil is the default transport.
func build(c cloudconfig.Config, secrets secret.Secrets, version string, network http.RoundTripper) (*Cloud, error) {
	api, err := client.ForConfig(c, secrets, component+"/"+version, network)
	if err != nil {
		return nil, err
	}
	uid := cloud.NewClusterUID(c.FormerClusterUIDs)
	known := inventory.New(api, scopeOf(c, uid))
	return &Cloud{
		config: c, client: api, inventory: known, machines: machine.New(c, known), uid: uid,
		balancers: newBalancers(c, known, uid), routes: route.New(c, known),
		stored: newStored(api, storage.Cluster{Key: c.Cluster, UID: uid}, known),
	}, nil
}

// Start records the provider's events, looks for the end of outages, and reads the quotas for metrics, until ctx ends.
func (c *Cloud) Start(ctx context.Context, clients cloud.Clients) {
	go c.client.MonitorOutages(ctx, c.inventory.Ping)
	go c.inventory.WatchQuotas(ctx)
	if c.reloader != nil { // only the reloader has events that are not about Services
		c.reloader.RecordEvents(ctx, clients, component)
	}
}

// recovered calls report each time the cloud answers again after an outage, until ctx ends.
func (c *Cloud) recovered(ctx context.Context, report func()) {
	c.client.Recovered(ctx, report)
}

// Ready returns nil while the cloud answers and accepts the credentials. It returns the result of the latest call
// without waiting. Before the first call and after a failure it also starts a call in the background, so that the next
// result is newer.
func (c *Cloud) Ready() error { return c.readiness.Check(c.client.Err, c.inventory.Probe) }

// Drain sends nothing more to the cloud and waits for the writes that were sent.
func (c *Cloud) Drain(ctx context.Context) error { return c.client.Drain(ctx) }

// adopt tries secrets and uses them from now on.
func (c *Cloud) adopt(ctx context.Context, secrets secret.Secrets) error {
	return c.client.Adopt(ctx, secrets, func(ctx context.Context, candidate *client.Client) error {
		return inventory.New(candidate, scopeOf(c.config, c.uid)).ProbeAll(ctx)
	})
}

// observeTimeout is the longest time in which the first answer of the cloud is awaited by a program that only reads.
const observeTimeout = 15 * time.Second

// observe returns an error at once if the cloud does not answer, or does not know the credentials: a program that only
// reads would wait for each list in turn.
func (c *Cloud) observe(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, fmt.Errorf("no answer within %s", observeTimeout))
	defer cancel()
	err := c.inventory.Ping(ctx)
	unknown := errors.Is(err, client.ErrUnauthorised) && !errors.Is(err, client.ErrForbidden)
	if errors.Is(err, client.ErrUnavailable) || unknown {
		return err
	}
	return nil // a permission that is missing is the answer to another question
}

// checkAccess implements cloud.Cloud. Only an answer shows what the credentials permit, so that writes are
// not known.
func (c *Cloud) checkAccess(ctx context.Context) []cloud.Access {
	if err := c.observe(ctx); err != nil {
		return []cloud.Access{{Action: "reach the cloud", Err: err}}
	}
	return append(c.inventory.CheckAccess(ctx), cloud.Access{
		Action:  "write load balancers, target groups, security groups and routes",
		Unknown: "Thalassa Cloud does not tell without a write which writes the credentials permit"})
}

// collectors are the provider's metrics.
func (c *Cloud) collectors() []prometheus.Collector {
	all := append(c.client.Collectors(), store.AgeCollector(c.inventory.Ages()), c.inventory.QuotaCollector())
	if c.reloader == nil {
		return all
	}
	return append(all, c.reloader.Collectors()...)
}

// scopeOf returns which objects of the VPC belong to this cluster.
func scopeOf(c cloudconfig.Config, uid *cloud.ClusterUID) inventory.Scope {
	return inventory.Scope{
		VPC:        c.VPCIdentity,
		Owned:      resource.Labels{label.Cluster: c.Cluster, label.Managed: "true"},
		OwnerLabel: label.ServiceUID, UID: uid,

		MachineLabels: c.InstancesV2.MachineLabels(),
	}
}
