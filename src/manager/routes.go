package manager

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
)

func needsRoutes(offered *cloud.Cloud, settings configuration) error {
	if !settings.KubeCloudShared.ConfigureCloudRoutes {
		return skipError("--configure-cloud-routes=false")
	}
	if offered.Routes == nil {
		return skipError("the cloud has no routes")
	}
	_, err := routeCIDRs(offered, settings)
	return err
}

// clusterCIDR returns --cluster-cidr, or else the value in the cloud's configuration. The error is that they differ.
func clusterCIDR(offered *cloud.Cloud, settings configuration) (string, error) {
	flag, configured := strings.TrimSpace(settings.KubeCloudShared.ClusterCIDR), strings.TrimSpace(offered.ClusterCIDR)
	if flag != "" && configured != "" && flag != configured {
		return "", fmt.Errorf("--cluster-cidr=%s, and the cloud's configuration says %s: leave one of them out", flag,
			configured)
	}
	return cmp.Or(flag, configured), nil
}

// routeCIDRs returns the networks for which routes are created.
func routeCIDRs(offered *cloud.Cloud, settings configuration) ([]netip.Prefix, error) {
	list, err := clusterCIDR(offered, settings)
	if err != nil {
		return nil, err
	}
	return parseClusterCIDR(list, "the cloud configures routes to the pod networks; set it, or the same in the "+
		"cloud's configuration, or turn routes off with --configure-cloud-routes=false")
}

// parseClusterCIDR parses --cluster-cidr: one network, or one of each family. need is the end of the error if it is
// missing.
func parseClusterCIDR(list, need string) ([]netip.Prefix, error) {
	if strings.TrimSpace(list) == "" {
		return nil, fmt.Errorf("missing --cluster-cidr: %s", need)
	}
	cidrs, err := parseNetworks(list)
	if err != nil {
		return nil, fmt.Errorf("reading --cluster-cidr=%s: %w; want a network like 10.244.0.0/16", list, err)
	}
	if len(cidrs) > 2 || (len(cidrs) == 2 && cidrs[0].Addr().Is4() == cidrs[1].Addr().Is4()) {
		return nil, fmt.Errorf("reading --cluster-cidr=%s: give one network, or one IPv4 and one IPv6 network", list)
	}
	return cidrs, nil
}

// parseNetworks parses networks with commas between them.
func parseNetworks(list string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// shortestRouted returns the shortest prefixes of networks that get routes: those that our own allocator may allocate,
// if it runs; else all.
func shortestRouted(env environment) (nodeipam.Masks, error) {
	if !env.settings.enables(nodeIPAMController) || !env.settings.KubeCloudShared.AllocateNodeCIDRs {
		return nodeipam.Masks{}, nil
	}
	cidrs, chosen, err := env.settings.masks.resolve(env.cloud, env.settings)
	return chosen.Limit(env.settings.masks.shortest, cidrs), err
}

func newRouteController(env environment) (loop, error) {
	cidrs, err := routeCIDRs(env.cloud, env.settings)
	if err != nil {
		return loop{}, err
	}
	shortest, err := shortestRouted(env)
	if err != nil {
		return loop{}, err
	}
	return made(route.New(route.Options{
		Provider: env.cloud.Routes, Changes: env.cloud.Changes, Recovered: env.cloud.Recovered, Client: env.client,
		Recorder: env.recorder, Nodes: env.informers.Core().V1().Nodes(), CIDRs: cidrs,
		Period: env.settings.KubeCloudShared.RouteReconciliationPeriod.Duration, Domain: env.cloud.LabelDomain,
		Shortest: shortest,
	}))
}
