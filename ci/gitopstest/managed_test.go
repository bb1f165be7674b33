package gitopstest

import (
	"path"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// served is the cluster of the examples, and hosting the namespace of its control plane.
const (
	served  = "production"
	hosting = "cluster-" + served
	user    = "cloud-controller-manager"
)

// thalassaConfig is a line of the configuration in the examples of Thalassa Cloud.
const thalassaConfig = "vpcIdentity: vpc-0123456789\n"

// TestArgoCDManaged: the parts go where each belongs, and have the same values but for the part.
func TestArgoCDManaged(t *testing.T) {
	documents := read(t, "argocd/managed.yaml")
	if len(documents) != 2 {
		t.Fatalf("%d documents, want two", len(documents))
	}
	parts := map[string]Application{}
	for _, document := range documents {
		a := decode[Application](t, document)
		source := a.Spec.Source
		if a.APIVersion != "argoproj.io/v1alpha1" || a.Kind != "Application" || a.Metadata.Namespace != "argocd" ||
			source.RepoURL != repository || source.TargetRevision != tag(t) {
			t.Errorf("%+v", a)
		}
		wantFolder(t, source.Path, "Chart.yaml")
		part, _ := source.Helm.ValuesObject["part"].(string)
		if want := "thalassa-ccm-" + served + "-" + part; a.Metadata.Name != want {
			t.Errorf("part %s is called %s, want %s", part, a.Metadata.Name, want)
		}
		parts[part] = a
	}
	if got, want := parts["hosting"].Spec.Destination,
		(Destination{Server: "https://kubernetes.default.svc", Namespace: hosting}); got != want {
		t.Errorf("part hosting goes to %+v, want %+v", got, want)
	}
	if got, want := parts["tenant"].Spec.Destination,
		(Destination{Name: served, Namespace: "kube-system"}); got != want {
		t.Errorf("part tenant goes to %+v, want %+v", got, want)
	}
	wantHosting(t, parts["hosting"].render(t), thalassaConfig)
	wantTenant(t, parts["tenant"].render(t))
	for _, a := range parts {
		delete(a.Spec.Source.Helm.ValuesObject, "part")
	}
	if diff := cmp.Diff(parts["hosting"].Spec.Source, parts["tenant"].Spec.Source); diff != "" {
		t.Errorf("but for the part they differ (-hosting +tenant):\n%s", diff)
	}
}

// render is what Argo CD does with a chart.
func (a Application) render(t *testing.T) []runtime.Object {
	t.Helper()
	helm := a.Spec.Source.Helm
	release := chart.Release{Name: helm.ReleaseName, Namespace: a.Spec.Destination.Namespace, Values: helm.ValuesObject}
	manifest, _, err := chart.Render(t.Context(), checkout.Path(t, a.Spec.Source.Path), release)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, manifest)
}

// TestFluxManaged: the overlays go where each belongs, with what an installation has to say itself.
func TestFluxManaged(t *testing.T) {
	documents := read(t, "flux/managed.yaml")
	if len(documents) != 3 {
		t.Fatalf("%d documents, want three", len(documents))
	}
	source := decode[sourcev1.GitRepository](t, documents[0])
	if source.APIVersion != sourcev1.GroupVersion.String() || source.Spec.URL != repository ||
		source.Spec.Reference.Tag != tag(t) {
		t.Errorf("source %s at %+v", source.Spec.URL, source.Spec.Reference)
	}
	installed := map[string]kustomizev1.Kustomization{}
	for _, document := range documents[1:] {
		k := decode[kustomizev1.Kustomization](t, document)
		if k.APIVersion != kustomizev1.GroupVersion.String() || k.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind ||
			k.Spec.SourceRef.Name != source.Name {
			t.Errorf("%s is from %+v", k.Name, k.Spec.SourceRef)
		}
		if k.Namespace != source.Namespace || !k.Spec.Prune || !k.Spec.Wait {
			t.Errorf("%s: namespace %s, prune %t, wait %t", k.Name, k.Namespace, k.Spec.Prune, k.Spec.Wait)
		}
		installed[k.Name] = k
	}
	there, here := installed["thalassa-ccm-"+served+"-tenant"], installed["thalassa-ccm-"+served+"-hosting"]
	if there.Spec.KubeConfig == nil || there.Spec.KubeConfig.SecretRef == nil || here.Spec.KubeConfig != nil {
		t.Errorf("kubeconfigs: of the tenant's side %+v, of the hosting side %+v; want only the first",
			there.Spec.KubeConfig, here.Spec.KubeConfig)
	}
	wantTenant(t, build(t, there))
	wantHosting(t, build(t, here), thalassaConfig)
}

// build is what kustomize-controller does: it adds namespace and patches to the overlay's own.
func build(t *testing.T, k kustomizev1.Kustomization) []runtime.Object {
	t.Helper()
	tree, file := overlay.New(t), path.Join(k.Spec.Path, "kustomization.yaml")
	text, err := tree.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{}
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	patches, _ := content["patches"].([]any)
	for _, patch := range k.Spec.Patches {
		patches = append(patches, patch)
	}
	content["patches"] = patches
	if k.Spec.TargetNamespace != "" {
		content["namespace"] = k.Spec.TargetNamespace
	}
	if text, err = yaml.Marshal(content); err != nil {
		t.Fatal(err)
	}
	if err := tree.WriteFile(file, text); err != nil {
		t.Fatal(err)
	}
	return objects(t, tree.Build(t, path.Clean(k.Spec.Path)))
}

func objects(t *testing.T, manifest string) []runtime.Object {
	t.Helper()
	decoded, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// wantHosting wants all of it in one namespace, and the pods to be configured with a line.
func wantHosting(t *testing.T, objects []runtime.Object, line string) {
	t.Helper()
	var mounted, configured []string
	for _, o := range objects {
		described, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		if described.GetNamespace() != hosting {
			t.Errorf("%T %s is in namespace %q, want %s", o, described.GetName(), described.GetNamespace(), hosting)
		}
		switch o := o.(type) {
		case *appsv1.Deployment:
			for _, volume := range o.Spec.Template.Spec.Volumes {
				if volume.ConfigMap != nil {
					mounted = append(mounted, volume.ConfigMap.Name)
				}
			}
		case *corev1.ConfigMap:
			configured = append(configured, o.Name)
			if text := o.Data[overlay.ConfigKey]; !strings.Contains(text, line) {
				t.Errorf("the configuration is\n%s", text)
			}
		}
	}
	if len(mounted) != 1 || !slices.Equal(mounted, configured) {
		t.Errorf("a Deployment mounts %v, and there is %v", mounted, configured)
	}
}

// wantTenant wants permissions for the user, and nothing that runs.
func wantTenant(t *testing.T, objects []runtime.Object) {
	t.Helper()
	bindings := 0
	for _, o := range objects {
		var subjects []rbacv1.Subject
		switch o := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			subjects = o.Subjects
		case *rbacv1.RoleBinding:
			subjects = o.Subjects
		case *rbacv1.ClusterRole, *rbacv1.Role:
			continue
		default:
			t.Errorf("a %T belongs to the hosting side", o)
			continue
		}
		bindings++
		if want := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind,
			Name: user}}; !slices.Equal(subjects, want) {
			t.Errorf("%T is for %+v, want %+v", o, subjects, want)
		}
	}
	if bindings != 2 {
		t.Errorf("%d bindings, want two", bindings)
	}
}
