//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/fixture"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

const (
	// nextTag is another name of the image: with it, an upgrade replaces the pods also where both charts name the same
	// one.
	nextTag = "next"
	// finalizer holds a Service until its load balancer is deleted.
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
)

// TestUpgrade installs the old chart (package fixture), upgrades it to that of today, and removes it. Images of before
// cannot be pulled here: what both charts run is the program of today, as where the image is upgraded before the chart.
// The old release leaves the routes to the cluster, and that of today makes them.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	today, err := chart.Load(checkout.Path(t, "charts/thalassa-ccm"))
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, cluster.Options{
		Workers: 2, Networks: cluster.OwnNetworks, Chart: filepath.Join(fixture.OldCharts(t), cluster.Release),
		Values: map[string]any{"image": map[string]any{"tag": today.AppVersion()},
			"useServiceAccountCredentials": map[string]any{"enabled": true},
			// The program of today refuses this key, which no release has had.
			"cloudConfig": map[string]any{"loadBalancer": map[string]any{"nodeSecurityGroup": nil}}},
	})
	l.prove(t,
		proof{"a chart of before is upgraded, and no request fails", upgraded},
		proof{"uninstalled after its Services, nothing of them is left", uninstalled},
		proof{"uninstalled before its Services, they serve, and say what is left", uninstalledTooSoon},
	)
}

// today is the chart in charts with the values of the cluster, and the image under its other name. The program makes
// the routes from now on, and does all work under its own account.
func (l *lab) today() (folder string, release chart.Release) {
	old := l.Values()
	if cloudConfig, is := old["cloudConfig"].(map[string]any); is {
		delete(cloudConfig["loadBalancer"].(map[string]any), "nodeSecurityGroup")
	}
	values := chartutil.MergeTables(map[string]any{
		"image":                        map[string]any{"tag": nextTag},
		"useServiceAccountCredentials": map[string]any{"enabled": false},
		"cloudConfig": map[string]any{"clusterCIDR": cluster.PodCIDR,
			"routes": map[string]any{"enabled": true}},
	}, old)
	return filepath.Join(l.root, "charts", "thalassa-ccm"), chart.Release{Name: cluster.Release,
		Namespace: cluster.Namespace, Values: values}
}

