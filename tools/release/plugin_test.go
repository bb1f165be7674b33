package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// member is a file in an archive.
type member struct {
	name    string
	mode    fs.FileMode
	content string
}

// untar returns the files in an archive, which are what krew accepts: neither links nor anything else, and owned by
// root.
func untar(t *testing.T, archive string, at time.Time) (members []member) {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg || !header.ModTime.Equal(at) || header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s has type %q, time %s and owner %d:%d", header.Name, header.Typeflag, header.ModTime,
				header.Uid, header.Gid)
		}
		members = append(members, member{header.Name, header.FileInfo().Mode(), string(content)})
	}
}

// unzip is untar of the other format.
func unzip(t *testing.T, archive string, at time.Time) (members []member) {
	t.Helper()
	reader, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range reader.File {
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		if !file.Modified.Equal(at) {
			t.Errorf("%s has the time %s", file.Name, file.Modified)
		}
		members = append(members, member{file.Name, file.Mode(), string(content)})
	}
	return members
}

// TestPlugin: each platform has an archive with its executable, and everything that krew needs.
func TestPlugin(t *testing.T) {
	s := source(t)
	folder, _ := made(t, s, nil)
	files := content(t, folder)
	for platform, suffix := range map[string]string{"linux/amd64": ".tar.gz", "linux/arm64": ".tar.gz",
		"darwin/amd64": ".tar.gz", "darwin/arm64": ".tar.gz", "windows/amd64": ".zip"} {
		name := "kubectl-thalassa_1.0.0_" + strings.ReplaceAll(platform, "/", "_") + suffix
		if !strings.Contains(files["SHA256SUMS"], "  "+name+"\n") {
			t.Errorf("SHA256SUMS lacks %s:\n%s", name, files["SHA256SUMS"])
		}
		names, executable := []string{"LICENSE 0644", "kubectl-thalassa 0755", "kubectl_complete-thalassa 0755"}, 1
		unpack := untar
		if suffix == ".zip" {
			names, unpack = []string{"LICENSE 0644", "kubectl-thalassa.exe 0755"}, unzip
		}
		members := unpack(t, files[name], s.Committed)
		var got []string
		for _, one := range members {
			got = append(got, fmt.Sprintf("%s %#o", one.name, one.mode))
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
		if !strings.HasSuffix(members[executable].content, "kubectl-thalassa "+platform) {
			t.Errorf("%s does not contain the executable for %s", name, platform)
		}
		contents := "kubectl-thalassa-" + strings.ReplaceAll(platform, "/", "-")
		if !strings.Contains(files[contents+".spdx.json"], `"name": "`+contents+` 1.0.0"`) {
			t.Errorf("the SBOM for %s is\n%s", platform, files[contents+".spdx.json"])
		}
	}
	want := "kubectl krew install --manifest-url=" + repository + "/releases/download/v1.0.0/thalassa.yaml\n"
	if !strings.Contains(files["notes.md"], want) {
		t.Errorf("the notes lack %q:\n%s", want, files["notes.md"])
	}
}

// TestKrewManifest checks what krew requires of a manifest, and that it names what the release contains.
func TestKrewManifest(t *testing.T) {
	folder, _ := made(t, source(t), nil)
	files := content(t, folder)
	var got struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       struct {
			Version          string           `json:"version"`
			Homepage         string           `json:"homepage"`
			ShortDescription string           `json:"shortDescription"`
			Description      string           `json:"description"`
			Platforms        []map[string]any `json:"platforms"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict([]byte(files["thalassa.yaml"]), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || got.Kind != "Plugin" ||
		got.Metadata["name"] != "thalassa" || got.Spec.Version != "v1.0.0" {
		t.Errorf("manifest\n%s", files["thalassa.yaml"])
	}
	if short := got.Spec.ShortDescription; short == "" || len(short) > 50 || strings.ContainsAny(short, "\r\n") {
		t.Errorf("short description %q", short)
	}
	var want []map[string]any
	for _, platform := range [][3]string{{"linux", "amd64", ".tar.gz"}, {"linux", "arm64", ".tar.gz"},
		{"darwin", "amd64", ".tar.gz"}, {"darwin", "arm64", ".tar.gz"}, {"windows", "amd64", ".zip"}} {
		name := "kubectl-thalassa_1.0.0_" + platform[0] + "_" + platform[1] + platform[2]
		bin := "kubectl-thalassa"
		if platform[0] == "windows" {
			bin += ".exe"
		}
		want = append(want, map[string]any{
			"uri":    "https://github.com/thalassa-cloud/thalassa-ccm/releases/download/v1.0.0/" + name,
			"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(files[name]))), "bin": bin,
			"selector": map[string]any{"matchLabels": map[string]any{"os": platform[0], "arch": platform[1]}}})
	}
	if diff := cmp.Diff(want, got.Spec.Platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// TestPluginWithAnotherManifest: a manifest that names other archives than the artifact has is found.
func TestPluginWithAnotherManifest(t *testing.T) {
	key, public := newKey(t)
	r, _ := published(t, key)
	item := listOf(t, r, public).of(KindPlugin)[0]
	plugin := imageOf(t, get(t, r, item.Repository, item.Digest))
	sboms := make([]Item, 5)
	if err := installable(plugin, sboms); err != nil {
		t.Error(err)
	}
	layers := manifestOf(t, plugin).Layers
	changed := artifact.Manifest{Type: pluginType}
	for _, layer := range layers {
		one, err := plugin.LayerByDigest(layer.Digest)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := one.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		changed.Layers = append(changed.Layers, artifact.Blob{Type: layer.MediaType, Content: text})
	}
	manifest := &changed.Layers[len(layers)-1].Content
	for name, text := range map[string][]byte{
		"another digest": regexp.MustCompile(`sha256: .*`).ReplaceAll(*manifest,
			[]byte("sha256: "+strings.Repeat("0a", 32))),
		"an unknown field": append(slices.Clone(*manifest), "more: true\n"...),
		"nothing":          bytes.TrimSpace(nil),
	} {
		*manifest = text
		image, err := changed.Image()
		if err != nil {
			t.Fatal(err)
		}
		if err := installable(image, sboms); err == nil || !strings.Contains(err.Error(), "manifest for krew") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}
