package release

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/gitopstest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/release"
)

// product is what an example installs: by a chart of the release, or by an overlay in its bundle.
type product struct {
	published
	// prefix begins the names of the examples, image is what the pods of the DaemonSet run.
	prefix, image string
}

func (p published) products() []product {
	return []product{{p, "", "cloud-controller-manager"}, {p, "csi-", "csi-driver"}}
}

// example decodes the documents of an example, and refuses fields that their types do not have. The examples of the CSI
// driver create its Namespace first.
func (p product) example(t *testing.T, folder, name string, objects ...any) {
	t.Helper()
	if p.prefix != "" {
		objects = append([]any{&corev1.Namespace{}}, objects...)
	}
	name = "examples/" + folder + "/" + p.prefix + name
	text, err := os.ReadFile(checkout.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	if len(documents) != len(objects) {
		t.Fatalf("%s has %d documents, want %d", name, len(documents), len(objects))
	}
	for i, object := range objects {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// named is what the registry has where an example says that it is. The examples name the real registry.
func (p published) named(t *testing.T, url, tag string) v1.Image {
	t.Helper()
	repository, ours := strings.CutPrefix(url, "oci://"+release.Registry+"/")
	if !ours || tag != p.version {
		t.Fatalf("the example reads %s at %q, what is published is %s at %s", url, tag, "oci://"+release.Registry,
			p.version)
	}
	return p.artifact(t, repository)
}

// layer is the only content of an artifact, which has to have a type.
func layer(t *testing.T, image v1.Image, mediaType string) []byte {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Layers) != 1 || string(manifest.Layers[0].MediaType) != mediaType {
		t.Fatalf("layers %+v, want one of type %s", manifest.Layers, mediaType)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// wantChart renders a packed chart with the values of an example.
func (p product) wantChart(t *testing.T, archive []byte, name, namespace string, values map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chart.tgz")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	manifest, _, err := chart.Render(t.Context(), path, chart.Release{Name: name, Namespace: namespace, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	p.wantDaemonSet(t, manifest)
}

// wantDaemonSet finds it in rendered objects, and checks what it runs.
func (p product) wantDaemonSet(t *testing.T, manifest string) {
	t.Helper()
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var found appsv1.DaemonSet
		if err := yaml.Unmarshal([]byte(document), &found); err == nil && found.Kind == "DaemonSet" {
			p.wantImage(t, &found, p.image)
			return
		}
	}
	t.Errorf("no DaemonSet in\n%s", manifest)
}

// wantVerified wants Flux to verify the signature, with a key: what it does then is testCosign's first row.
func wantVerified(t *testing.T, source sourcev1.OCIRepository) {
	t.Helper()
	if v := source.Spec.Verify; v == nil || v.Provider != "cosign" || v.SecretRef == nil || v.SecretRef.Name == "" {
		t.Errorf("signatures are not verified: %+v", v)
	}
}

func (p product) testFluxChart(t *testing.T) {
	var source sourcev1.OCIRepository
	var installed helmv2.HelmRelease
	p.example(t, "flux", "oci.yaml", &source, &installed)
	wantVerified(t, source)
	archive := layer(t, p.named(t, source.Spec.URL, source.Spec.Reference.Tag), source.Spec.LayerSelector.MediaType)
	p.wantChart(t, archive, installed.GetReleaseName(), installed.GetReleaseNamespace(), installed.GetValues())
}

// testTagAlone: who loads the archives of `make image` into nodes has no index to name, and says so with an empty
// digest. The image then has the name that is in the archives.
func (p published) testTagAlone(t *testing.T) {
	values := p.values(t)
	values["image"] = map[string]any{"digest": "", "pullPolicy": "Never"}
	archive := filepath.Join(t.TempDir(), "chart.tgz")
	if err := os.WriteFile(archive, layer(t, p.artifact(t, "charts/thalassa-ccm"), chartLayer), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest, _, err := chart.Render(t.Context(), archive, chart.Release{Name: "thalassa-ccm", Namespace: "kube-system",
		Values: values})
	if err != nil {
		t.Fatal(err)
	}
	if want := "image: \"" + release.Registry + "/cloud-controller-manager:" + p.version +
		"\"\n"; !strings.Contains(manifest, want) {
		t.Errorf("no %s in\n%s", want, manifest)
	}
}

func (p product) testArgoCDChart(t *testing.T) {
	var application gitopstest.Application
	p.example(t, "argocd", "oci.yaml", &application)
	source := application.Spec.Source
	if source.Path != "." { // Argo CD, "OCI": always so for charts
		t.Errorf("path %q", source.Path)
	}
	archive := layer(t, p.named(t, source.RepoURL, source.TargetRevision), chartLayer)
	p.wantChart(t, archive, source.Helm.ReleaseName, application.Spec.Destination.Namespace, source.Helm.ValuesObject)
}

// testFluxBundle builds the overlay as kustomize-controller does: with the example's patches added to it.
func (p product) testFluxBundle(t *testing.T) {
	var source sourcev1.OCIRepository
	var installed kustomizev1.Kustomization
	p.example(t, "flux", "bundle.yaml", &source, &installed)
	wantVerified(t, source)
	if source.Spec.LayerSelector != nil {
		t.Fatal("the example selects a layer, which this test does not")
	}
	folder := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "--extract", "--gzip", "--directory", folder)
	unpack.Stdin = bytes.NewReader(layer(t, p.named(t, source.Spec.URL, source.Spec.Reference.Tag),
		"application/vnd.cncf.flux.content.v1.tar+gzip"))
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	path := filepath.Join(folder, installed.Spec.Path)
	mirror := "registry.example.com/mirror/" + p.image // as docs/guides/without-internet.md has it
	amend(t, filepath.Join(path, "kustomization.yaml"), map[string]any{
		"patches": installed.Spec.Patches,
		"images":  []map[string]string{{"name": release.Registry + "/" + p.image, "newName": mirror}},
	})
	manifest := overlay.Tree{FileSystem: filesys.MakeFsOnDisk()}.Build(t, path)
	p.wantDaemonSet(t, manifest)
	if !strings.Contains(manifest, mirror+"@"+p.digest(t, p.image)) {
		t.Errorf("in a mirror, the image is another one:\n%s", manifest)
	}
	wantConfig(t, manifest, "vpcIdentity: vpc-0123456789\n")
}

// wantConfig wants the only ConfigMap to hold a cloud-config file with a line.
func wantConfig(t *testing.T, manifest, line string) {
	t.Helper()
	var found []corev1.ConfigMap
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var config corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &config); err == nil && config.Kind == "ConfigMap" {
			found = append(found, config)
		}
	}
	if len(found) != 1 || !strings.Contains(found[0].Data["cloud-config.yaml"], line) {
		t.Errorf("ConfigMaps %+v, want one with %q", found, line)
	}
}

// amend sets fields of a kustomization file.
func amend(t *testing.T, file string, fields map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	maps.Copy(content, fields)
	if text, err = yaml.Marshal(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
