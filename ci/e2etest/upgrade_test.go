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

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/released"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const (
	// nextTag is another name of the image: with it, an upgrade replaces the pods also where both charts name the same one.
	nextTag = "next"
	// finalizer holds a Service until its load balancer is deleted.
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
)

// TestUpgrade installs a released chart, upgrades it to that of today, and removes it. Images of before cannot be pulled here: what both
// charts run is the program of today. The cluster makes its own routes, as charts of before know none.
func TestUpgrade(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	today, err := chart.Load(filepath.Join(root, "charts", "thalassa-ccm"))
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, cluster.Options{
		Workers: 1, Networks: cluster.OwnNetworks, Chart: previous(t, root, today),
		Values: map[string]any{"image": map[string]any{"tag": today.AppVersion()}},
	})
	l.prove(t,
		proof{"a chart of before is upgraded, and nobody notices", upgraded},
		proof{"uninstalled after its Services, nothing of them is left", uninstalled},
		proof{"uninstalled before its Services, they serve, and say what is left", uninstalledTooSoon},
	)
}

// previous is the released chart of the version of today, or today's where there is none: the program of today lacks permissions under
// older charts, which came with programs that cannot be pulled here. What becomes of their objects is proven by ci/releasetest.
func previous(t *testing.T, root string, today *helmchart.Chart) (folder string) {
	t.Helper()
	all, err := released.All(root)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(all, func(c released.Chart) bool { return c.Name == today.Name() && c.Version == today.Metadata.Version }); i >= 0 {
		return all[i].Dir
	}
	return filepath.Join(root, "charts", today.Name())
}

// today is the chart in charts with the values of the cluster, and the image under its other name.
func (l *lab) today() (folder string, release chart.Release) {
	values := chartutil.MergeTables(map[string]any{"image": map[string]any{"tag": nextTag}}, l.Values())
	return filepath.Join(l.root, "charts", "thalassa-ccm"), chart.Release{Name: cluster.Release, Namespace: cluster.Namespace, Values: values}
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
	if err := (cluster.Remote{Folder: l.Dir()}).LoadImage(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

// upgraded proves that a release of the chart before becomes one of today's while it serves: no request fails, and it works afterwards.
func upgraded(t *testing.T, l *lab) {
	t.Helper()
	l.rename(t)
	namespace := l.runServers(t, "worker-1")
	address := l.expose(t, namespace, portHTTP)
	l.awaitWeb(t, address, "worker-1")
	old := l.manager(t)
	d := l.underLoad(t, address)
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
	l.awaitWeb(t, l.expose(t, namespace, portHTTP, named("another")), "worker-1")
	d.calm(t)
}

// runsNext waits until the old pod is gone, and another one runs the image under its other name.
func (l *lab) runsNext(t *testing.T, old *corev1.Pod) {
	t.Helper()
	eventually(t, "a new pod is ready", func(ctx context.Context) error {
		pods, err := l.API().CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectManager})
		if err != nil || len(pods.Items) != 1 {
			return errors.Join(err, fmt.Errorf("there are %d pods", len(pods.Items)))
		}
		pod := &pods.Items[0]
		if old != nil && pod.UID == old.UID || !podReady(pod) || !strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+nextTag) {
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
		t.Errorf("the cloud has %d load balancers and %d target groups", len(state.LoadBalancers), len(state.TargetGroups))
	}
	if _, err := l.API().RbacV1().ClusterRoles().Get(t.Context(), cluster.Release, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole: %v, want that it is gone", err)
	}
	l.again(t)
}

// uninstalledTooSoon proves that nothing breaks when Services were forgotten: the load balancer serves, the finalizer and a condition say
// what is left, and installing it again finishes what was begun.
func uninstalledTooSoon(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1")
	name := l.wish(t, namespace, portHTTP, named("forgotten"))
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
		t.Errorf("the cloud has %d load balancers, want the one that nobody deletes", len(state.LoadBalancers))
	}
	l.awaitWeb(t, address, "worker-1")
	l.again(t)
	nothingLeft(t, l)
}
