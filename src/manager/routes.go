package manager

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
)

func needsRoutes(cloud cloudprovider.Interface, settings configuration) error {
	if !settings.KubeCloudShared.ConfigureCloudRoutes {
		return skipError("--configure-cloud-routes=false")
	}
	if _, ok := cloud.Routes(); !ok {
		return skipError("the cloud has no routes")
	}
	_, err := routeCIDRs(cloud, settings)
	return err
}

// clusterCIDR is what --cluster-cidr says, or else the cloud's configuration. The error is that they say different things.
func clusterCIDR(cloud cloudprovider.Interface, settings configuration) (string, error) {
	flag, configured := strings.TrimSpace(settings.KubeCloudShared.ClusterCIDR), ""
	if networker, ok := cloud.(Networker); ok {
		configured = strings.TrimSpace(networker.ClusterCIDR())
	}
	if flag != "" && configured != "" && flag != configured {
		return "", fmt.Errorf("--cluster-cidr=%s, and the cloud's configuration says %s: leave one of them out", flag, configured)
	}
	return cmp.Or(flag, configured), nil
}

// routeCIDRs are the networks that routes lead to.
func routeCIDRs(cloud cloudprovider.Interface, settings configuration) ([]netip.Prefix, error) {
	list, err := clusterCIDR(cloud, settings)
	if err != nil {
		return nil, err
	}
	return parseClusterCIDR(list, "the cloud configures routes to the pod networks; set it, or the same in the cloud's configuration, or turn routes off with --configure-cloud-routes=false")
}

// parseClusterCIDR reads --cluster-cidr: one network, or one of each family. Need is why it may not be missing, and what to do then.
func parseClusterCIDR(list, need string) ([]netip.Prefix, error) {
	if strings.TrimSpace(list) == "" {
		return nil, fmt.Errorf("missing --cluster-cidr: %s", need)
	}
	var cidrs []netip.Prefix
	for text := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("reading --cluster-cidr=%s: %w; want a network like 10.244.0.0/16", list, err)
		}
		cidrs = append(cidrs, cidr.Masked())
	}
	if len(cidrs) > 2 || (len(cidrs) == 2 && cidrs[0].Addr().Is4() == cidrs[1].Addr().Is4()) {
		return nil, fmt.Errorf("reading --cluster-cidr=%s: give one network, or one IPv4 and one IPv6 network", list)
	}
	return cidrs, nil
}

// shortestRouted are the shortest prefixes of networks that get routes: those that our own allocator may give, if it runs; else all.
func shortestRouted(env environment) (nodeipam.Masks, error) {
	if !env.settings.enables(nodeIPAMController) || !env.settings.KubeCloudShared.AllocateNodeCIDRs {
		return nodeipam.Masks{}, nil
	}
	cidrs, chosen, err := env.settings.masks.of(env.cloud, env.settings)
	return chosen.Limit(env.settings.masks.shortest, cidrs), err
}

func newRouteController(env environment) (loop, error) {
	routes, _ := env.cloud.Routes()
	cidrs, err := routeCIDRs(env.cloud, env.settings)
	if err != nil {
		return loop{}, err
	}
	shared := env.settings.KubeCloudShared
	options := route.Options{
		Provider: route.ProviderOf(routes, shared.ClusterName), Client: env.client, Nodes: env.informers.Core().V1().Nodes(),
		CIDRs: cidrs, Period: shared.RouteReconciliationPeriod.Duration,
	}
	if options.Shortest, err = shortestRouted(env); err != nil {
		return loop{}, err
	}
	if labeller, ok := env.cloud.(Labeller); ok {
		options.Domain = labeller.LabelDomain()
	}
	c, err := route.New(options)
	if err != nil {
		return loop{}, err
	}
	return loop{collectors: c.Collectors(), run: c.Run}, nil
}
