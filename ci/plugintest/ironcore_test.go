package plugintest

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestPluginOnIronCore: no command writes to IronCore, whose API server is that of the cluster here, or to the cluster.
func TestPluginOnIronCore(t *testing.T) {
	const user, network, namespace = "ironcore-user", "nodes", "ironcore"
	r := begin(t)
	access := r.plane.Config()
	_, err := r.cluster.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	r.must(err)
	r.must(ironcorelab.Install(t.Context(), access))
	lab, err := ironcorelab.Start(t.Context(), access, ironcorelab.Options{Namespace: namespace, Network: network,
		Report: func(err error) { t.Log(err) }})
	r.must(err)
	t.Cleanup(lab.Stop)
	r.must(lab.AddNetwork(t.Context()))
	r.must(lab.AddMachine(t.Context(), role.Machine{Name: "worker", Pool: namespace, Zone: "z1", Region: "r1",
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1})}}))
	_, err = chart.Install(t.Context(), access, filepath.Join(repotest.Root(t), "charts", "thalassa-ccm"),
		chart.Release{Name: "permissions", Namespace: namespace, Values: map[string]any{"cloud": "ironcore",
			"part": "cloud", "ironcore": map[string]any{"subject": map[string]any{"kind": "User", "name": user}}}}, nil)
	r.must(err)
	config, err := r.plane.User(user)
	r.must(err)
	file := filepath.Join(t.TempDir(), "ironcore")
	r.must(controlplane.WriteKubeconfig(file, config))
	kubeconfig, err := os.ReadFile(file)
	r.must(err)
	r.inhabit("ironcore://" + namespace + "/worker")
	r.secret = string(config.KeyData)
	r.testMigration(former{user, network, namespace, string(kubeconfig)})
	r.install("kubeconfig", string(kubeconfig), map[string]any{"cloud": "ironcore", "ironcore": map[string]any{
		"networkName": network, "clusterName": "plugin", "namespace": namespace,
		"kubeconfig": map[string]any{"existingSecret": credentials}}})
	r.secret = string(config.KeyData)
	attempts := []attempt{
		{[]string{"plan", "-A", "--exit-code", "-o", "json"}, 2, `"kind": "Plan"`},
		{[]string{"nodes", "-o", "json"}, 1, `"kind": "Nodes"`}, // no kubelet runs
		{[]string{"orphans", "-o", "json"}, 0, `"kind": "Orphans"`},
		{[]string{"top", "--once", "-A", "-o", "json"}, 0, `"kind": "Top"`},
		{[]string{"doctor", "-o", "json", "-v=7"}, 1, `"kind": "Doctor"`}, // no pod runs
		{[]string{"migrate", "-o", "json"}, 1, `"kind": "Migration"`},     // the plan is not empty
	}
	r.wantNoWrites(user, attempts)
	r.wantNoWrites("system:serviceaccount:"+system+":"+operator, attempts)
}
