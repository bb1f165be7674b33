//go:build e2e

package e2etest

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// TestOverlay installs the overlay for a self-managed cluster, as people without Helm do. Its nodes get the networks of
// their pods from kube-controller-manager, as kubeadm sets it up, and the routes to them from the cloud controller
// manager.
func TestOverlay(t *testing.T) {
	l := begin(t, cluster.Options{Workers: 2, Networks: cluster.ManagerRoutes})
	if err := l.GiveCredentials(t.Context()); err != nil {
		t.Fatal(err)
	}
	tree := overlay.New(t)
	tree.Say(t, "self-managed", map[string]string{
		"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC,
		"cluster": cluster.Name + "\nendpoint: " + l.Endpoint() + "\nclusterCIDR: " + cluster.PodCIDR +
			"\nroutes:\n  enabled: true",
	})
	if output, err := kubectl.New(l.Kubeconfig()).Apply(tree.Build(t, overlay.Dir("self-managed"))); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := l.NodesReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.prove(t,
		proof{"every node comes up tainted and is initialised", bootstrap},
		proof{"the program is the image that was imported", imported},
		proof{"pods reach pods on another node by routes of the VPC", podsReachPods},
		proof{"a load balancer reaches pods on both nodes", balance},
		proof{"what Services made is gone with them", nothingLeft},
	)
}
