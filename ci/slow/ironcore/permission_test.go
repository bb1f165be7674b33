package ironcore

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/rbactest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// permissions returns the objects of the chart's part cloud: what the user may do in a namespace of IronCore.
func permissions(t *testing.T, namespace string) (manifest string) {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), checkout.Path(t, "charts/thalassa-ccm"), chart.Release{
		Name: "thalassa-ccm", Namespace: namespace, Values: map[string]any{"cloud": "ironcore", "part": "cloud",
			"ironcore": map[string]any{"subject": map[string]any{"name": user}}}})
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// permit installs the permissions of the user in the namespace.
func (r *rig) permit() {
	r.Helper()
	_, err := kubectl.New(r.plane.Kubeconfig()).Apply(permissions(r.T, r.namespace), "--server-side")
	r.must(err)
}

// granted returns the permissions of the user in one of the namespaces.
func granted(t *testing.T) []rbactest.Permission {
	t.Helper()
	var all []rbactest.Permission
	for document := range strings.SplitSeq(permissions(t, sameNamespace), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		found, err := rbactest.Expand(user, role.Namespace, role.Rules)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		t.Fatal("the chart grants nothing in IronCore")
	}
	return all
}
