package main

import (
	"context"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// Names in IronCore.
const ironNamespace, ironNetwork = "shoot", "nodes"

// ironRig is a rig whose cloud is IronCore.
type ironRig struct {
	*rig
	iron *simulator.Simulator
}

// newIronRig returns a cluster with the Nodes a and b, whose machines exist in IronCore, and the workload
// kube-system/thalassa-ccm.
func newIronRig(t *testing.T) *ironRig {
	t.Helper()
	iron := simulator.New(simulator.Options{Namespace: ironNamespace, Network: ironNetwork})
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "ironcore.invalid"})
	proxy.Transport, proxy.FlushInterval = iron.Config().Transport, -1
	r := &ironRig{rig: &rig{T: t, build: build.Info{Version: "0.1.0"}}, iron: iron}
	r.serve(proxy)
	t.Cleanup(func() { r.server.CloseClientConnections(); r.server.Close() })
	r.config = func() string { return "networkName: " + ironNetwork + "\nclusterName: blue\n" }
	r.cluster = fake.NewClientset(append(r.workload(), systemNamespace())...)
	r.changeContainer(func(c *corev1.Container) {
		c.Args = append(c.Args, "--cloud-provider=ironcore", "--configure-cloud-routes=false",
			"--ironcore-kubeconfig=/etc/thalassa-ccm/credentials/kubeconfig")
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "thalassa-credentials"},
		Data: map[string][]byte{"kubeconfig": []byte(r.ironKubeconfig())}}
	_, err := r.cluster.CoreV1().Secrets("kube-system").Update(t.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		address := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		iron.AddMachine(simulator.Machine{Name: name, Addresses: []netip.Addr{address}})
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.NodeSpec{ProviderID: providerid.Of(ironNamespace, name)}}
		if _, err := r.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.wrote()
	return r
}

