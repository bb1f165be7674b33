package release

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// program is a small Go program, built once.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "release-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "program")
	if err := os.WriteFile(path+".go", []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, path+".go")
	build.Dir = folder
	output, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if tier.Full() { // no test of the quick tier builds it
		if path, err := program(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// built are the images that were made before: compressing takes seconds under the race detector.
var built sync.Map // program's name and stamp -> v1.ImageIndex

// small builds the small program and images of it, in place of the real ones that take minutes.
func small() builder { return builder{image: smallImage, program: smallProgram} }

// smallProgram is another one for each platform.
func smallProgram(_ context.Context, _ string, p image.Program, on v1.Platform, _ image.Stamp, target string) error {
	path, err := program()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(target, append(content, p.Name+" "+on.String()...), 0o600)
}

func smallImage(_ context.Context, _ string, p image.Program, s image.Stamp) (v1.ImageIndex, error) {
	name := fmt.Sprint(p.Name, s)
	if index, made := built.Load(name); made {
		return index.(v1.ImageIndex), nil
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	content := image.Content{Executable: path, Debian: []image.File{{Path: "/var/lib/dpkg/status.d/mount", Mode: 0o644,
		Content: "Package: mount\nVersion: 2.41-5\nArchitecture: all\nSHA256: " + strings.Repeat("0a", 32) + "\n"}}}
	index, err := image.Assemble(p, s, map[string]image.Content{"amd64": content, "arm64": content})
	if err == nil {
		built.Store(name, index)
	}
	return index, err
}

// otherDigest is that of an image that a release does not contain.
const otherDigest = "sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

// sidecarValues are the values of two images of others, and the setting of both.
const sidecarValues = `sidecars:
  timeout: 60
  attacher: {image: {registry: registry.example.com, repository: a/csi-attacher, tag: v1.0.0, digest: ""}}
  resizer: {image: {registry: registry.example.com, repository: a/csi-resizer, tag: v2.0.0, digest: ` + otherDigest + `}}
`

// sidecars are the images in sidecarValues.
func sidecars() []string {
	return []string{"registry.example.com/a/csi-attacher:v1.0.0",
		"registry.example.com/a/csi-resizer:v2.0.0@" + otherDigest}
}

// source is a repository with the least that a release is made of.
func source(t *testing.T) Source {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"CHANGELOG.md": changelog, "LICENSE": "Apache License\n",
		"src/go.mod": "module x\n", "src/go.sum": "",
		"src/emulator/go.mod": "module x/emulator\n", "src/emulator/go.sum": "", "tools/debian/packages.json": "{}\n",
		"kustomize/README.md": "# Overlays\n",
	}
	for _, program := range charted() {
		folder := "charts/" + program.Chart + "/"
		files[folder+"CHANGELOG.md"] = changelog
		files[folder+"Chart.yaml"] = "apiVersion: v2\nname: " + program.Chart +
			"\ndescription: A chart.\nversion: 1.0.0\nappVersion: 1.0.0\n"
		files[folder+"values.yaml"] = "# Registry.\nimage:\n  tag: \"\"\n  # Digest; wins over the tag.\n " +
			" digest: \"\"\n  pullPolicy: IfNotPresent\n" + sidecarValues
		files[folder+"templates/cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: " +
			"{image: {{ .Values.image.digest | quote }}}\n"
		files["kustomize/base/"+program.Repository+".yaml"] = "image: \"" + Registry + "/" + program.Repository +
			":0.0.0\"\n"
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Source{Root: root, Version: "v1.0.0", Revision: strings.Repeat("0a", 20), Committed: time.Date(2026, 11, 21,
		10, 0, 0, 0, time.UTC)}
}

func newKey(t *testing.T) (*signature.Key, signature.PublicKey) {
	t.Helper()
	generated, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// Without a password: to derive a key from one takes seconds under the race detector.
	private, err := cryptoutils.MarshalPrivateKeyToPEM(generated)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.KeyFrom(func(name string) string {
		return map[string]string{signature.EnvKey: string(private)}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	public, err := signature.ParsePublicKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return &key, public
}

// made is a release in a folder.
func made(t *testing.T, s Source, key *signature.Key) (folder, output string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "release")
	if key != nil {
		commitKey(t, s, key)
	}
	var out strings.Builder
	if err := makeWith(t.Context(), small(), s, folder, key, &out); err != nil {
		t.Fatal(err)
	}
	return folder, out.String()
}

// commitKey puts the public half of a key into the sources.
func commitKey(t *testing.T, s Source, key *signature.Key) {
	t.Helper()
	public, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, "cosign.pub"), public, 0o600); err != nil {
		t.Fatal(err)
	}
}

// content is all files of a release but those that hold signatures, which are never twice the same.
func content(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestMake(t *testing.T) {
	tier.NeedFull(t)
	s := source(t)
	folder, output := made(t, s, nil)
	if !strings.Contains(output, "nothing is signed") {
		t.Errorf("output %q", output)
	}
	files := content(t, folder)
	for _, name := range []string{
		"SHA256SUMS", "images.txt", "notes.md", "thalassa-ccm-1.0.0.tgz", "thalassa-ccm-kustomize-1.0.0.tar.gz",
		"thalassa-emulator-amd64.spdx.json", "thalassa-cloud-controller-manager-arm64.spdx.json", "oci/index.json",
	} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if sbom, want := files["thalassa-emulator-amd64.spdx.json"], "pkg:deb/debian/mount@2.41-5?"; !strings.Contains(sbom,
		want) {
		t.Errorf("the SBOM lacks %s:\n%s", want, sbom)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = folder
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, output)
	}
	if lines := strings.Split(strings.TrimSpace(files["images.txt"]), "\n"); len(lines) < 5 ||
		!slices.Equal(lines[3:5], sidecars()) ||
		!strings.HasPrefix(lines[0], Registry+"/cloud-controller-manager:1.0.0@sha256:") {
		t.Errorf("images:\n%s", files["images.txt"])
	}
	again, _ := made(t, s, nil)
	for name, text := range content(t, again) {
		if files[name] != text {
			t.Errorf("%s is not the same when it is made again", name)
		}
	}
	if err := makeWith(t.Context(), small(), s, folder, nil, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "remove it to make the release again") {
		t.Errorf("a release over another one: %v", err)
	}
}

// TestFailedReleaseLeavesNothing that would be in the way of the next, or be taken for a release.
func TestFailedReleaseLeavesNothing(t *testing.T) {
	tier.NeedFull(t)
	s := source(t)
	dist := t.TempDir()
	broken := small()
	broken.program = func(context.Context, string, image.Program, v1.Platform, image.Stamp, string) error {
		return errors.New("does not compile")
	}
	if err := makeWith(t.Context(), broken, s, filepath.Join(dist, "v1.0.0"), nil, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "does not compile") {
		t.Errorf("error = %v", err)
	}
	if left, err := os.ReadDir(dist); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCheck(t *testing.T) {
	err := Source{Version: "1.0", Revision: strings.Repeat("0a", 20) + "-dirty"}.Check()
	for _, want := range []string{"want one like v1.2.3", "not everything is committed", "time of the commit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
	if err := (Source{Version: "v1.0.0", Committed: time.Now()}).Check(); err == nil ||
		!strings.Contains(err.Error(), "git clone") {
		t.Errorf("error = %v", err)
	}
	if err := source(t).Check(); err != nil {
		t.Error(err)
	}
}
