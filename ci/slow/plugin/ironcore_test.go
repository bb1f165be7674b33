package plugin

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// Names in IronCore, whose API server is that of the cluster here.
const ironUser, ironNetwork, ironNamespace = "ironcore-user", "nodes", "ironcore"

// TestPluginOnIronCore: no command that reads writes to IronCore or to the cluster.
func TestPluginOnIronCore(t *testing.T) {
	r := begin(t)
	kubeconfig := r.startIronCore()
	r.inhabit("ironcore://" + ironNamespace + "/worker")
	r.testMigration(former{
		image: "ghcr.io/ironcore-dev/cloud-provider-ironcore:v0.4.0", command: []string{
			"/ironcore-cloud-controller-manager"},
		args: []string{"--cloud-config=" + formerFiles + "/cloudprovider.conf", "--cluster-name=plugin",
			"--ironcore-kubeconfig=" + formerFiles + "/kubeconfig", "--configure-cloud-routes=false"},
		files: map[string]string{"kubeconfig": r.withNamespace(kubeconfig),
			"cloudprovider.conf": "networkName: " + ironNetwork + "\nclusterName: plugin\n"},
		changing: "  ~ update LoadBalancer ", users: []string{ironUser},
	})
	r.install("kubeconfig", kubeconfig, map[string]any{"cloud": "ironcore", "ironcore": map[string]any{
		"networkName": ironNetwork, "clusterName": "plugin", "namespace": ironNamespace,
		"kubeconfig": map[string]any{"existingSecret": credentials}}})
	r.wantNoWrites([]attempt{
		{[]string{"plan", "-A", "--exit-code", "-o", "json"}, 2, `"kind": "Plan"`},
		{[]string{"nodes", "-o", "json"}, 1, `"kind": "Nodes"`}, // no kubelet runs
		{[]string{"orphans", "-o", "json"}, 0, `"kind": "Orphans"`},
		{[]string{"top", "--once", "-A", "-o", "json"}, 0, `"kind": "Top"`},
		{[]string{"doctor", "-o", "json", "-v=7"}, 1, `"kind": "Doctor"`}, // no pod runs
		{[]string{"migrate", "-o", "json"}, 1, `"kind": "Migration"`},     // the plan is not empty
	}, ironUser, person)
	r.addOrphan()
	name := ironNamespace + "/" + strings.ReplaceAll(orphanUID, "-", "")
	// IronCore's garbage collection deletes the routing. It does not run here.
	r.testDeletion([]string{ironUser, person}, "delete loadbalancers "+name, "delete loadbalancerroutings "+name)
}

// startIronCore starts IronCore with the machine worker, and returns the kubeconfig of its user, whose permissions are
// those of the chart.
func (r *rig) startIronCore() (kubeconfig string) {
	r.Helper()
	access := r.plane.Config()
	_, err := r.cluster.CoreV1().Namespaces().Create(r.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: ironNamespace}}, metav1.CreateOptions{})
	r.must(err)
	r.must(ironcorelab.Serve(r.Context(), r.plane, ""))
	lab, err := ironcorelab.Start(r.Context(), access, ironcorelab.Options{Namespace: ironNamespace,
		Network: ironNetwork, Report: func(err error) { r.Log(err) }})
	r.must(err)
	r.Cleanup(lab.Stop)
	r.must(lab.AddNetwork(r.Context()))
	r.must(lab.AddMachine(r.Context(), role.Machine{Name: "worker", Pool: ironNamespace, Zone: "z1", Region: "r1",
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1})}}))
	_, err = chart.Install(r.Context(), access, checkout.Path(r, "charts/thalassa-ccm"),
		chart.Release{Name: "permissions", Namespace: ironNamespace, Values: map[string]any{"cloud": "ironcore",
			"part": "cloud", "ironcore": map[string]any{"subject": map[string]any{"kind": "User",
				"name": ironUser}}}}, nil)
	r.must(err)
	api, err := client.New(access, ironNamespace)
	r.must(err)
	r.plant = func(s *corev1.Service) { r.apply(api, s) }
	r.objects = func() (names []string) {
		all, err := api.LoadBalancers.List(r.Context(), metav1.ListOptions{})
		r.must(err)
		for _, one := range all.Items {
			names = append(names, one.Name)
		}
		slices.Sort(names)
		return names
	}
	config, err := r.plane.User(ironUser)
	r.must(err)
	r.secret = string(config.KeyData)
	file := filepath.Join(r.TempDir(), "ironcore")
	r.must(controlplane.WriteKubeconfig(file, config))
	text, err := os.ReadFile(file)
	r.must(err)
	return string(text)
}

// withNamespace sets the namespace of a kubeconfig, which names the objects of the cluster in IronCore.
func (r *rig) withNamespace(kubeconfig string) string {
	r.Helper()
	config, err := clientcmd.Load([]byte(kubeconfig))
	r.must(err)
	config.Contexts[config.CurrentContext].Namespace = ironNamespace
	text, err := clientcmd.Write(*config)
	r.must(err)
	return string(text)
}

// apply applies the load balancer of a Service as the existing program does, with its default, a selector.
func (r *rig) apply(api *client.Client, s *corev1.Service) {
	r.Helper()
	name, protocol := strings.ReplaceAll(string(s.UID), "-", ""), corev1.ProtocolTCP
	data, err := json.Marshal(&networkingv1alpha1.LoadBalancer{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1alpha1.SchemeGroupVersion.String(), Kind: "LoadBalancer"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ironNamespace, Name: name, Annotations: map[string]string{
			"cluster-name": "plugin", "service-name": s.Name, "service-namespace": s.Namespace,
			"service-uid": string(s.UID)}},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: s.Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: ironNetwork},
			Ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80, Protocol: &protocol}},
			NetworkInterfaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/cluster": "plugin"}}},
	})
	r.must(err)
	force := true
	_, err = api.LoadBalancers.Patch(r.Context(), name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: "cloud-provider.ironcore.dev/loadbalancer", Force: &force})
	r.must(err)
	r.must(poll.Limits{Every: 50 * time.Millisecond, For: time.Minute}.Until(r.Context(),
		"IronCore has written the routing of the load balancer", func(ctx context.Context) error {
			_, err := api.LoadBalancerRoutings.Get(ctx, name, metav1.GetOptions{})
			return err
		}))
}
