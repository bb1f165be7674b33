package gitopstest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
)

// permissions is the name of what is installed in IronCore.
const permissions = "thalassa-ccm-" + served + "-permissions"

// TestArgoCDIronCore: the workload goes into the cluster, and only permissions go into IronCore.
func TestArgoCDIronCore(t *testing.T) {
	installed := map[string]Application{}
	for _, document := range read(t, "argocd/ironcore.yaml") {
		a := decode[Application](t, document)
		source := a.Spec.Source
		if a.APIVersion != "argoproj.io/v1alpha1" || a.Kind != "Application" || a.Metadata.Namespace != "argocd" ||
			source.RepoURL != repository || source.TargetRevision != tag(t) {
			t.Errorf("%+v", a)
		}
		wantFolder(t, source.Path, "Chart.yaml")
		installed[a.Metadata.Name] = a
	}
	here, there := installed["thalassa-ccm"], installed[permissions]
	if len(installed) != 2 || here.Spec.Source.Helm == nil || there.Spec.Source.Helm == nil {
		t.Fatalf("applications %+v", installed)
	}
	if want := (Destination{Server: "https://kubernetes.default.svc",
		Namespace: "kube-system"}); here.Spec.Destination != want {
		t.Errorf("the workload goes to %+v, want %+v", here.Spec.Destination, want)
	}
	if want := (Destination{Name: "ironcore", Namespace: served}); there.Spec.Destination != want {
		t.Errorf("the permissions go to %+v, want %+v", there.Spec.Destination, want)
	}
	wantOnIronCore(t, here.render(t))
	wantPermissions(t, there.render(t))
}

// TestFluxIronCore: the same with the overlays.
func TestFluxIronCore(t *testing.T) {
	documents := read(t, "flux/ironcore.yaml")
	source := decode[sourcev1.GitRepository](t, documents[0])
	if source.Spec.URL != repository || source.Spec.Reference.Tag != tag(t) {
		t.Errorf("source %s at %+v", source.Spec.URL, source.Spec.Reference)
	}
	installed := map[string]kustomizev1.Kustomization{}
	for _, document := range documents[1:] {
		k := decode[kustomizev1.Kustomization](t, document)
		if k.Spec.SourceRef.Name != source.Name || k.Namespace != source.Namespace || !k.Spec.Prune || !k.Spec.Wait {
			t.Errorf("%+v", k)
		}
		installed[k.Name] = k
	}
	here, there := installed["thalassa-ccm"], installed[permissions]
	if there.Spec.KubeConfig == nil || there.Spec.KubeConfig.SecretRef == nil || here.Spec.KubeConfig != nil {
		t.Errorf("kubeconfigs: in IronCore %+v, in the cluster %+v; want only the first", there.Spec.KubeConfig,
			here.Spec.KubeConfig)
	}
	wantOnIronCore(t, build(t, here))
	wantPermissions(t, build(t, there))
}

// wantOnIronCore wants a configured workload of IronCore.
func wantOnIronCore(t *testing.T, objects []runtime.Object) {
	t.Helper()
	configured := slices.ContainsFunc(objects, func(o runtime.Object) bool {
		config, is := o.(*corev1.ConfigMap)
		return is && strings.Contains(config.Data[overlay.ConfigKey], "networkName: nodes") &&
			strings.Contains(config.Data[overlay.ConfigKey], "clusterName: production")
	})
	if names := kinds(t, objects); !configured || !slices.Contains(names, "DaemonSet kube-system/thalassa-ccm") {
		t.Errorf("configured: %t, objects %q", configured, names)
	}
}

// wantPermissions wants roles for the user, in the namespace of the cluster's machines.
func wantPermissions(t *testing.T, objects []runtime.Object) {
	t.Helper()
	wantTenant(t, objects)
	want := []string{"ClusterRole thalassa-ccm-production", "ClusterRoleBinding thalassa-ccm-production",
		"Role production/thalassa-ccm", "RoleBinding production/thalassa-ccm"}
	if diff := cmp.Diff(want, kinds(t, objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// kinds are the sorted objects, as kind, namespace and name.
func kinds(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var found []string
	for _, o := range objects {
		described, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, o.GetObjectKind().GroupVersionKind().Kind+" "+
			filepath.Join(described.GetNamespace(), described.GetName()))
	}
	slices.Sort(found)
	return found
}
