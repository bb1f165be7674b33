package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// watched are the kinds whose objects a demo in somebody's cluster could touch.
var watched = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "serviceaccounts"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// inventory is all watched objects with the version they have.
func inventory(t *testing.T, config *rest.Config) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, kind := range watched {
		list, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			// The control plane renews its own leases.
			if kind.Resource == "leases" && strings.HasPrefix(object.GetName(), "apiserver-") {
				continue
			}
			version := object.GetResourceVersion()
			if kind.Resource == "nodes" {
				// Kubernetes itself reports on a node without a kubelet; what a cloud controller manager would change counts.
				providerID, _, _ := unstructured.NestedString(object.Object, "spec", "providerID")
				taint := strings.Contains(fmt.Sprint(object.Object["spec"]), "uninitialized")
				version = fmt.Sprintf("labels %v, providerID %q, uninitialized %v", object.GetLabels(), providerID, taint)
			}
			all = append(all, fmt.Sprintf("%s %s/%s %s", kind.Resource, object.GetNamespace(), object.GetName(), version))
		}
	}
	slices.Sort(all)
	return all
}

// furnish puts into the cluster what a cloud controller manager that is not the demo's would care for.
func furnish(t *testing.T, c *controlplane.ControlPlane) {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, nodeErr := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	_, serviceErr := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err := errors.Join(nodeErr, serviceErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(client.CoreV1().Nodes().Delete(ctx, "theirs", metav1.DeleteOptions{}), client.CoreV1().Services("default").Delete(ctx, "web", metav1.DeleteOptions{}))
		if err != nil {
			t.Error(err)
		}
	})
}

func TestInTheUsersOwnCluster(t *testing.T) {
	theirs := controlplanetest.Get(t) // before the test's own folder: its processes are not the demo's
	dir := ownTemp(t)
	t.Setenv("KUBECONFIG", theirs.Kubeconfig())
	furnish(t, theirs)
	before := inventory(t, theirs.Config())

	for _, answer := range []string{"", "no\n", "y\n"} {
		out := &story{}
		err := Run(t.Context(), Options{Root: root(t), Output: out, Input: strings.NewReader(answer), Cluster: "lab"})
		if !errors.Is(err, errRefused) {
			t.Errorf("answer %q: error = %v, want a refusal", answer, err)
		}
		inOrder(t, out.String(), `YOUR cluster: context "lab" at https://127`, `Type yes`, `nothing was touched`)
	}
	if diff := cmp.Diff(before, inventory(t, theirs.Config())); diff != "" {
		t.Errorf("touched without consent (-before +after):\n%s", diff)
	}

	out := &story{}
	if err := Run(t.Context(), Options{Root: root(t), Output: out, Input: strings.NewReader("yes\n"), Cluster: "lab"}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inOrder(t, out.String(), `Service thalassa-ccm-demo/web has the address`, `pod: web-`, `is a target of the load balancer`, `the cloud is empty`)
	if diff := cmp.Diff(before, inventory(t, theirs.Config())); diff != "" {
		t.Errorf("touched (-before +after):\n%s", diff)
	}
	nothingLeft(t, dir)
}

func TestUnknownContext(t *testing.T) {
	ownTemp(t)
	t.Setenv("KUBECONFIG", controlplanetest.Get(t).Kubeconfig())
	err := Run(t.Context(), Options{Root: root(t), Output: &story{}, Input: strings.NewReader("yes\n"), Cluster: "nowhere"})
	if err == nil || !strings.Contains(err.Error(), `context "nowhere" of your kubeconfig`) {
		t.Errorf("error = %v, want one that names the context", err)
	}
}