// rename makes the image known to all nodes under its other name.
func (l *lab) rename(t *testing.T) {
	t.Helper()
	built, err := tarball.ImageFromPath(l.archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	manager, path := image.Programs()[0], filepath.Join(t.TempDir(), "next.tar")
	if err := image.WriteArchive(path, image.Registry+"/"+manager.Repository+":"+nextTag, built); err != nil {
		t.Fatal(err)
	}
	if _, err := (cluster.Remote{Folder: l.Dir()}).LoadImage(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

// upgraded proves that a release of the old chart becomes one of today's while it serves: no request fails, nothing in
// the cloud or in the kernel of the router is lost, and it works afterwards.
func upgraded(t *testing.T, l *lab) {
	t.Helper()
	l.rename(t)
	l.dropRoutes(t, cluster.ControlPlane)
	l.wantRoutes(t, "worker-1", "worker-2")
	lost := l.watchRoutes(t)
	namespace, address, d := l.webUnderLoad(t)
	old, before, roles := l.manager(t), l.snapshot(t), l.roles(t)

	folder, release := l.today()
	notes, err := chart.Upgrade(t.Context(), l.Config(), folder, release, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes, "Before you uninstall, delete the Services of type LoadBalancer") {
		t.Errorf("nothing is said about uninstalling:\n%s", notes)
	}
	l.runsNext(t, old)
	d.serves(t)
	l.wantRoutes(t, cluster.ControlPlane, "worker-1", "worker-2")
	l.awaitWeb(t, address, "worker-1", "worker-2")
	l.talk(t, namespace, "worker-1", "worker-2")
	l.talk(t, namespace, "worker-2", "worker-1")
	l.oldRolesGone(t, roles)
	if diff := cmp.Diff(before, l.snapshot(t)); diff != "" {
		t.Errorf("nodes and load balancers are others now, -before +after:\n%s", diff)
	}
	l.awaitWeb(t, l.expose(t, namespace, portHTTP, named("another")), "worker-1", "worker-2")
	d.finish(t)
	for _, route := range lost() {
		t.Errorf("for a moment the router had not: %s", route)
	}
}

// runsNext waits until the old pod is gone, and another one runs the image under its other name.
func (l *lab) runsNext(t *testing.T, old *corev1.Pod) {
	t.Helper()
	eventually(t, "a new pod is ready", func(ctx context.Context) error {
		pods, err := l.API().CoreV1().Pods(cluster.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: selectManager})
		if err != nil || len(pods.Items) != 1 {
			return errors.Join(err, fmt.Errorf("there are %d pods", len(pods.Items)))
		}
		pod := &pods.Items[0]
		if old != nil && pod.UID == old.UID || !podReady(pod) || !strings.HasSuffix(pod.Spec.Containers[0].Image,
			":"+nextTag) {
			return fmt.Errorf("pod %s runs %s, phase %s", pod.Name, pod.Spec.Containers[0].Image, pod.Status.Phase)
		}
		return nil
	})
}

// uninstall removes the release, and waits until nothing of it runs.
func (l *lab) uninstall(t *testing.T) {
	t.Helper()
	if err := chart.Uninstall(t.Context(), l.Config(), cluster.Release, cluster.Namespace, nil); err != nil {
		t.Fatal(err)
	}
	l.managers(t, 0)
}

// again installs the release anew.
func (l *lab) again(t *testing.T) {
	t.Helper()
	folder, release := l.today()
	if _, err := chart.Install(t.Context(), l.Config(), folder, release, nil); err != nil {
		t.Fatal(err)
	}
	l.runsNext(t, nil)
}

// uninstalled comes when the Services of all proofs before have been deleted.
func uninstalled(t *testing.T, l *lab) {
	t.Helper()
	nothingLeft(t, l)
	l.uninstall(t)
	state := l.Cloud().State()
	if len(state.LoadBalancers)+len(state.TargetGroups) > 0 {
		t.Errorf("the cloud has %d load balancers and %d target groups", len(state.LoadBalancers),
			len(state.TargetGroups))
	}
	if roles := l.roles(t); len(roles) > 0 {
		t.Errorf("of the permissions are left %q", roles)
	}
	l.wantRoutes(t, cluster.ControlPlane, "worker-1", "worker-2") // pods go on without it
	l.again(t)
}

// uninstalledTooSoon proves that nothing breaks when Services are left when the chart is uninstalled: the load balancer
// serves, the finalizer and the status say what is left, and installing it again finishes what was begun.
func uninstalledTooSoon(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1")
	name := l.createService(t, namespace, portHTTP, named("remaining"))
	address := l.addressOf(t, namespace, name)
	l.awaitWeb(t, address, "worker-1")
	l.uninstall(t)
	l.awaitWeb(t, address, "worker-1")
	services := l.API().CoreV1().Services(namespace)
	if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := services.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || left.DeletionTimestamp == nil || !slices.Contains(left.Finalizers, finalizer) {
		t.Fatalf("the Service is gone without its load balancer: %v, finalizers %v", err, left.Finalizers)
	}
	if len(left.Status.LoadBalancer.Ingress) == 0 || left.Status.LoadBalancer.Ingress[0].IP != address.String() {
		t.Errorf("the Service does not say which load balancer is left: %+v", left.Status.LoadBalancer)
	}
	if state := l.Cloud().State(); len(state.LoadBalancers) != 1 {
		t.Errorf("the cloud has %d load balancers, want the one that is left", len(state.LoadBalancers))
	}
	if l.noBalancerAddress(t.Context()) == nil {
		t.Error("the router has no address of the load balancer that is left")
	}
	l.awaitWeb(t, address, "worker-1")
	l.again(t)
	nothingLeft(t, l)
}
