package manager

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/config"
	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
)

func TestControllersAreChosen(t *testing.T) {
	const (
		node, cycle    = "cloud-node-controller", "cloud-node-lifecycle-controller"
		route, service = "node-route-controller", "service-lb-controller"
		ipam           = "node-ipam-controller"
	)
	everything := &fakecloud.Cloud{EnableInstancesV2: true}
	nothing := &fakecloud.Cloud{DisableInstances: true, DisableLoadBalancers: true, DisableRoutes: true}
	tests := map[string]struct {
		cloud       cloudprovider.Interface
		controllers []string
		noRoutes    bool
		allocate    bool
		want        []string
		skipped     map[string]string
	}{
		"all": {everything, []string{"*"}, false, true, []string{node, cycle, ipam, route, service},
			map[string]string{}},
		"only one": {everything, []string{service}, false, true, []string{service},
			map[string]string{node: "not in --controllers", cycle: "not in --controllers",
				route: "not in --controllers", ipam: "not in --controllers"}},
		"all but one": {everything, []string{"*", "-" + cycle}, false, true, []string{node, ipam, route, service},
			map[string]string{cycle: "not in --controllers"}},
		"routes turned off": {everything, []string{"*"}, true, false, []string{node, cycle, service},
			map[string]string{route: "--configure-cloud-routes=false", ipam: "--allocate-node-cidrs=false"}},
		"a cloud with nothing": {nothing, []string{"*"}, false, false, nil, map[string]string{
			node: "the cloud has no instances", cycle: "the cloud has no instances",
			route: "the cloud has no routes", service: "the cloud has no load balancers",
			ipam: "--allocate-node-cidrs=false"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
			settings.Generic.Controllers = test.controllers
			settings.KubeCloudShared.ConfigureCloudRoutes = !test.noRoutes
			settings.KubeCloudShared.AllocateNodeCIDRs = test.allocate
			settings.KubeCloudShared.ClusterCIDR = "10.0.0.0/8"
			chosen, skipped, err := choose(table(), adapter.New(test.cloud, ""), settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(chosen))); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.skipped, skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamesInMetrics are the library's, which dashboards use.
func TestNamesInMetrics(t *testing.T) {
	found := map[string]string{}
	for name, row := range table() {
		found[name] = row.metric
	}
	want := map[string]string{
		"cloud-node-controller": "cloud-node", "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
		"service-lb-controller": "service",
		"node-route-controller": "route", "node-ipam-controller": "node-ipam",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("names of controllers in metrics (-want +got):\n%s", diff)
	}
}
