// Package ironcore connects Kubernetes to IronCore: its machines are Nodes, its load balancers serve Services, and
// prefixes of its network interfaces are the routes to pods.
//
// All objects are watched, so that nothing is polled; see the package store. Flags, configuration keys, provider IDs,
// names, labels and annotations are those of the cloud controller manager that this one replaces, so that a cluster can
// be migrated without a change of its addresses.
package ironcore

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/kubeconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/machine"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
)

// ProviderName is the value of --cloud-provider, and the scheme of provider IDs.
const ProviderName = providerid.Scheme

// component is the source of the provider's own events, and the name of its Kubernetes client.
const component = "cloud-provider-ironcore"

// labelDomain is the prefix of the labels and annotations that configure a Node.
const labelDomain = "k8s.ironcore.dev"

// Cloud is IronCore.
type Cloud struct {
	config    cloudconfig.Config
	store     *store.Store
	balancers *loadBalancers
	labeler   *labeler
	reloader  *reload.Reloader[kubeconfig.Access] // nil in tests that have no kubeconfig
	client    *client.Client
}

// build creates the cloud. With selector, IronCore chooses the destinations of load balancers.
func build(c cloudconfig.Config, api *client.Client, selector bool) *Cloud {
	known := store.New(api, c.NetworkName, c.ClusterName)
	return &Cloud{
		config: c, client: api, store: known,
		balancers: &loadBalancers{store: known, config: balancer.Config{Cluster: c.ClusterName,
			UID: cloud.NewClusterUID(c.FormerClusterUIDs), Namespace: api.Namespace, Network: c.NetworkName,
			Prefix: c.PrefixName, PrefixIPv6: c.PrefixNameIPv6,
			Selector: selector}},
		labeler: newLabeler(known, selector),
	}
}

// offer returns the interfaces that the controllers and their process use.
func (c *Cloud) offer() *cloud.Cloud {
	machines := c.config.InstancesV2.Behaviour()
	machines.Domain = labelDomain
	return &cloud.Cloud{
		Name: ProviderName, LabelDomain: labelDomain,
		LoadBalancers: c.balancers, LoadBalancerBehaviour: c.config.LoadBalancer.Behaviour(),
		ClusterIdentity: c.balancers,
		Machines:        machine.New(c.store), MachineBehaviour: machines,
		Routes:  route.New(c.store),
		Changes: c.store.Changes, Recovered: c.client.Outages().Watch, SetInformers: c.labeler.setInformers,
		Start: c.start, Observe: c.observe,
		Collectors: c.collectors(), Ready: c.ready, Drain: c.client.Drain,
		DrainTimeout: c.client.DrainTimeout(), CheckAccess: c.checkAccess,
	}
}

// collectors are the provider's metrics.
func (c *Cloud) collectors() []prometheus.Collector {
	if c.reloader == nil {
		return c.client.Collectors()
	}
	return append(c.client.Collectors(), c.reloader.Collectors()...)
}

// ready returns why the process cannot work: the API does not answer, or not all objects are listed yet.
func (c *Cloud) ready() error {
	if err := c.client.Ready(); err != nil {
		return err
	}
	return c.store.Ready()
}

// start watches IronCore and records the provider's events until ctx ends.
func (c *Cloud) start(ctx context.Context, clients cloud.Clients) {
	if c.reloader != nil {
		c.reloader.RecordEvents(ctx, clients, component)
	}
	c.store.Start(ctx)
	go c.labeler.run(ctx)
}

// observe watches IronCore until ctx ends, and returns when all objects are listed.
func (c *Cloud) observe(ctx context.Context) error {
	c.store.Start(ctx)
	return c.store.WaitForSync(ctx)
}
