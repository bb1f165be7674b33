package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	helmregistry "helm.sh/helm/v3/pkg/registry"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestPackChart(t *testing.T) {
	s := source(t)
	folder := filepath.Join(s.Root, "charts", "thalassa-ccm")
	chart, err := PackChart(folder, "cloud-controller-manager", someDigest, s)
	if err != nil {
		t.Fatal(err)
	}
	if chart.File() != "thalassa-ccm-1.0.0.tgz" {
		t.Errorf("file %s", chart.File())
	}
	read, err := helmloader.LoadArchive(bytes.NewReader(chart.Archive))
	if err != nil {
		t.Fatal(err)
	}
	if read.Metadata.Version != "1.0.0" || read.Metadata.AppVersion != "1.0.0" {
		t.Errorf("versions %s and %s", read.Metadata.Version, read.Metadata.AppVersion)
	}
	for _, file := range read.Raw {
		if file.Name == "values.yaml" {
			want := "# Registry.\nimage:\n  tag: \"\"\n  # Digest; wins over the tag.\n  digest: " + someDigest +
				"\n  pullPolicy: IfNotPresent\n" + sidecarValues
			if string(file.Data) != want {
				t.Errorf("values:\n%s\nwant\n%s", file.Data, want)
			}
		}
	}
	if !slices.Equal(chart.Sidecars, sidecars()) {
		t.Errorf("sidecars %q, want %q", chart.Sidecars, sidecars())
	}
	hub := read.Metadata.Annotations
	if got, want := hub["artifacthub.io/images"], "- name: cloud-controller-manager\n  image: "+Registry+
		"/cloud-controller-manager@"+someDigest+"\n- name: csi-attacher\n  image: "+sidecars()[0]+
		"\n- name: csi-resizer\n  image: "+sidecars()[1]+"\n"; got != want {
		t.Errorf("artifacthub.io/images is\n%s\nwant\n%s", got, want)
	}
	for key, want := range map[string]string{
		"changes": "kind: added", "license": "Apache-2.0", "prerelease": "false",
		"links": "https://",
	} {
		if !strings.Contains(hub["artifacthub.io/"+key], want) {
			t.Errorf("artifacthub.io/%s = %q, want something with %q", key, hub["artifacthub.io/"+key], want)
		}
	}
	if content, err := os.ReadFile(filepath.Join(folder, "values.yaml")); err != nil ||
		strings.Contains(string(content), someDigest) {
		t.Errorf("the sources were changed: %v", err)
	}
}

func TestPackChartWithoutDigest(t *testing.T) {
	s := source(t)
	folder := filepath.Join(s.Root, "charts", "thalassa-ccm")
	if err := os.WriteFile(filepath.Join(folder, "values.yaml"), []byte("image: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := PackChart(folder, "cloud-controller-manager", someDigest, s); err == nil ||
		!strings.Contains(err.Error(), "no value image.digest") {
		t.Errorf("error = %v", err)
	}
}

func TestPackChartOfAnotherVersion(t *testing.T) {
	s := source(t)
	folder := filepath.Join(s.Root, "charts", "thalassa-ccm")
	s.Version = "v9.0.0"
	want := "its Chart.yaml says version 1.0.0 and appVersion 1.0.0: both have to be 9.0.0"
	_, err := PackChart(folder, "cloud-controller-manager", someDigest, s)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
	changelog := filepath.Join(folder, "CHANGELOG.md")
	if err := os.WriteFile(changelog, []byte("## [0.9.0]\n\n- x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Version = "v1.0.0"
	_, err = PackChart(folder, "cloud-controller-manager", someDigest, s)
	if err == nil || !strings.Contains(err.Error(), "no heading") {
		t.Errorf("a changelog without the version: %v", err)
	}
}

func TestChangesOf(t *testing.T) {
	got := changesOf("### Added\n\n- One,\n  in two lines.\n- Two.\n\n### Fixed\n\n- Three.\n")
	want := []change{{"added", "One, in two lines."}, {"added", "Two."}, {"fixed", "Three."}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}

// TestHelmPulls what was published, as `helm install oci://…` does.
func TestHelmPulls(t *testing.T) {
	tier.NeedFull(t)
	key, _ := newKey(t)
	folder, _ := made(t, source(t), key)
	r, _ := serve(t)
	publish(t, folder, r)
	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP(), helmregistry.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull(r.Repository("charts/thalassa-ccm") + ":1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := helmloader.LoadArchive(bytes.NewReader(pulled.Chart.Data))
	if err != nil || chart.Name() != "thalassa-ccm" || pulled.Chart.Meta.Description != "A chart." {
		t.Errorf("chart %v, %+v, %v", chart, pulled.Chart.Meta, err)
	}
	image, _ := chart.Values["image"].(map[string]any)
	images, err := os.ReadFile(filepath.Join(folder, "images.txt"))
	if err != nil || !strings.Contains(string(images), image["digest"].(string)) {
		t.Errorf("the chart runs %v, the release has\n%s", image["digest"], images)
	}
}

func TestPackBundle(t *testing.T) {
	s := source(t)
	bundle, err := PackBundle(filepath.Join(s.Root, "kustomize"),
		map[string]string{Registry + "/cloud-controller-manager": someDigest}, s)
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, bundle.Archive)
	const workload = "base/cloud-controller-manager.yaml"
	if want := "image: \"" + Registry + "/cloud-controller-manager@" + someDigest + "\"\n"; files[workload] != want {
		t.Errorf("the workload is %q, want %q", files[workload], want)
	}
	if files["README.md"] != "# Overlays\n" {
		t.Errorf("files %v", files)
	}
	if _, err := PackBundle(filepath.Join(s.Root, "kustomize"),
		map[string]string{"example.com/other": someDigest}, s); err == nil ||
		!strings.Contains(err.Error(), "no file in it names") {
		t.Errorf("error = %v", err)
	}
}

func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

// TestDigestOfEveryChart: only the value image.digest changes, also where other images have one. Those are found, and
// are in the guide.
func TestDigestOfEveryChart(t *testing.T) {
	charts, err := filepath.Glob(filepath.Join(checkout.Path(t, "charts"), "*", "values.yaml"))
	if err != nil || len(charts) < 2 {
		t.Fatalf("charts %v, error %v", charts, err)
	}
	guide, err := os.ReadFile(checkout.Path(t, "docs/guides/without-internet.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, chart := range charts {
		before, err := os.ReadFile(chart)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		sidecars, err := setImages(path, someDigest)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sidecars...)
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, image, _ := strings.Cut(string(before), "\nimage:\n")
		_, changed, _ := strings.Cut(string(after), "\nimage:\n")
		if want := strings.Replace(image, `digest: ""`, "digest: "+someDigest, 1); changed != want {
			t.Errorf("%s: the values from image on are\n%s", chart, changed)
		}
	}
	if list := strings.Join(all, "\n"); len(all) < 5 || !strings.Contains(string(guide), "\n"+list+"\n") {
		t.Errorf("the guide does not list these images:\n%s", list)
	}
}
