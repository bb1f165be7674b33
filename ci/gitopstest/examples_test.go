package gitopstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

const (
	repository = "https://github.com/thalassa-cloud/thalassa-ccm"
	chartDir   = "charts/thalassa-ccm"
)

// product is what examples install, by the chart or by the overlay.
type product struct {
	// name is that of the chart and of the release, prefix begins the names of the examples.
	name, prefix string
	// namespace is that of the release, daemonSet one of its objects.
	namespace, daemonSet string
}

func products() []product {
	return []product{
		{name: "thalassa-ccm", namespace: "kube-system", daemonSet: "thalassa-ccm"},
		{name: "thalassa-csi", prefix: "csi-", namespace: "thalassa-system", daemonSet: "thalassa-csi-node"},
	}
}

// read splits an example of a folder into its documents. Examples with a namespace of their own create it first, which
// this function checks and leaves out.
func (p product) read(t *testing.T, folder, name string) []string {
	t.Helper()
	documents := read(t, folder+"/"+p.prefix+name)
	if p.namespace == "kube-system" {
		return documents
	}
	created := decode[corev1.Namespace](t, documents[0])
	if level := created.Labels["pod-security.kubernetes.io/enforce"]; created.Kind != "Namespace" ||
		created.Name != p.namespace || level != "privileged" {
		t.Errorf("%s/%s%s begins with %s %s, Pod Security %q; want Namespace %s for privileged pods", folder, p.prefix,
			name, created.Kind, created.Name, level, p.namespace)
	}
	return documents[1:]
}

// read splits an example into its documents.
func read(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, "examples/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n---\n")
}

