package charttest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const twoObjects = `# A document of comments only.
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
---
apiVersion: v1
kind: Service
metadata:
  name: two
`

func TestDecode(t *testing.T) {
	objects, err := Decode(twoObjects)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 {
		t.Fatalf("%d objects, want 2", len(objects))
	}
	if got := find[*corev1.ConfigMap](t, objects, "one").Kind; got != "ConfigMap" {
		t.Errorf("kind %q, want ConfigMap", got)
	}
	if got := find[*corev1.Service](t, objects, "two").Kind; got != "Service" {
		t.Errorf("kind %q, want Service", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ manifest, want string }{
		"an unknown field": {"apiVersion: v1\nkind: Pod\nspec: {strategy: {}}\n", `unknown field "spec.strategy"`},
		"a field twice": {"apiVersion: v1\nkind: Pod\nspec:\n  hostNetwork: true\n  hostNetwork: false\n",
			`"hostNetwork" already set`},
		"an unknown kind": {"apiVersion: v1\nkind: Pot\n", `no kind "Pot"`},
		"no kind":         {"metadata: {name: one}\n", "Kind' is missing"},
		"no YAML":         {"{", "document 1"},
		"a second broken": {"---\napiVersion: v1\nkind: Pod\n---\n{", "document 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(test.manifest)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
