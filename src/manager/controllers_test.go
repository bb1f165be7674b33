package manager

import (
	"errors"
	"maps"
	"slices"
	"strings"
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
		skipped     map[string]skipError
	}{
		"all": {everything, []string{"*"}, false, true, []string{node, cycle, ipam, route, service},
			map[string]skipError{}},
		"only one": {everything, []string{service}, false, true, []string{service},
			map[string]skipError{node: "not in --controllers", cycle: "not in --controllers",
				route: "not in --controllers", ipam: "not in --controllers"}},
		"all but one": {everything, []string{"*", "-" + cycle}, false, true, []string{node, ipam, route, service},
			map[string]skipError{cycle: "not in --controllers"}},
		"routes turned off": {everything, []string{"*"}, true, false, []string{node, cycle, service},
			map[string]skipError{route: "--configure-cloud-routes=false", ipam: "--allocate-node-cidrs=false"}},
		"a cloud with nothing": {nothing, []string{"*"}, false, false, nil, map[string]skipError{
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

func TestChoiceFailsEarly(t *testing.T) {
	settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
	settings.Generic.Controllers = []string{"*"}
	settings.KubeCloudShared.ConfigureCloudRoutes = true
	_, _, err := choose(table(), adapter.New(&fakecloud.Cloud{}, ""), settings)
	if err == nil || !strings.Contains(err.Error(), "checking node-route-controller: missing --cluster-cidr") {
		t.Errorf("choose returned %v, want an error about --cluster-cidr", err)
	}
	if reason, ok := errors.AsType[skipError](err); ok {
		t.Errorf("a mistake counts as a skip: %q", reason)
	}
}

func TestClusterCIDR(t *testing.T) {
	tests := map[string]struct {
		list    string
		want    []string
		wantErr string
	}{
		"IPv4":       {"10.0.0.0/8", []string{"10.0.0.0/8"}, ""},
		"IPv6":       {" fd00::/64 ", []string{"fd00::/64"}, ""},
		"dual stack": {"10.0.0.0/8,fd00::/64", []string{"10.0.0.0/8", "fd00::/64"}, ""},
		"empty":      {" ", nil, "missing --cluster-cidr: set it"},
		"no network": {"10.0.0.0", nil, "reading --cluster-cidr=10.0.0.0:"},
		"one family": {"10.0.0.0/9,10.128.0.0/9", nil, "give one network, or one IPv4 and one IPv6 network"},
		"three of two": {"10.0.0.0/9,10.128.0.0/9,fd00::/64", nil,
			"give one network, or one IPv4 and one IPv6 network"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cidrs, err := parseClusterCIDR(test.list, "set it")
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("error %v, want one with %q", err, test.wantErr)
				}
				return
			}
			var got []string
			for _, cidr := range cidrs {
				got = append(got, cidr.String())
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q and error %v, want %q", got, err, test.want)
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
