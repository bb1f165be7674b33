package kustomizetest

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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

// serverSide are two programs that apply the same objects, such as Helm 4 and Argo CD. Neither takes fields from the
// other by force.
func serverSide() [][]string {
	return [][]string{{"--server-side", "--field-manager=helm"}, {"--server-side", "--field-manager=argocd-controller"}}
}

// TestApplyingAgainChangesNothing: what Argo CD, Flux or a person applies again is not different from what the API
// server holds, for the overlays and for the chart, whichever way it is applied. A field that the API server drops or
// completes would make two server-side appliers conflict.
func TestApplyingAgainChangesNothing(t *testing.T) {
	kube := prepared(t)
	namespace := controlplanetest.Namespace(t)
	for _, p := range bases.Profiles() {
		var compatible []bases.Component
		for _, c := range meantFor(p) {
			if !slices.ContainsFunc(compatible, func(other bases.Component) bool { return alternatives(other, c) }) {
				compatible = append(compatible, c)
			}
		}
		all := together(p, compatible...)
		manifests := map[string]string{"overlay": built(t, p.Name, all...)}
		if tier.Full() {
			manifests["chart"] = render(t, open(t, p), p, all...)
		}
		for name, manifest := range manifests {
			kube := place(kube, manifest, namespace)
			t.Run(strings.Join([]string{p.Name, name, "server-side"}, " "), func(t *testing.T) {
				wantUnchanged(t, kube, manifest, serverSide()...)
			})
			if tier.Full() {
				t.Run(strings.Join([]string{p.Name, name, "client-side"}, " "), func(t *testing.T) {
					wantUnchanged(t, kube, manifest, []string{"--server-side=false"})
				})
			}
		}
	}
}

// TestApplyingTheChartAgainChangesNothing, with each of the values files that the charts are tested with.
func TestApplyingTheChartAgainChangesNothing(t *testing.T) {
	tier.NeedFull(t)
	kube := prepared(t)
	for _, p := range []bases.Profile{{Name: "self-managed"}, {Name: bases.CSI}} {
		dir := checkout.Path(t, "charts/"+p.Chart())
		for _, file := range matching(t, filepath.Join(dir, "ci", "*-values.yaml")) {
			t.Run(p.Chart()+" "+filepath.Base(file), func(t *testing.T) {
				values, err := chartutil.ReadValuesFile(file)
				if err != nil {
					t.Fatal(err)
				}
				manifest, _, err := chart.Render(t.Context(), dir, chart.Release{Name: p.Chart(),
					Namespace: p.Namespace(), Values: values})
				if err != nil {
					t.Fatal(err)
				}
				wantUnchanged(t, kube, manifest, serverSide()...)
			})
		}
	}
}

// TestApplyingExamplesAgainChangesNothing: they are kept in repositories, too.
func TestApplyingExamplesAgainChangesNothing(t *testing.T) {
	tier.NeedFull(t)
	kube, namespace := prepared(t), controlplanetest.Namespace(t)
	for _, pattern := range []string{"services/*.yaml", "nodes/*.yaml", "web.yaml", "volume.yaml"} {
		for _, file := range matching(t, filepath.Join(checkout.Path(t, "examples"), pattern)) {
			t.Run(filepath.Base(file), func(t *testing.T) {
				manifest, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				where := kube
				if filepath.Base(filepath.Dir(file)) != "nodes" { // these are in no namespace
					where = kube.In(namespace)
				}
				wantUnchanged(t, where, string(manifest), serverSide()...)
			})
		}
	}
}

// matching are the files that match a pattern, at least one.
func matching(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	return files
}

// wantUnchanged lets each applier, which is flags of kubectl apply, apply a manifest in turn, and then once more, when
// nothing may change. It deletes the manifest in the end.
func wantUnchanged(t *testing.T, kube kubectl.Kubectl, manifest string, appliers ...[]string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := kube.Delete(manifest); err != nil {
			t.Error(err)
		}
	})
	rounds := make([]map[string]*unstructured.Unstructured, 2)
	for i := range rounds {
		for _, flags := range appliers {
			rounds[i] = applied(t, kube, manifest, flags...)
		}
	}
	if diff := cmp.Diff(rounds[0], rounds[1]); diff != "" || len(rounds[0]) == 0 {
		t.Errorf("%d objects; the second time (-first +second):\n%s", len(rounds[0]), diff)
	}
}

// applied applies a manifest and returns what the API server then holds, by kind and name.
func applied(t *testing.T, kube kubectl.Kubectl, manifest string,
	flags ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	output, err := kube.Apply(manifest, append(slices.Clone(flags), "--output=json", "--show-managed-fields")...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := runtime.Decode(unstructured.UnstructuredJSONScheme, []byte(output))
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]*unstructured.Unstructured{}
	add := func(o *unstructured.Unstructured) {
		dropStatus(o)
		held[path.Join(o.GetKind(), o.GetNamespace(), o.GetName())] = o
	}
	switch all := all.(type) {
	case *unstructured.UnstructuredList:
		for i := range all.Items {
			add(&all.Items[i])
		}
	case *unstructured.Unstructured: // kubectl makes no list of one object
		add(all)
	}
	return held
}

// dropStatus leaves out what Kubernetes' own controllers write at any time; the generation, which every change of what
// was applied raises, stays. Without a controller the resource version counts, too.
func dropStatus(o *unstructured.Unstructured) {
	if !slices.Contains([]string{"DaemonSet", "Deployment", "PodDisruptionBudget", "ValidatingAdmissionPolicy", "Pod",
		"PersistentVolumeClaim"}, o.GetKind()) {
		return
	}
	unstructured.RemoveNestedField(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	if len(o.GetAnnotations()) == 0 {
		o.SetAnnotations(nil)
	}
	o.SetResourceVersion("")
	fields := slices.DeleteFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == "status" || entry.Manager == "kube-controller-manager"
	})
	for i := range fields {
		fields[i].Time = nil // goes on when such a controller writes in between
	}
	o.SetManagedFields(fields)
}
