package manager

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/config"

	"github.com/thalassa-cloud/thalassa-ccm/src/route"
)

func needsRoutes(cloud cloudprovider.Interface, settings *config.CloudControllerManagerConfiguration) error {
	if !settings.KubeCloudShared.ConfigureCloudRoutes {
		return skipError("--configure-cloud-routes=false")
	}
	if _, ok := cloud.Routes(); !ok {
		return skipError("the cloud has no routes")
	}
	_, err := routeCIDRs(settings)
	return err
}

// routeCIDRs are the networks that routes lead to.
func routeCIDRs(settings *config.CloudControllerManagerConfiguration) ([]netip.Prefix, error) {
	return parseClusterCIDR(settings.KubeCloudShared.ClusterCIDR,
		"the cloud configures routes to the pod networks; set it, or turn routes off with --configure-cloud-routes=false")
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

func newRouteController(env environment) (loop, error) {
	routes, _ := env.cloud.Routes()
	cidrs, err := routeCIDRs(env.settings)
	if err != nil {
		return loop{}, err
	}
	shared := env.settings.KubeCloudShared
	c, err := route.New(route.Options{
		Provider: route.ProviderOf(routes, shared.ClusterName), Client: env.client, Nodes: env.informers.Core().V1().Nodes(),
		CIDRs: cidrs, Period: shared.RouteReconciliationPeriod.Duration,
	})
	if err != nil {
		return loop{}, err
	}
	return loop{collectors: c.Collectors(), run: func(ctx context.Context) {
		env.metrics.ControllerStarted("route") // the library's name for it
		defer env.metrics.ControllerStopped("route")
		c.Run(ctx)
	}}, nil
}
