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

// setting is what components need in the configuration: a text of it, and what replaces that.
type setting struct {
	components []string
	from, to   string
}

func settings() []setting {
	const token = "  workloadIdentity: {serviceAccountID: sa-0123456789, " +
		"subjectTokenFile: /var/run/secrets/thalassa/token}"
	return []setting{
		{[]string{"allocate-node-cidrs", "controller-accounts"}, "cluster: production\n",
			"cluster: production\nclusterCIDR: 10.244.0.0/16\n"},
		{[]string{"controller-accounts"}, "\ncloudCredentials:\n",
			"\nloadBalancer: {removeOrphans: true}\nroutes: {enabled: true}\ncloudCredentials:\n"},
		{[]string{"private-ca"}, "\ncloudCredentials:\n",
			"\ncaBundle: /etc/thalassa-ccm/ca/ca.crt\ncloudCredentials:\n"},
		{[]string{"private-ca-csi"}, "\ncloudCredentials:\n",
			"\ncaBundle: /etc/thalassa-csi/ca/ca.crt\ncloudCredentials:\n"},
		{[]string{"workload-identity"}, "  directory: /etc/thalassa-ccm/credentials", token},
		{[]string{"workload-identity-csi"}, "  directory: /etc/thalassa-csi/credentials", token},
	}
}

// built is what an edited overlay with components builds.
func built(t *testing.T, name string, components ...string) string {
	t.Helper()
	return composed(t, name, components...).Build(t, overlay.Dir(name))
}

// composed is an edited overlay with components.
func composed(t *testing.T, name string, components ...string) overlay.Tree {
	t.Helper()
	k := overlay.New(t)
	edit(t, k, name)
	for _, s := range settings() {
		needed := slices.ContainsFunc(s.components, func(c string) bool { return slices.Contains(components, c) })
		if needed && k.Configures(name) {
			k.Change(t, overlay.ConfigFile(name), s.from, s.to)
		}
	}
	k.Use(t, name, components...)
	return k
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
