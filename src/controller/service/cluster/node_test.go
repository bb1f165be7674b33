package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeA returns a Node.
func nodeA() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "first"}}
}

// TestNodePatches: a patch changes only the Node with the UID and the version, and only its spec or its status.
func TestNodePatches(t *testing.T) {
	c, client := newCluster(t, nodeA())
	nodes := client.CoreV1().Nodes()
	patch := func(name string, kind types.PatchType, text string, parts ...string) error {
		_, err := nodes.Patch(t.Context(), name, kind, []byte(text), metav1.PatchOptions{}, parts...)
		return err
	}
	const taints = `"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}`
	for _, kind := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		for what, meta := range map[string]string{"another UID": `"uid":"second"`,
			"an old state": `"resourceVersion":"0"`} {
			if err := patch("a", kind, `{"metadata":{`+meta+`},`+taints+`}`); !apierrors.IsConflict(err) {
				t.Errorf("a patch of %s: %v", what, err)
			}
		}
	}
	if err := patch("a", types.StrategicMergePatchType,
		`{"metadata":{"uid":"first"},`+taints+`,"status":{"phase":"Running"}}`); err != nil {
		t.Fatal(err)
	}
	if node := c.Nodes()[0]; len(node.Spec.Taints) != 1 || node.Status.Phase != "" {
		t.Errorf("after a patch of the spec: %+v", node)
	}
	if err := patch("a", types.MergePatchType, `{"spec":{"taints":null},"status":{"phase":"Running"}}`,
		"status"); err != nil {
		t.Fatal(err)
	}
	if node := c.Nodes()[0]; len(node.Spec.Taints) != 1 || node.Status.Phase != "Running" {
		t.Errorf("after a patch of the status: %+v", node)
	}
	if err := patch("b", types.MergePatchType, `{}`); !apierrors.IsNotFound(err) {
		t.Errorf("a patch of no Node: %v", err)
	}
	if err := patch("a", types.MergePatchType, `{"spec":1}`); !apierrors.IsBadRequest(err) {
		t.Errorf("a patch that is none: %v", err)
	}
}

func TestNodeDeletions(t *testing.T) {
	c, client := newCluster(t, nodeA())
	nodes := client.CoreV1().Nodes()
	other, old, uid, version := types.UID("second"), "0", types.UID("first"), c.Nodes()[0].ResourceVersion
	for what, preconditions := range map[string]metav1.Preconditions{"another UID": {UID: &other},
		"an old state": {UID: &uid, ResourceVersion: &old}} {
		if err := nodes.Delete(t.Context(), "a",
			metav1.DeleteOptions{Preconditions: &preconditions}); !apierrors.IsConflict(err) {
			t.Errorf("deleting %s: %v", what, err)
		}
	}
	preconditions := metav1.Preconditions{UID: &uid, ResourceVersion: &version}
	if err := nodes.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &preconditions}); err != nil ||
		len(c.Nodes()) > 0 {
		t.Errorf("deleting it: %v, left %v", err, c.Nodes())
	}
	if err := nodes.Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleting it again: %v", err)
	}
}

func TestChangeNode(t *testing.T) {
	c, _ := newCluster(t, nodeA())
	if err := c.ChangeNode("a", func(node *corev1.Node) {
		node.Spec.ProviderID = "cloud://a"
	}); err != nil || c.Nodes()[0].Spec.ProviderID != "cloud://a" {
		t.Errorf("changed to %+v, error %v", c.Nodes()[0].Spec, err)
	}
	if err := c.ChangeNode("b", func(*corev1.Node) {
		t.Error("a Node that is not there is changed")
	}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there: %v", err)
	}
}
