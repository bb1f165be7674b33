package manager

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/config"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

func TestFlagsOfNetworks(t *testing.T) {
	tests := map[string]struct {
		flags   []string
		skipped bool
		want    string // of the error; "" for none
	}{
		"off": {[]string{"--cluster-cidr=10.0.0.0/8"}, true, ""},
		"on":  {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8"}, false, ""},
		"both families": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8,fd00::/48",
			"--node-cidr-mask-size-ipv4=25", "--node-cidr-mask-size-ipv6=60"}, false, ""},
		"one size for IPv6": {[]string{"--allocate-node-cidrs", "--cluster-cidr=fd00::/56",
			"--node-cidr-mask-size=72"}, false, ""},
		"no network": {[]string{"--allocate-node-cidrs"}, false,
			"missing --cluster-cidr: --allocate-node-cidrs gives Nodes networks from it"},
		"does not fit": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/25"}, false,
			"--node-cidr-mask-size-ipv4=24 does not fit into 10.0.0.0/25"},
		"one size, two families": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8,fd00::/48",
			"--node-cidr-mask-size=25"}, false, "is for a cluster of one family"},
		"with Services": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8",
			"--service-cluster-ip-range=10.96.0.0/12,fd00:1::/112"}, false, ""},
		"Services unreadable": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8",
			"--service-cluster-ip-range=10.96.0.0"}, false, "reading --service-cluster-ip-range=10.96.0.0"},
		"shortest, negative": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8",
			"--shortest-node-cidr-mask-size-ipv4=-1"}, false,
			"--shortest-node-cidr-mask-size-ipv4 and -ipv6 are lengths"},
		"given by the cloud": {[]string{"--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8",
			"--cidr-allocator-type=CloudAllocator"}, false, "--cidr-allocator-type=CloudAllocator is not supported"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := newSettings(testBuild, nil)
			if err != nil {
				t.Fatal(err)
			}
			sections := s.flags("test")
			for _, section := range []string{"generic", nodeIPAMController} {
				flags := sections.FlagSet(section)
				var own []string
				for _, flag := range tt.flags {
					if name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "="); flags.Lookup(name) != nil {
						own = append(own, flag)
					}
				}
				if err := flags.Parse(own); err != nil {
					t.Fatal(err)
				}
			}
			settings := configuration{&config.CloudControllerManagerConfiguration{}, s.masks}
			if err := s.KubeCloudShared.ApplyTo(&settings.KubeCloudShared); err != nil {
				t.Fatal(err)
			}
			err = table()[nodeIPAMController].check(&cloud.Cloud{}, settings)
			_, skipped := errors.AsType[skipError](err)
			switch {
			case skipped != tt.skipped, !skipped && (err == nil) != (tt.want == ""):
				t.Errorf("error %v, want %q", err, tt.want)
			case tt.want != "" && !strings.Contains(err.Error(), tt.want):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNetworksAreGiven by the controller that the flags request, of the size that the Node requests in the cloud's
// domain. In the first, Services have all but one of them.
func TestNetworksAreGiven(t *testing.T) {
	small := defaultMasks()
	small.services =
		"10.244.128.0/17,10.244.64.0/18,10.244.32.0/19,10.244.16.0/20,10.244.8.0/21," +
			"10.244.4.0/22,10.244.2.0/23,10.244.1.0/24,10.244.0.128/25,10.244.0.64/26"
	large := defaultMasks()
	large.shortest.IPv4, large.services = 17, "10.244.128.0/17"
	givesNetwork(t, small, "26", "10.244.0.0/26")
	givesNetwork(t, large, "17", "10.244.0.0/17")
}

// givesNetwork fails if a Node that requests a network of that size does not get the one that is wanted.
func givesNetwork(t *testing.T, chosen masks, bits, want string) {
	t.Helper()
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a",
		Labels: map[string]string{"k8s.example.com/node-cidr-mask-size-ipv4": bits}}})
	settings := configuration{&config.CloudControllerManagerConfiguration{}, chosen}
	settings.KubeCloudShared.ClusterCIDR = "10.244.0.0/16"
	works(t, environment{cloud: &cloud.Cloud{LabelDomain: "k8s.example.com"}, client: client, settings: settings},
		newIPAMController, func(ctx context.Context) error {
			node, err := client.CoreV1().Nodes().Get(ctx, "a", metav1.GetOptions{})
			if err == nil && node.Spec.PodCIDR != want {
				return notYetError("the Node has " + node.Spec.PodCIDR)
			}
			return err
		})
}
