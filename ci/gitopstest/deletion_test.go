package gitopstest

import (
	"path/filepath"
	"slices"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// Annotations with which the examples keep the order of deletions.
const (
	syncWave    = "argocd.argoproj.io/sync-wave"
	syncOptions = "argocd.argoproj.io/sync-options"
	prune       = "kustomize.toolkit.fluxcd.io/prune"
)

// ofKind returns the objects of a kind in all examples of a folder.
func ofKind[T any](t *testing.T, folder, kind string) []T {
	t.Helper()
	files, err := filepath.Glob(checkout.Path(t, "examples/"+folder) + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for _, file := range files {
		for _, document := range read(t, folder+"/"+filepath.Base(file)) {
			var is metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &is); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if is.Kind == kind {
				all = append(all, decode[T](t, document))
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no example of %s has a %s", folder, kind)
	}
	return all
}

// TestArgoCDDeletionOrder: Argo CD deletes the objects of an application from the highest wave to the lowest. In one
// with applications, those with Services and volumes, which have no wave, are gone before what finishes their
// deletion, and this before its permissions. Without such an application, Argo CD waits for a person.
func TestArgoCDDeletionOrder(t *testing.T) {
	waves := map[string]string{}
	for _, a := range argoCD(t) {
		name := a.Metadata.Name
		if wave, seen := waves[name]; seen && wave != a.Metadata.Annotations[syncWave] {
			t.Errorf("%s has the waves %q and %q", name, wave, a.Metadata.Annotations[syncWave])
		}
		waves[name] = a.Metadata.Annotations[syncWave]
		if options := a.Spec.SyncPolicy.SyncOptions; !slices.Contains(options, "Delete=confirm") {
			t.Errorf("%s has the options %q", name, options)
		}
	}
	if diff := cmp.Diff(map[string]string{"thalassa-ccm": "-1", hostingPart: "-1", tenantPart: "-2", permissions: "-2",
		"thalassa-csi": "-1"}, waves); diff != "" {
		t.Errorf("waves (-want +got):\n%s", diff)
	}
	for _, namespace := range ofKind[corev1.Namespace](t, "argocd", "Namespace") {
		want := map[string]string{syncWave: "-2", syncOptions: "Delete=false,Prune=false"}
		if diff := cmp.Diff(want, namespace.Annotations); diff != "" {
			t.Errorf("Namespace %s (-want +got):\n%s", namespace.Name, diff)
		}
	}
}

// TestFluxDeletesNothing: Flux has no order of deletions, so what finishes the deletion of Services and volumes stays
// until somebody uninstalls it.
func TestFluxDeletesNothing(t *testing.T) {
	for _, k := range ofKind[kustomizev1.Kustomization](t, "flux", kustomizev1.KustomizationKind) {
		if got := k.GetDeletionPolicy(); got != kustomizev1.DeletionPolicyOrphan {
			t.Errorf("the deletion policy of Kustomization %s is %s", k.Name, got)
		}
	}
	for _, release := range ofKind[helmv2.HelmRelease](t, "flux", helmv2.HelmReleaseKind) {
		if release.Annotations[prune] != kustomizev1.DisabledValue {
			t.Errorf("HelmRelease %s has the annotations %v", release.Name, release.Annotations)
		}
	}
	for _, namespace := range ofKind[corev1.Namespace](t, "flux", "Namespace") {
		if namespace.Annotations[prune] != kustomizev1.DisabledValue {
			t.Errorf("Namespace %s has the annotations %v", namespace.Name, namespace.Annotations)
		}
	}
}
