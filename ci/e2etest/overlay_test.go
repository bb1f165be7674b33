//go:build e2e

package e2etest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// TestOverlay installs the overlay for a self-managed cluster and that of the CSI driver, as people without Helm do.
// Its nodes get the networks of their pods from kube-controller-manager, as kubeadm sets it up, and the routes to them
// from the cloud controller manager.
func TestOverlay(t *testing.T) {
	t.Parallel()
	l := begin(t, cluster.Options{Workers: 2, Networks: cluster.ManagerRoutes, Volumes: true})
	if err := l.GiveCredentials(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.apply(t, overlay.New(t), "self-managed", "\nclusterCIDR: "+cluster.PodCIDR+"\nroutes:\n  enabled: true")
	l.applyDriver(t)
	if err := l.NodesReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.prove(t,
		proof{"every node comes up tainted and is initialised", bootstrap},
		proof{"the program is the image that was imported", imported},
		proof{"pods reach pods on another node by routes of the VPC", podsReachPods},
		proof{"a load balancer reaches pods on both nodes", balance},
		proof{"what Services made is gone with them", nothingLeft},
		proof{"the overlay of the CSI driver gives pods volumes", volumesOfOverlay},
		proof{"nothing of volumes is left", noVolumes},
	)
}

// apply applies an overlay to which the cloud and the cluster are said, and more keys of its configuration.
func (l *lab) apply(t *testing.T, tree overlay.Tree, name, more string) {
	t.Helper()
	tree.Say(t, name, map[string]string{
		"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC,
		"cluster": cluster.Name + "\nendpoint: " + l.Endpoint() + more,
	})
	if output, err := kubectl.New(l.Kubeconfig()).Apply(tree.Build(t, overlay.Dir(name))); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// applyDriver installs the CSI driver in the namespace of its overlay.
func (l *lab) applyDriver(t *testing.T) {
	t.Helper()
	const namespace = "thalassa-system"
	core := l.API().CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	credentials, err := core.Secrets(cluster.Namespace).Get(t.Context(), cluster.Credentials, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	credentials.ObjectMeta = metav1.ObjectMeta{Name: cluster.Credentials}
	if _, err := core.Secrets(namespace).Create(t.Context(), credentials, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tree := overlay.New(t)
	const flag = `"--kubelet-socket=`
	tree.Change(t, "kustomize/base/csi/daemonset.yaml", flag,
		`"--device-directory=`+cluster.DeviceDirectory+"\"\n        - "+flag)
	l.apply(t, tree, "csi", "")
}

// volumesOfOverlay proves that a pod has a volume.
func volumesOfOverlay(t *testing.T, l *lab) {
	t.Helper()
	v := l.claim(t, "data", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.StorageClassName = new(cluster.VolumesClass)
	})
	v.run(t, "writer", "worker-1", appending)
	v.appends(t, "writer")
}
