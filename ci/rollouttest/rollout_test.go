package rollouttest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	chartDir = "../../charts/thalassa-ccm"
	// waitTimeout bounds every wait; nothing here takes a tenth of it on an idle machine.
	waitTimeout = 2 * time.Minute
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// installation is the chart in a namespace of a cluster with two control-plane nodes.
type installation struct {
	plane     *controlplane.ControlPlane
	api       kubernetes.Interface
	cloud     cloud.Cloud
	namespace string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	plane := controlplanetest.Get(t)
	i := &installation{plane, controlplanetest.Client(t, plane), cloud.Start(t, cloud.Loopback(t, "127.85.0.0/16")),
		controlplanetest.Namespace(t)}
	var nodes []virtualnode.Options
	for name, address := range map[string]string{"one": "127.85.0.9", "two": "127.85.0.10"} {
		at := netip.MustParseAddr(address)
		if _, err := i.cloud.AddMachine(emulator.MachineSpec{Name: name, Addresses: []netip.Addr{at}}); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, virtualnode.Options{Name: name, Address: at, ControlPlane: true})
	}
	host.Start(t, plane, nodes...)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud"},
		StringData: map[string]string{"personalAccessToken": emulator.DefaultToken}}
	if _, err := i.api.CoreV1().Secrets(i.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return i
}

// apply installs or upgrades the chart, with values beside those it needs.
func (i *installation) apply(t *testing.T, change string) {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(change), &values); err != nil {
		t.Fatal(err)
	}
	values["cloudConfig"] = i.cloud.Config("rollout")
	values["credentials"] = map[string]any{"existingSecret": "cloud"}
	values["bindAddress"] = "$(HOST_IP)" // every other address of this machine belongs to all nodes
	manifest, _, err := chart.Render(t.Context(), chartDir, chart.Release{Name: "thalassa-ccm", Namespace: i.namespace,
		Values: values})
	if err != nil {
		t.Fatal(err)
	}
	if output, err := kubectl.New(i.plane.Kubeconfig()).Apply(manifest, "--server-side"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// remove deletes what was installed while there still are nodes on which pods can end.
func (i *installation) remove(t *testing.T) {
	t.Helper()
	kube := kubectl.New(i.plane.Kubeconfig())
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		manifest := fmt.Sprintf("apiVersion: apps/v1\nkind: %s\nmetadata: {name: thalassa-ccm, namespace: %s}\n", kind,
			i.namespace)
		if output, err := kube.Delete(manifest); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	}
	controlplanetest.Eventually(t, waitTimeout, "the pods have ended", func(ctx context.Context) error {
		if pods, err := i.pods(ctx); err != nil || len(pods) > 0 {
			return errors.Join(err, fmt.Errorf("%d pods are there", len(pods)))
		}
		return nil
	})
}

func (i *installation) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := i.api.CoreV1().Pods(i.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "k8s-app=cloud-controller-manager"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// rolledOut returns an error until each node has a ready pod with that argument, and no pod lacks it. If there are
// more pods than nodes, the others wait.
func (i *installation) rolledOut(ctx context.Context, argument string) error {
	pods, err := i.pods(ctx)
	if err != nil {
		return err
	}
	ready := map[string]bool{}
	for _, pod := range pods {
		if !strings.Contains(strings.Join(pod.Spec.Containers[0].Args, "\n")+"\n", argument+"\n") {
			return fmt.Errorf("pod %s is an old one: %s", pod.Name, describe(pods))
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready[pod.Spec.NodeName] = true
			}
		}
	}
	if !ready["one"] || !ready["two"] {
		return fmt.Errorf("not ready on both nodes: %s", describe(pods))
	}
	return nil
}

// describe lists the phases and the conditions of pods that are not true, for messages.
func describe(pods []corev1.Pod) string {
	var lines strings.Builder
	for _, pod := range pods {
		fmt.Fprintf(&lines, "\n%s on %q: %s, ", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
		for _, condition := range pod.Status.Conditions {
			if condition.Status != corev1.ConditionTrue {
				fmt.Fprintf(&lines, "%s is %s: %s; ", condition.Type, condition.Status, condition.Message)
			}
		}
	}
	return lines.String()
}

// uninitialised are the nodes that have the taint of kubelets with --cloud-provider=external, or no provider ID.
func (i *installation) uninitialised(ctx context.Context) (names []string, all int, err error) {
	nodes, err := i.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	for _, node := range nodes.Items {
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == cloudproviderapi.TaintExternalCloudProvider
		})
		if tainted || node.Spec.ProviderID == "" {
			names = append(names, node.Name)
		}
	}
	return names, len(nodes.Items), nil
}

// TestClusterWithoutAnInitialisedNode: whoever removes the taint from all nodes has to run on one that has it.
func TestClusterWithoutAnInitialisedNode(t *testing.T) {
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		t.Run(kind, func(t *testing.T) {
			i := newInstallation(t)
			if names, all, err := i.uninitialised(t.Context()); err != nil || all != 2 || len(names) != all {
				t.Fatalf("of %d nodes %q wait, error %v: want all of two", all, names, err)
			}
			defer i.remove(t)
			i.apply(t, "kind: "+kind+"\n")
			controlplanetest.Eventually(t, waitTimeout, "all nodes are initialised", func(ctx context.Context) error {
				names, _, err := i.uninitialised(ctx)
				if err == nil && len(names) > 0 {
					pods, _ := i.pods(ctx)
					err = fmt.Errorf("%q wait; %s", names, describe(pods))
				}
				return err
			})
		})
	}
}

// TestRolloutOnTheHostNetwork changes the pods where each node has room for one: the scheduler lets no second pod have
// the port, and the program could not listen on it.
func TestRolloutOnTheHostNetwork(t *testing.T) {
	i := newInstallation(t)
	for _, test := range []struct{ name, values string }{
		{"DaemonSet", "kind: DaemonSet\n"},
		{"Deployment", "kind: Deployment\nreplicas: 2\n"},
		{"Deployment with more pods than nodes", "kind: Deployment\nreplicas: 3\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer i.remove(t)
			for _, verbosity := range []string{"2", "3"} {
				i.apply(t, test.values+"logVerbosity: "+verbosity+"\n")
				controlplanetest.Eventually(t, waitTimeout, "pods with verbosity "+verbosity+" run",
					func(ctx context.Context) error {
						return i.rolledOut(ctx, "--v="+verbosity)
					})
			}
		})
	}
}
