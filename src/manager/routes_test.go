package manager

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/config"
	fakecloud "k8s.io/cloud-provider/fake"
)

// configured is a cloud whose configuration says which networks pods have.
type configured struct {
	*fakecloud.Cloud
	cidr string
}

func (c configured) ClusterCIDR() string { return c.cidr }

// TestClusterCIDROfTheCloud counts when there is no flag; that both say different things is an error at the start.
func TestClusterCIDROfTheCloud(t *testing.T) {
	tests := map[string]struct{ flag, cloud, want string }{
		"neither":       {"", "", "missing --cluster-cidr"},
		"flag":          {"10.244.0.0/16", "", ""},
		"cloud":         {"", "10.244.0.0/16", ""},
		"the same":      {"10.244.0.0/16", "10.244.0.0/16", ""},
		"another":       {"10.244.0.0/16", "10.0.0.0/8", "--cluster-cidr=10.244.0.0/16, and the cloud's configuration says 10.0.0.0/8"},
		"no network":    {"", "10.244.0.0/77", "reading --cluster-cidr=10.244.0.0/77"},
		"three of them": {"", "10.1.0.0/16,10.2.0.0/16", "give one network, or one IPv4 and one IPv6 network"},
	}
	for name, tt := range tests {
		settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
		settings.KubeCloudShared.ConfigureCloudRoutes, settings.KubeCloudShared.AllocateNodeCIDRs = true, true
		settings.KubeCloudShared.ClusterCIDR = tt.flag
		for _, row := range []string{"node-route-controller", nodeIPAMController} {
			err := table()[row].check(configured{&fakecloud.Cloud{}, tt.cloud}, settings)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %s: error %v, want %q", name, row, err, tt.want)
			}
		}
	}
}

// TestRoutesAreMade by the controller that the flags ask for, with any cloud that has routes, within --cluster-cidr.
func TestRoutesAreMade(t *testing.T) {
	cloud := &fakecloud.Cloud{RouteMap: map[string]*fakecloud.Route{}}
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
	})
	settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
	settings.KubeCloudShared.ClusterName, settings.KubeCloudShared.ClusterCIDR = "blue", "10.244.0.0/16"
	works(t, environment{cloud: cloud, client: client, settings: settings}, newRouteController, func(ctx context.Context) error {
		routes, err := cloud.ListRoutes(ctx, "blue")
		if err == nil && len(routes) == 0 {
			return notYetError("no route in the cloud")
		}
		return err
	})
}
