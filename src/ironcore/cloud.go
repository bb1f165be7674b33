// Package ironcore connects Kubernetes to IronCore: its machines are Nodes, its load balancers serve Services, and
// prefixes of its network interfaces are the routes to pods.
//
// All objects are watched, so that nothing is polled; see the package store. Flags, configuration keys, provider IDs,
// names, labels and annotations are those of the cloud controller manager that this one replaces, so that a cluster can
// be migrated without a change of its addresses.
package ironcore

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/machine"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// ProviderName is the value of --cloud-provider, and the scheme of provider IDs.
const ProviderName = providerid.Scheme

// labelDomain is the prefix of the labels and annotations that configure a Node.
const labelDomain = "k8s.ironcore.dev"

// Cloud is IronCore.
type Cloud struct {
	config    cloudconfig.Config
	store     *store.Store
	balancers *loadBalancers
	labeler   *labeler
}

// build creates the cloud. With selector, IronCore chooses the destinations of load balancers.
func build(c cloudconfig.Config, api *client.Client, selector bool) *Cloud {
	known := store.New(api)
	return &Cloud{
		config: c, store: known,
		balancers: &loadBalancers{store: known, config: balancer.Config{Cluster: c.ClusterName,
			Namespace: api.Namespace, Network: c.NetworkName, Prefix: c.PrefixName, Selector: selector}},
		labeler: newLabeler(known, c.ClusterName, c.NetworkName, selector),
	}
}

// offer returns the interfaces that the controllers and their process use.
func (c *Cloud) offer() *cloud.Cloud {
	machines := c.config.InstancesV2.Behaviour()
	machines.Domain = labelDomain
	return &cloud.Cloud{
		Name: ProviderName, LabelDomain: labelDomain,
		LoadBalancers: c.balancers, LoadBalancerBehaviour: c.config.LoadBalancer.Behaviour(),
		Machines: machine.New(c.store, c.config.NetworkName), MachineBehaviour: machines,
		Routes:  route.New(c.store, c.config.NetworkName, c.config.ClusterName),
		Changes: c.store.Changes, SetInformers: c.labeler.setInformers, Start: c.start,
	}
}

// start watches IronCore until ctx ends.
func (c *Cloud) start(ctx context.Context, _ cloud.Clients) {
	c.store.Start(ctx)
	go c.labeler.run(ctx)
}
