package kustomizetest

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// TestAPIServerAccepts every overlay with every combination of components, without a warning and without storing it.
func TestAPIServerAccepts(t *testing.T) {
	kube := prepared(t)
	namespace := controlplanetest.Namespace(t)
	for _, p := range bases.Profiles() {
		for i, components := range combinations(p) {
			if i%tier.Pick(4, 1) > 0 {
				continue
			}
			t.Run(strings.Join(append([]string{p.Name}, components...), "+"), func(t *testing.T) {
				manifest := built(t, p.Name, components...)
				output, err := place(kube, manifest, namespace).Apply(manifest, "--server-side", "--dry-run=server")
				if err != nil {
					t.Error(err)
				}
				if got, want := strings.Count(output, "\n"), len(decode(t, manifest)); got != want {
					t.Errorf("%d of %d objects were accepted:\n%s", got, want, output)
				}
			})
		}
	}
}

// prepared has the kinds of Prometheus Operator and of snapshots, the namespace that permissions in IronCore are for,
// and that of the CSI driver. They are not deleted: other tests use them.
func prepared(t *testing.T) kubectl.Kubectl {
	t.Helper()
	plane := controlplanetest.Get(t)
	kube := kubectl.New(plane.Kubeconfig())
	if err := kube.DefineMonitors(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"production", bases.Profile{Name: bases.CSI}.Namespace()} {
		apply(t, kube, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	}
	return kube
}

// place says where, if the manifest does not.
func place(kube kubectl.Kubectl, manifest, namespace string) kubectl.Kubectl {
	if strings.Contains(manifest, "\n  namespace: ") {
		return kube
	}
	return kube.In(namespace)
}

// TestAPIServerRefusesUnedited: permissions for nobody are refused.
func TestAPIServerRefusesUnedited(t *testing.T) {
	kube := kubectl.New(controlplanetest.Get(t).Kubeconfig())
	for _, name := range []string{"managed-tenant", "ironcore-permissions"} {
		manifest := overlay.New(t).Build(t, overlay.Dir(name))
		_, err := kube.Apply(manifest, "--server-side", "--dry-run=server")
		if err == nil || !strings.Contains(err.Error(), "subjects[0].name: Required value") {
			t.Errorf("%s: got %v, want that the name of the subject is required", name, err)
		}
	}
}

// TestAPIServerRefusesUneditedNamespace: an empty one would be that of the context of whoever applies the permissions.
func TestAPIServerRefusesUneditedNamespace(t *testing.T) {
	tier.NeedFull(t)
	kube := kubectl.New(controlplanetest.Get(t).Kubeconfig())
	manifest := overlay.New(t).Build(t, overlay.Dir("ironcore-permissions"))
	manifest = strings.ReplaceAll(manifest, `name: ""`, "name: somebody")
	_, err := kube.Apply(manifest, "--server-side", "--dry-run=server")
	if err == nil || !strings.Contains(err.Error(), `namespaces "SET_NAMESPACE" not found`) {
		t.Errorf("got %v, want that the namespace is not found", err)
	}
}

// TestApplyingAgainChangesNothing: what Argo CD, Flux or a person applies again is not different from what the API
// server holds, for the overlays and for the chart, whichever way it is applied.
func TestApplyingAgainChangesNothing(t *testing.T) {
	kube := prepared(t)
	namespace := controlplanetest.Namespace(t)
	for _, p := range bases.Profiles() {
		meant := meantFor(p)
		all := together(p, slices.DeleteFunc(slices.Clone(meant), func(c bases.Component) bool {
			return slices.ContainsFunc(meant, func(other bases.Component) bool {
				return c.Name == other.Name+"-ironcore"
			})
		})...)
		manifests := map[string]string{"overlay": built(t, p.Name, all...)}
		if tier.Full() {
			manifests["chart"] = render(t, open(t, p), p, all...)
		}
		for name, manifest := range manifests {
			kube := place(kube, manifest, namespace)
			flags := []string{"--server-side", "--server-side=false"}
			for _, flag := range flags[:tier.Pick(1, 2)] {
				t.Run(strings.Join([]string{p.Name, name, flag}, " "), func(t *testing.T) {
					wantUnchanged(t, kube, manifest, flag)
				})
			}
		}
	}
}

// TestApplyingTheChartAgainChangesNothing, with each of the values files that the chart is tested with.
func TestApplyingTheChartAgainChangesNothing(t *testing.T) {
	tier.NeedFull(t)
	kube := prepared(t)
	dir := checkout.Path(t, "charts/thalassa-ccm")
	files, err := filepath.Glob(filepath.Join(dir, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("values files %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			manifest, _, err := chart.Render(t.Context(), dir, chart.Release{Name: bases.ReleaseName,
				Namespace: bases.Namespace, Values: values})
			if err != nil {
				t.Fatal(err)
			}
			wantUnchanged(t, kube, manifest, "--server-side")
		})
	}
}

// wantUnchanged applies a manifest twice and deletes it.
func wantUnchanged(t *testing.T, kube kubectl.Kubectl, manifest, flag string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := kube.Delete(manifest); err != nil {
			t.Error(err)
		}
	})
	first := applied(t, kube, manifest, flag)
	if diff := cmp.Diff(first, applied(t, kube, manifest, flag)); diff != "" || len(first) == 0 {
		t.Errorf("%d objects; the second time (-first +second):\n%s", len(first), diff)
	}
}

// applied applies a manifest and returns what the API server then holds, by kind and name.
func applied(t *testing.T, kube kubectl.Kubectl, manifest, flag string) map[string]*unstructured.Unstructured {
	t.Helper()
	output, err := kube.Apply(manifest, flag, "--output=json", "--show-managed-fields")
	if err != nil {
		t.Fatal(err)
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		t.Fatal(err)
	}
	held := map[string]*unstructured.Unstructured{}
	for _, o := range list.Items {
		dropStatus(&o)
		held[path.Join(o.GetKind(), o.GetNamespace(), o.GetName())] = &o
	}
	return held
}

// dropStatus leaves out what Kubernetes' own controllers write at any time; the generation, which every change of what
// was applied raises, stays. Without a controller the resource version counts, too.
func dropStatus(o *unstructured.Unstructured) {
	if !slices.Contains([]string{"DaemonSet", "Deployment", "PodDisruptionBudget", "ValidatingAdmissionPolicy"},
		o.GetKind()) {
		return
	}
	unstructured.RemoveNestedField(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	if len(o.GetAnnotations()) == 0 {
		o.SetAnnotations(nil)
	}
	o.SetResourceVersion("")
	fields := slices.DeleteFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		// The second is what checks the types in a policy.
		return slices.Contains([]string{"kube-controller-manager", "validatingadmissionpolicy-status"}, entry.Manager)
	})
	for i := range fields {
		fields[i].Time = nil // goes on when such a controller writes in between
	}
	o.SetManagedFields(fields)
}
