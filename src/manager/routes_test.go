package manager

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/config"
	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
)

// TestClusterCIDROfTheCloud counts when there is no flag; that both say different things is an error at the start.
func TestClusterCIDROfTheCloud(t *testing.T) {
	tests := map[string]struct{ flag, cloud, want string }{
		"neither":  {"", "", "missing --cluster-cidr"},
		"flag":     {"10.244.0.0/16", "", ""},
		"cloud":    {"", "10.244.0.0/16", ""},
		"the same": {"10.244.0.0/16", "10.244.0.0/16", ""},
		"another": {"10.244.0.0/16", "10.0.0.0/8",
			"--cluster-cidr=10.244.0.0/16, and the cloud's configuration says 10.0.0.0/8"},
		"IPv6":       {" fd00::/64 ", "", ""},
		"dual stack": {"10.0.0.0/8, fd00::/64", "", ""},
		"no network": {"", "10.244.0.0/77", "reading --cluster-cidr=10.244.0.0/77"},
		"one family": {"", "10.1.0.0/16,10.2.0.0/16", "give one network, or one IPv4 and one IPv6 network"},
		"three": {"10.0.0.0/9,10.128.0.0/9,fd00::/64", "",
			"give one network, or one IPv4 and one IPv6 network"},
	}
	for name, tt := range tests {
		settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
		settings.KubeCloudShared.ConfigureCloudRoutes, settings.KubeCloudShared.AllocateNodeCIDRs = true, true
		settings.KubeCloudShared.ClusterCIDR = tt.flag
		for _, row := range []string{"node-route-controller", nodeIPAMController} {
			offered := adapter.New(&fakecloud.Cloud{}, "")
			offered.ClusterCIDR = tt.cloud
			err := table()[row].check(offered, settings)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %s: error %v, want %q", name, row, err, tt.want)
			}
		}
	}
}

// TestRoutesAreMade by the controller that the flags request, with any cloud that has routes, within --cluster-cidr.
func TestRoutesAreMade(t *testing.T) {
	provided := &fakecloud.Cloud{RouteMap: map[string]*fakecloud.Route{}}
	client := fake.NewClientset(routed("a", "10.0.0.1", "10.244.1.0/24"))
	settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
	settings.KubeCloudShared.ClusterName, settings.KubeCloudShared.ClusterCIDR = "blue", "10.244.0.0/16"
	works(t, environment{cloud: adapter.New(provided, "blue"), client: client, settings: settings}, newRouteController,
		func(ctx context.Context) error {
			routes, err := provided.ListRoutes(ctx, "blue")
			if err == nil && len(routes) == 0 {
				return notYetError("no route in the cloud")
			}
			return err
		})
}

// TestRoutesToLargeNetworks are made, unless an allocator of our own would not give them: then who is inside gets one.
func TestRoutesToLargeNetworks(t *testing.T) {
	for name, tt := range map[string]struct {
		allocates   bool
		controllers []string
		want        string
	}{
		"no allocator":      {false, []string{"*"}, "10.244.0.0/17"},
		"allocator":         {true, []string{"*"}, "10.244.1.0/24"},
		"another allocator": {true, []string{"*", "-" + nodeIPAMController}, "10.244.0.0/17"},
	} {
		t.Run(name, func(t *testing.T) {
			provided := &fakecloud.Cloud{RouteMap: map[string]*fakecloud.Route{}}
			client := fake.NewClientset(routed("a", "10.0.0.1", "10.244.0.0/17"),
				routed("b", "10.0.0.2", "10.244.1.0/24"))
			settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
			settings.Generic.Controllers = tt.controllers
			shared := &settings.KubeCloudShared
			shared.ClusterName, shared.ClusterCIDR, shared.AllocateNodeCIDRs = "blue", "10.244.0.0/16", tt.allocates
			works(t, environment{cloud: adapter.New(provided, "blue"), client: client, settings: settings},
				newRouteController, func(ctx context.Context) error {
					routes, err := provided.ListRoutes(ctx, "blue")
					switch {
					case err == nil && len(routes) == 0:
						return notYetError("no route in the cloud")
					case len(routes) != 1 || routes[0].DestinationCIDR != tt.want:
						t.Errorf("routes %+v, want one to %s", routes, tt.want)
					}
					return err
				})
		})
	}
}

// routed is a Node with a network and an address.
func routed(name, address, network string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{network}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}
