package gitopstest

import (
	"maps"
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

// These are the names of what is installed in the hosting cluster, in the served cluster and in IronCore.
const (
	hostingPart = "thalassa-ccm-" + served + "-hosting"
	tenantPart  = "thalassa-ccm-" + served + "-tenant"
	permissions = "thalassa-ccm-" + served + "-permissions"
)

// ironcoreConfig is a line of the configuration in the examples of IronCore.
const ironcoreConfig = "networkName: nodes\n"

// TestArgoCDIronCore: the workload goes into the cluster, and only permissions go into IronCore.
func TestArgoCDIronCore(t *testing.T) {
	installed := applications(t, "argocd/ironcore.yaml", "thalassa-ccm", permissions)
	here := installed["thalassa-ccm"]
	if want := (Destination{Server: "https://kubernetes.default.svc",
		Namespace: "kube-system"}); here.Spec.Destination != want {
		t.Errorf("the workload goes to %+v, want %+v", here.Spec.Destination, want)
	}
	wantOnIronCore(t, here.render(t))
	wantInIronCore(t, installed[permissions])
}

// TestArgoCDIronCoreManaged: the parts go where each belongs, and have the same values but for the part.
func TestArgoCDIronCoreManaged(t *testing.T) {
	installed := applications(t, "argocd/ironcore-managed.yaml", hostingPart, permissions, tenantPart)
	here, there := installed[hostingPart], installed[tenantPart]
	if want := (Destination{Server: "https://kubernetes.default.svc",
		Namespace: hosting}); here.Spec.Destination != want {
		t.Errorf("part hosting goes to %+v, want %+v", here.Spec.Destination, want)
	}
	if want := (Destination{Name: served, Namespace: "kube-system"}); there.Spec.Destination != want {
		t.Errorf("part tenant goes to %+v, want %+v", there.Spec.Destination, want)
	}
	wantHosting(t, here.render(t), ironcoreConfig)
	wantTenant(t, there.render(t))
	wantInIronCore(t, installed[permissions])
	delete(here.Spec.Source.Helm.ValuesObject, "part")
	delete(there.Spec.Source.Helm.ValuesObject, "part")
	if diff := cmp.Diff(here.Spec.Source, there.Spec.Source); diff != "" {
		t.Errorf("but for the part they differ (-hosting +tenant):\n%s", diff)
	}
}

// applications returns the Applications of an example by their names, which are sorted.
func applications(t *testing.T, file string, names ...string) map[string]Application {
	t.Helper()
	installed := map[string]Application{}
	for _, document := range read(t, file) {
		a := decode[Application](t, document)
		source := a.Spec.Source
		if a.APIVersion != "argoproj.io/v1alpha1" || a.Kind != "Application" || a.Metadata.Namespace != "argocd" ||
			source.RepoURL != repository || source.TargetRevision != tag(t) || source.Helm == nil {
			t.Errorf("%+v", a)
		}
		wantFolder(t, source.Path, "Chart.yaml")
		installed[a.Metadata.Name] = a
	}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(installed))); diff != "" {
		t.Fatalf("applications (-want +got):\n%s", diff)
	}
	return installed
}

// wantInIronCore wants an Application to install permissions in IronCore.
func wantInIronCore(t *testing.T, a Application) {
	t.Helper()
	if want := (Destination{Name: "ironcore", Namespace: served}); a.Spec.Destination != want {
		t.Errorf("the permissions go to %+v, want %+v", a.Spec.Destination, want)
	}
	wantPermissions(t, a.render(t))
}

// TestFluxIronCore: the same as TestArgoCDIronCore with the overlays.
func TestFluxIronCore(t *testing.T) {
	installed := kustomizations(t, "flux/ironcore.yaml", map[string]string{"thalassa-ccm": "",
		permissions: "ironcore-admin-kubeconfig"})
	wantOnIronCore(t, build(t, installed["thalassa-ccm"]))
	wantPermissions(t, build(t, installed[permissions]))
}

// TestFluxIronCoreManaged: the same as TestArgoCDIronCoreManaged with the overlays.
func TestFluxIronCoreManaged(t *testing.T) {
	installed := kustomizations(t, "flux/ironcore-managed.yaml", map[string]string{hostingPart: "",
		tenantPart: served + "-kubeconfig", permissions: "ironcore-admin-kubeconfig"})
	wantHosting(t, build(t, installed[hostingPart]), ironcoreConfig)
	wantTenant(t, build(t, installed[tenantPart]))
	wantPermissions(t, build(t, installed[permissions]))
}

// kustomizations returns the Kustomizations of an example by their names. Each has a Secret with the kubeconfig that
// Flux uses; "" is its own cluster.
func kustomizations(t *testing.T, file string, kubeconfigs map[string]string) map[string]kustomizev1.Kustomization {
	t.Helper()
	documents := read(t, file)
	source := decode[sourcev1.GitRepository](t, documents[0])
	if source.Spec.URL != repository || source.Spec.Reference.Tag != tag(t) {
		t.Errorf("source %s at %+v", source.Spec.URL, source.Spec.Reference)
	}
	installed, got := map[string]kustomizev1.Kustomization{}, map[string]string{}
	for _, document := range documents[1:] {
		k := decode[kustomizev1.Kustomization](t, document)
		if k.Spec.SourceRef.Name != source.Name || k.Namespace != source.Namespace || !k.Spec.Prune || !k.Spec.Wait {
			t.Errorf("%+v", k)
		}
		installed[k.Name], got[k.Name] = k, ""
		if k.Spec.KubeConfig != nil && k.Spec.KubeConfig.SecretRef != nil {
			got[k.Name] = k.Spec.KubeConfig.SecretRef.Name
		}
	}
	if diff := cmp.Diff(kubeconfigs, got); diff != "" {
		t.Fatalf("kubeconfigs (-want +got):\n%s", diff)
	}
	return installed
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
