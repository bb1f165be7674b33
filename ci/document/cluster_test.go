package document_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// values are what this machine needs in addition to the documented installation: the cloud is emulated, and all nodes
// share this machine. The rest are the optional parts that documents name.
const values = `bindAddress: $(HOST_IP)
cloudConfig:
  endpoint: %s
  loadBalancer: {creationPollInterval: 1}
  clusterCIDR: 10.244.0.0/16
  routes: {enabled: true}
metrics:
  readers: [{kind: User, name: prometheus}]
`

// install makes the world one with a cloud, nodes, and the chart, installed as its README says.
func (w *world) install(t *testing.T, readme string) {
	t.Helper()
	plane, err := loopback.New(loopback.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := cloud.Run(t, emulator.Config{Seed: seed(t, plane.Network()), DataPlane: plane})
	w.startNodes(t, c, plane.Network())
	w.write(t, "world.yaml", fmt.Sprintf(values, c.URL))
	w.before = `helm() { if [[ $1 == install ]]; then command helm "$@" --values world.yaml; else command helm "$@"; fi; }
TOKEN=$(command kubectl create token default)
`
	w.run(t, readme, page{want: []string{"STATUS: deployed"}})
	eventually(t, "the nodes are initialised", w.nodesInitialised)
	w.run(t, "", page{before: `kubectl apply -f examples/web.yaml
kubectl wait --for=condition=LoadBalancerProvisioned service/web --timeout=1m
kubectl rollout status deployment/web
curl --retry 30 --retry-all-errors --retry-delay 1 "http://$(kubectl get service web --output \
  jsonpath='{.status.loadBalancer.ingress[0].ip}')"`})
}

// seed has what documents and examples name.
func seed(t *testing.T, network netip.Prefix) emulator.Seed {
	t.Helper()
	seed, err := emulator.LoopbackSeed(network)
	if err != nil {
		t.Fatal(err)
	}
	owner := &seed.Organisations[0]
	owner.Slug, owner.VPCs[0].Identity = "my-organisation", "vpc-0123456789"
	owner.ReservedIPs = []emulator.ReservedIPSeed{{Name: "shop", Region: emulator.DefaultRegion}}
	return seed
}

// startNodes starts a node of the control plane and a worker, and registers a Node whose machine the cloud does not
// have.
func (w *world) startNodes(t *testing.T, c cloud.Cloud, network netip.Prefix) {
	t.Helper()
	nodes, err := virtualnode.NewNetwork(w.plane.Config(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	images := map[string]virtualnode.Image{
		host.Image: virtualnode.Program(host.Program(t), "kubeconfig", "authentication-kubeconfig",
			"authorization-kubeconfig"),
		"ghcr.io/thalassa-cloud/thalassa-ccm/web":        virtualnode.WebServer(),
		"ghcr.io/thalassa-cloud/thalassa-ccm/csi-driver": virtualnode.Program("/bin/sh"), // see wanting
	}
	for number, name := range []string{"control-plane", "worker-1"} {
		address := last(network, byte(number+1))
		if _, err := c.AddMachine(emulator.MachineSpec{Name: name, Addresses: []netip.Addr{address}}); err != nil {
			t.Fatal(err)
		}
		node, err := virtualnode.Start(t.Context(), virtualnode.Options{Network: nodes, Name: name, Address: address,
			ControlPlane: number == 0, Images: images, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), waitTimeout) // the test's own has ended
			defer cancel()
			if err := node.Remove(ctx); err != nil {
				t.Error(err)
			}
		})
		serveLogs(t, w.api, node)
	}
	_, err = w.api.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-7"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized",
			Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// nodesInitialised wants the nodes to be known by the cloud controller manager, with their routes.
func (w *world) nodesInitialised(ctx context.Context) error {
	for _, name := range []string{"control-plane", "worker-1"} {
		node, err := w.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key != "node-role.kubernetes.io/control-plane" {
				return fmt.Errorf("%s has the taint %s: %w", name, taint.Key, errNotYet)
			}
		}
		if node.Spec.ProviderID == "" {
			return fmt.Errorf("%s has no provider ID: %w", name, errNotYet)
		}
	}
	return nil
}