// ironKubeconfig is the kubeconfig of IronCore, with a secret.
func (r *ironRig) ironKubeconfig() string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: i\nclusters: [{name: i, cluster: {server: '" + r.server.URL +
		"'}}]\ncontexts: [{name: i, context: {cluster: i, user: i, namespace: " + ironNamespace +
		"}}]\nusers: [{name: i, user: {token: " + token + "}}]\n"
}

// changeContainer changes the container of the cloud controller manager.
func (r *rig) changeContainer(change func(*corev1.Container)) {
	r.Helper()
	deployments := r.cluster.AppsV1().Deployments("kube-system")
	one, err := deployments.Get(r.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(&one.Spec.Template.Spec.Containers[0])
	if _, err := deployments.Update(r.Context(), one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// addService adds a Service of one IP family.
func (r *ironRig) addService(name string) *corev1.Service {
	r.Helper()
	return r.rig.addService(name, func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	})
}

// reconcile runs the service controller until all Services have an address.
func (r *ironRig) reconcile() {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), time.Minute)
	defer stop()
	options := ironcore.NewOptions("test")
	flags := pflag.NewFlagSet("ironcore", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Set("ironcore-kubeconfig", r.file(r.ironKubeconfig())); err != nil {
		r.Fatal(err)
	}
	made, err := options.New(ctx, cloud.Options{ConfigFile: r.file(r.config()), ClusterName: "blue"})
	if err != nil {
		r.Fatal(err)
	}
	if err := made.Observe(ctx); err != nil {
		r.Fatal(err)
	}
	r.reconcileIn(ctx, stop, made)
}

// wrote returns the writes to IronCore and to Kubernetes since the last call.
func (r *ironRig) wrote() []string {
	writes := r.iron.Writes()
	r.iron.ForgetRequests()
	return append(writes, r.wroteToCluster()...)
}

// TestPlanOnIronCore: the plan is shown, is empty afterwards, and nothing is written.
func TestPlanOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.addService("web")
	r.wrote()
	wantText(r.rig, "the plan", r.run("plan").out, "Service shop/web", "  + create ")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
	r.reconcile()
	want(r.rig, "afterwards", r.run("plan").out, "No changes: the cloud agrees with 1 Service.\n")
}

// TestOrphansOnIronCore: orphans are shown and deleted.
func TestOrphansOnIronCore(t *testing.T) {
	r := newIronRig(t)
	for _, name := range []string{"a", "b", "old"} {
		r.addService(name)
	}
	r.reconcile()
	r.deleteService("old")
	r.wrote()
	wantText(r.rig, "the table", r.run("orphans").out, "shop/old", uidOld, "1 LoadBalancer")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
	got := r.run("orphans", "delete", "--all", "--yes")
	wantText(r.rig, "the log of writes", got.err, `"Cloud write" request="delete loadbalancers`, "delete LoadBalancer")
	wantText(r.rig, "the result", got.out, "shop/old ("+uidOld+"): deleted", "Deleted 1 of 1 orphan.")
	for _, write := range r.wrote() {
		want(r.rig, "deletes: "+write, strings.HasPrefix(write, "delete "), true)
	}
	wantText(r.rig, "afterwards", r.run("orphans").out, "Every object of this cluster")
}

// TestOutsideOfTheClusterOnIronCore: with a configuration of this computer, no command needs a flag about routes. One
// that is given counts.
func TestOutsideOfTheClusterOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.addService("web")
	r.reconcile()
	r.healthy(everything)
	r.removeOwn()
	outside := []string{"--cloud-config=" + r.file(r.config()), "--ccm-flag=cloud-provider=ironcore",
		"--ccm-flag=ironcore-kubeconfig=" + r.file(r.ironKubeconfig())}
	for command, text := range map[string]string{"plan": "No changes: the cloud agrees with 1 Service.",
		"doctor": "node-route-controller: With the flags of this command: It does not run: " +
			"--configure-cloud-routes=false.",
		"orphans": "Every object of this cluster", "nodes": "2 Nodes", "top": "shop/web", "migrate": "Ready"} {
		got := r.run(append([]string{command}, outside...)...)
		want(r.rig, command+": exit code", got.code, 0)
		wantText(r.rig, command, got.out, text)
	}
	with := r.run(append([]string{"plan", "--ccm-flag=configure-cloud-routes"}, outside...)...)
	wantText(r.rig, "routes without networks", with.err, "missing --cluster-cidr")
}

// TestTopOnIronCore: load balancers are shown with their targets.
func TestTopOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.addService("web")
	r.reconcile()
	r.wrote()
	wantText(r.rig, "the result", r.run("top").out, "1 load balancer", "Calls are not known: no pod "+
		"of", "shop/web", "80/TCP")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
}

// TestMigrateOnIronCore: what the existing program left needs no change. It has no --cloud-provider, because its
// executable has that default.
func TestMigrateOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.removeOwn()
	r.addFormer(corev1.Container{Name: "ccm", Image: "ghcr.io/ironcore-dev/cloud-provider-ironcore:v0.4.0",
		Command: []string{"/ironcore-cloud-controller-manager"},
		Args: []string{"--cloud-config=/etc/config/cloudprovider.conf", "--cluster-name=blue",
			"--ironcore-kubeconfig=/etc/config/kubeconfig"},
	}, map[string]string{"cloudprovider.conf": r.config(), "kubeconfig": r.ironKubeconfig()})
	r.plant(r.addService("web"))
	r.wrote()
	wantText(r.rig, "a flag that is needed here", r.run("migrate").out, "Problem      configuration: "+
		"", "--configure-cloud-routes")
	got := r.run("migrate", "--ccm-flag=configure-cloud-routes=false")
	wantText(r.rig, "the checks", got.out, "existing: The existing Deployment kube-system/cloud-controller-manager "+
		"runs",
		"configuration: /etc/config/cloudprovider.conf of the existing program is valid.",
		"plan: Nothing would change in the cloud for 1 Service.", "Ready")
	want(r.rig, "exit code", got.code, 0)
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
}
