// Package adapter makes a [cloud.Cloud] of any cloud that implements the interfaces of k8s.io/cloud-provider.
package adapter

import (
	"context"
	"strings"

	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// New returns what the provided cloud offers, for the cluster with the name in --cluster-name. Load balancers work
// after SetInformers.
func New(provided cloudprovider.Interface, cluster string) *cloud.Cloud {
	name := provided.ProviderName()
	made := &cloud.Cloud{Name: name, Untagged: !provided.HasClusterID()}
	var nodes corelisters.NodeLister
	made.SetInformers = func(factory informers.SharedInformerFactory) {
		nodes = factory.Core().V1().Nodes().Lister()
		if user, ok := provided.(cloudprovider.InformerUser); ok {
			user.SetInformers(factory)
		}
	}
	made.Start = func(ctx context.Context, clients cloud.Clients) { provided.Initialize(clients, ctx.Done()) }
	if balancers, ok := provided.LoadBalancer(); ok && balancers != nil {
		made.LoadBalancers = LoadBalancers(name, balancers, cluster, func() corelisters.NodeLister { return nodes })
		made.LoadBalancerBehaviour = balancerBehaviour()
	}
	if instances, ok := provided.InstancesV2(); ok && instances != nil {
		made.Machines = Machines(name, instances)
		made.MachineBehaviour = machineBehaviour(strings.ToLower(name) + ".cloud-provider")
	}
	if routes, ok := provided.Routes(); ok && routes != nil {
		made.Routes = Routes(name, routes, cluster)
	}
	return made
}
