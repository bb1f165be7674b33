package kustomizetest

import (
	"path"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
)

// edit edits the one file of an overlay, to say what the values file of the profile says.
func edit(t *testing.T, k overlay.Tree, name string) {
	t.Helper()
	switch {
	case name == "ironcore", name == "ironcore-managed":
		k.Say(t, name, map[string]string{"networkName": "nodes", "clusterName": "production"})
	case k.Configures(name):
		k.Say(t, name, map[string]string{"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789",
			"cluster": "production"})
	case name == "ironcore-permissions":
		k.Change(t, overlay.SubjectFile(name), "namespace: SET_NAMESPACE", "namespace: production")
		fallthrough
	default:
		k.Permit(t, name, "production")
	}
}

// configured is what a component needs in the configuration: a text of it, and what replaces that.
func configured() map[string][2]string {
	const token = "  workloadIdentity: {serviceAccountID: sa-0123456789, " +
		"subjectTokenFile: /var/run/secrets/thalassa/token}"
	return map[string][2]string{
		"allocate-node-cidrs": {"cluster: production\n", "cluster: production\nclusterCIDR: 10.244.0.0/16\n"},
		"private-ca": {"\ncloudCredentials:\n",
			"\ncaBundle: /etc/thalassa-ccm/ca/ca.crt\ncloudCredentials:\n"},
		"private-ca-csi": {"\ncloudCredentials:\n",
			"\ncaBundle: /etc/thalassa-csi/ca/ca.crt\ncloudCredentials:\n"},
		"workload-identity":     {"  directory: /etc/thalassa-ccm/credentials", token},
		"workload-identity-csi": {"  directory: /etc/thalassa-csi/credentials", token},
	}
}

// built is an edited overlay with components.
func built(t *testing.T, name string, components ...string) string {
	t.Helper()
	k := overlay.New(t)
	edit(t, k, name)
	for component, change := range configured() {
		if slices.Contains(components, component) {
			k.Change(t, overlay.ConfigFile(name), change[0], change[1])
		}
	}
	k.Use(t, name, components...)
	return k.Build(t, overlay.Dir(name))
}

// decode reads a manifest into typed objects, strictly.
func decode(t *testing.T, manifest string) []runtime.Object {
	t.Helper()
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatal("the manifest has no object")
	}
	return objects
}

// key names an object.
func key(t *testing.T, o runtime.Object) string {
	t.Helper()
	m := metadata(t, o)
	return path.Join(o.GetObjectKind().GroupVersionKind().Kind, m.GetNamespace(), m.GetName())
}

func metadata(t *testing.T, o runtime.Object) metav1.Object {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
