package managed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	// account is who the program is in the served cluster.
	account = "hosted-ccm"
	// hostAddress is the hosting node's own, where the program listens.
	hostAddress = "127.0.93.1"
	// uninitialized is the taint that a cloud controller manager removes.
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	metricsURL    = "https://" + hostAddress + ":10258/metrics"
)

// TestManagedProfile follows the guide: the served cluster's node is initialised by a program that runs in
// the other cluster, may do nothing there, and shows its metrics to one certificate.
func TestManagedProfile(t *testing.T) {
	hosting, served := hostingCluster(t), servedCluster(t)
	thalassa := cloud.Start(t, emulator.DefaultSeed())
	clients := authority.New(t)

	served.install(t, "kube-system", map[string]any{
		"profile": "managed", "part": "tenant",
		"tenant": map[string]any{"subject": map[string]any{"kind": "ServiceAccount", "name": account,
			"namespace": "kube-system"}},
		"metrics": map[string]any{"readers": []any{map[string]any{"kind": "User", "name": "prometheus"}}},
	})
	machine := served.addNode(t, thalassa, "worker")

	namespace := hosting.makeNamespace(t)
	hosting.makeSecret(t, namespace, "tenant-kubeconfig", served.kubeconfig(t))
	hosting.makeSecret(t, namespace, "cloud", map[string]string{"clientID": emulator.DefaultClientID,
		"clientSecret": emulator.DefaultClientSecret})
	hosting.makeSecret(t, namespace, "clients", map[string]string{"ca.crt": clients.PEM()})
	hosting.startNode(t)
	hosting.install(t, namespace, hostingValues(thalassa))

	controlplanetest.Eventually(t, waitTimeout, "the served cluster's node is initialised",
		func(ctx context.Context) error {
			if err := served.initialised(ctx, machine); err != nil {
				return fmt.Errorf("%w; %s", err, hosting.trouble(ctx, namespace))
			}
			return nil
		})
	t.Run("load balancer", func(t *testing.T) {
		served.wantBalancer(t, thalassa, func() { hosting.wantPlugin(t, namespace) })
	})
	t.Run("lease", func(t *testing.T) { wantLeaseIn(t, served.client, hosting.client) })
	t.Run("permissions", func(t *testing.T) { hosting.wantNoPermissions(t, namespace) })
	t.Run("metrics", func(t *testing.T) { wantMetrics(t, clients, served.token(t)) })
}

func hostingValues(c cloud.Cloud) map[string]any {
	return map[string]any{
		"profile": "managed", "part": "hosting", "replicas": 1, "bindAddress": "$(HOST_IP)",
		"tenant":      map[string]any{"kubeconfig": map[string]any{"existingSecret": "tenant-kubeconfig"}},
		"credentials": map[string]any{"existingSecret": "cloud"},
		"metrics":     map[string]any{"clientCA": map[string]any{"existingSecret": "clients"}},
		"cloudConfig": c.Config("served"),
	}
}

// install installs a part of the chart.
func (c *cluster) install(t *testing.T, namespace string, values map[string]any) {
	t.Helper()
	r := chart.Release{Name: "thalassa-ccm", Namespace: namespace, Values: values}
	dir := checkout.Path(t, "charts/thalassa-ccm")
	if _, err := chart.Install(t.Context(), c.plane.Config(), dir, r, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chart.Uninstall(context.WithoutCancel(t.Context()), c.plane.Config(), r.Name, namespace,
			nil); err != nil {
			t.Error(err)
		}
	})
}

// addNode makes a machine in the cloud, and the Node a kubelet on it would make. It returns the machine's identity.
func (c *cluster) addNode(t *testing.T, thalassa cloud.Cloud, name string) string {
	t.Helper()
	machine, err := thalassa.AddMachine(emulator.MachineSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}
	if _, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// A patch, because Kubernetes' own controllers change a new Node at once.
	ready := []byte(`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
	if _, err := c.client.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, ready,
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	return machine
}

// initialised wants the node to be the machine, and to be without the taint.
func (c *cluster) initialised(ctx context.Context, machine string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, "worker", metav1.GetOptions{})
	if err != nil {
		return err
	}
	// Other taints come and go: no kubelet sends heartbeats for this node.
	tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == uninitialized
	})
	if !strings.HasSuffix(node.Spec.ProviderID, machine) || tainted {
		return fmt.Errorf("provider ID %q, taints %v", node.Spec.ProviderID, node.Spec.Taints)
	}
	return nil
}

// startNode starts a node that runs the program, and initialises it as the hosting cluster's own cloud controller
// manager would.
func (c *cluster) startNode(t *testing.T) {
	t.Helper()
	host.Start(t, c.plane, virtualnode.Options{Name: "host", Address: netip.MustParseAddr(hostAddress)})
	patch := []byte(`{"spec":{"taints":null}}`)
	if _, err := c.client.CoreV1().Nodes().Patch(t.Context(), "host", "application/merge-patch+json", patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// trouble says what the pods are doing, for messages.
func (c *cluster) trouble(ctx context.Context, namespace string) string {
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, pod := range pods.Items {
		said = append(said, fmt.Sprintf("pod %s: %s %v %v", pod.Name, pod.Status.Phase, pod.Status.Conditions,
			pod.Status.ContainerStatuses))
	}
	return strings.Join(said, "; ")
}

// wantLeaseIn wants the lease in the cluster that is served, and none beside the program.
func wantLeaseIn(t *testing.T, served, hosting kubernetes.Interface) {
	t.Helper()
	lease, err := served.CoordinationV1().Leases("kube-system").Get(t.Context(), "cloud-controller-manager",
		metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("lease %v, error %v", lease, err)
	}
	if _, err := hosting.CoordinationV1().Leases("kube-system").Get(t.Context(), "cloud-controller-manager",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a lease in the hosting cluster: error %v, want not found", err)
	}
}

// wantMetrics fails unless exactly one certificate may read the metrics.
func wantMetrics(t *testing.T, clients authority.Authority, token string) {
	t.Helper()
	for name, test := range map[string]struct {
		certificate *tls.Certificate
		token       string
		want        int
	}{
		"the reader's certificate":       {clients.Sign(t, "prometheus"), "", http.StatusOK},
		"another one":                    {clients.Sign(t, "somebody"), "", http.StatusForbidden},
		"one of an authority of its own": {authority.New(t).Sign(t, "prometheus"), "", http.StatusUnauthorized},
		"a token of the served cluster":  {nil, token, http.StatusForbidden},
		"none":                           {nil, "", http.StatusForbidden},
	} {
		status, err := readMetrics(t.Context(), test.certificate, test.token)
		if err != nil || status != test.want {
			t.Errorf("%s: status %d, error %v, want %d", name, status, err, test.want)
		}
	}
}

func readMetrics(ctx context.Context, certificate *tls.Certificate, token string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	config := &tls.Config{InsecureSkipVerify: true}
	if certificate != nil {
		// Also where the server names only authorities that did not sign it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return certificate, nil
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}