// decode reads a document into its type, and refuses fields that the type does not have.
func decode[T any](t *testing.T, document string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// tag is how the version of the chart is called in Git.
func tag(t *testing.T) string {
	t.Helper()
	loaded, err := chart.Load(checkout.Path(t, chartDir))
	if err != nil {
		t.Fatal(err)
	}
	return "v" + loaded.Metadata.Version
}

// origin is where an example installs from: an address and a version there, and the folder of this repository that is
// there. file is one of those in what is installed.
type origin struct{ url, version, folder, file string }

// chart is the product's chart in the registry.
func (p product) chart(t *testing.T) origin {
	t.Helper()
	return published(t, "charts/"+p.name, "Chart.yaml")
}

// bundle is the folder of overlays in the registry.
func bundle(t *testing.T) origin {
	t.Helper()
	return published(t, "kustomize", "kustomization.yaml")
}

// published is a folder of this repository in the registry.
func published(t *testing.T, folder, file string) origin {
	t.Helper()
	return origin{url: "oci://ghcr.io/thalassa-cloud/thalassa-ccm/" + folder, version: strings.TrimPrefix(tag(t), "v"),
		folder: folder, file: file}
}

// wantFolder wants a folder of this repository that holds a file.
func wantFolder(t *testing.T, folder, file string) {
	t.Helper()
	if _, err := os.Stat(checkout.Path(t, filepath.Join(folder, file))); err != nil {
		t.Error(err)
	}
}

// wantRender renders the chart with the values of an example as its controller would.
func (p product) wantRender(t *testing.T, name, namespace string, values map[string]any) {
	t.Helper()
	release := chart.Release{Name: name, Namespace: namespace, Values: values}
	manifest, _, err := chart.Render(t.Context(), checkout.Path(t, "charts/"+p.name), release)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("kind: DaemonSet\nmetadata:\n  name: %q\n  namespace: %q\n", p.daemonSet,
		p.namespace); !strings.Contains(manifest, want) {
		t.Errorf("no DaemonSet %s in %s:\n%s", p.daemonSet, p.namespace, manifest)
	}
}

func TestArgoCD(t *testing.T) {
	for _, p := range products() {
		for name, from := range map[string]origin{
			"chart.yaml":     {url: repository, version: tag(t), file: "Chart.yaml"},
			"kustomize.yaml": {url: repository, version: tag(t), file: "kustomization.yaml"},
			"oci.yaml":       p.chart(t),
		} {
			t.Run(p.prefix+name, func(t *testing.T) {
				documents := p.read(t, "argocd", name)
				if len(documents) != 1 {
					t.Fatalf("%d documents, want one", len(documents))
				}
				p.wantApplication(t, decode[Application](t, documents[0]), from)
			})
		}
	}
}

// wantApplication wants an Application that installs the product.
func (p product) wantApplication(t *testing.T, a Application, from origin) {
	t.Helper()
	if a.APIVersion != "argoproj.io/v1alpha1" || a.Kind != "Application" || a.Metadata.Name != p.name ||
		a.Metadata.Namespace != "argocd" || a.Spec.Project == "" {
		t.Errorf("%+v", a)
	}
	source := a.Spec.Source
	if source.RepoURL != from.url || source.TargetRevision != from.version {
		t.Errorf("source %s at %s, want %s at %s", source.RepoURL, source.TargetRevision, from.url, from.version)
	}
	wantFolder(t, filepath.Join(from.folder, source.Path), from.file)
	if want := (Destination{Server: "https://kubernetes.default.svc",
		Namespace: p.namespace}); a.Spec.Destination != want {
		t.Errorf("destination %+v, want %+v", a.Spec.Destination, want)
	}
	if source.Helm != nil {
		p.wantRender(t, source.Helm.ReleaseName, a.Spec.Destination.Namespace, source.Helm.ValuesObject)
	}
	if (source.Helm != nil) != (from.file == "Chart.yaml") {
		t.Errorf("source %+v of a %s", source, from.file)
	}
}

func TestFluxGit(t *testing.T) {
	for _, p := range products() {
		for _, name := range []string{"chart.yaml", "kustomize.yaml"} {
			source := decode[sourcev1.GitRepository](t, p.read(t, "flux", name)[0])
			if source.APIVersion != sourcev1.GroupVersion.String() || source.Kind != sourcev1.GitRepositoryKind ||
				source.Name != p.name {
				t.Errorf("%s: %s %s %s", p.prefix+name, source.APIVersion, source.Kind, source.Name)
			}
			if source.Spec.URL != repository || source.Spec.Reference == nil || source.Spec.Reference.Tag != tag(t) {
				t.Errorf("%s: %s at %+v", p.prefix+name, source.Spec.URL, source.Spec.Reference)
			}
		}
	}
}

func TestFluxOCI(t *testing.T) {
	for _, p := range products() {
		for name, from := range map[string]origin{"oci.yaml": p.chart(t), "bundle.yaml": bundle(t)} {
			source := decode[sourcev1.OCIRepository](t, p.read(t, "flux", name)[0])
			if source.APIVersion != sourcev1.GroupVersion.String() || source.Kind != sourcev1.OCIRepositoryKind ||
				source.Name != p.name {
				t.Errorf("%s: %s %s %s", p.prefix+name, source.APIVersion, source.Kind, source.Name)
			}
			if source.Spec.URL != from.url || source.Spec.Reference.Tag != from.version {
				t.Errorf("%s: %s at %+v", p.prefix+name, source.Spec.URL, source.Spec.Reference)
			}
			// Charts in a registry are archives, which helm-controller wants as they are.
			var layer *sourcev1.OCILayerSelector
			if from.file == "Chart.yaml" {
				layer = &sourcev1.OCILayerSelector{Operation: sourcev1.OCILayerCopy,
					MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip"}
			}
			if diff := cmp.Diff(layer, source.Spec.LayerSelector); diff != "" {
				t.Errorf("%s: layer (-want +got):\n%s", p.prefix+name, diff)
			}
		}
	}
}

func TestFluxHelmRelease(t *testing.T) {
	for _, p := range products() {
		for name, kind := range map[string]string{"chart.yaml": sourcev1.GitRepositoryKind,
			"oci.yaml": sourcev1.OCIRepositoryKind} {
			t.Run(p.prefix+name, func(t *testing.T) {
				p.wantHelmRelease(t, p.read(t, "flux", name)[1], kind)
			})
		}
	}
}

// wantHelmRelease wants a HelmRelease that installs the chart from a source of a kind.
func (p product) wantHelmRelease(t *testing.T, document, kind string) {
	t.Helper()
	release := decode[helmv2.HelmRelease](t, document)
	if release.APIVersion != helmv2.GroupVersion.String() || release.Kind != helmv2.HelmReleaseKind {
		t.Errorf("%s %s", release.APIVersion, release.Kind)
	}
	var from [2]string
	if release.HasChartRef() {
		from = [2]string{release.Spec.ChartRef.Kind, release.Spec.ChartRef.Name}
	} else {
		reference := release.Spec.Chart.Spec.SourceRef
		from = [2]string{reference.Kind, reference.Name}
		if got := release.Spec.Chart.Spec.Chart; got != "charts/"+p.name {
			t.Errorf("chart %s", got)
		}
	}
	if diff := cmp.Diff([2]string{kind, p.name}, from); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	if got := release.GetReleaseNamespace() + "/" + release.GetReleaseName(); got != p.namespace+"/"+p.name {
		t.Errorf("release %s", got)
	}
	p.wantRender(t, release.GetReleaseName(), release.GetReleaseNamespace(), release.GetValues())
}

func TestFluxKustomization(t *testing.T) {
	for _, p := range products() {
		t.Run(p.prefix+"kustomize.yaml", func(t *testing.T) {
			p.wantKustomization(t, p.read(t, "flux", "kustomize.yaml")[1], sourcev1.GitRepositoryKind, "")
		})
		t.Run(p.prefix+"bundle.yaml", func(t *testing.T) {
			p.wantKustomization(t, p.read(t, "flux", "bundle.yaml")[1], sourcev1.OCIRepositoryKind, bundle(t).folder)
		})
	}
}

// wantKustomization wants a Kustomization that installs an overlay from a source of a kind, which has what is in a
// folder.
func (p product) wantKustomization(t *testing.T, document, kind, folder string) {
	t.Helper()
	k := decode[kustomizev1.Kustomization](t, document)
	if k.APIVersion != kustomizev1.GroupVersion.String() || k.Kind != kustomizev1.KustomizationKind {
		t.Errorf("%s %s", k.APIVersion, k.Kind)
	}
	if from := k.Spec.SourceRef; from.Kind != kind || from.Name != p.name {
		t.Errorf("source %+v", from)
	}
	if !k.Spec.Prune || !k.Spec.Wait {
		t.Errorf("prune is %t and wait %t", k.Spec.Prune, k.Spec.Wait)
	}
	wantFolder(t, filepath.Join(folder, k.Spec.Path), "kustomization.yaml")
}

// TestNothingSpecialIsNeeded: no hooks, no order, no differences to ignore, in what is installed and in how. Only the
// order in which examples are deleted matters.
func TestNothingSpecialIsNeeded(t *testing.T) {
	special := regexp.MustCompile(`ignoreDifferences|RespectIgnoreDifferences|argocd\.argoproj\.io/|helm\.sh/hook|` +
		`ignoreUpdates|force: true`)
	order := regexp.MustCompile(`argocd\.argoproj\.io/(sync-wave: "-\d"|sync-options: Delete=false,Prune=false)`)
	seen := 0
	for _, folder := range []string{"examples/argocd", "examples/flux", chartDir + "/templates",
		"charts/thalassa-csi/templates", "kustomize"} {
		files := os.DirFS(checkout.Path(t, folder))
		err := fs.WalkDir(files, ".", func(p string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			seen++
			text, err := fs.ReadFile(files, p)
			if folder == "examples/argocd" {
				text = order.ReplaceAll(text, nil)
			}
			if found := special.Find(text); found != nil {
				t.Errorf("%s/%s: %s", folder, p, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files were checked", seen)
	}
}

// TestEveryExampleIsListed, and that nothing is published yet is said.
func TestEveryExampleIsListed(t *testing.T) {
	readme := strings.Join(read(t, "README.md"), "")
	for _, folder := range []string{"argocd", "flux"} {
		files, err := filepath.Glob(checkout.Path(t, "examples/"+folder) + "/*.yaml")
		if err != nil || len(files) < 2 {
			t.Fatalf("%v, error %v", files, err)
		}
		for _, file := range files {
			if link := "(" + folder + "/" + filepath.Base(file) + ")"; !strings.Contains(readme, link) {
				t.Errorf("examples/README.md has no link %s", link)
			}
		}
	}
	if !strings.Contains(readme, "not published yet") {
		t.Error("examples/README.md does not say that images and charts are not published yet")
	}
}
