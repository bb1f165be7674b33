package image

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

var stamp = Stamp{Version: "v1.2.3", Revision: "0123456789abcdef0123456789abcdef01234567",
	Committed: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}

// budgets are the sizes in bytes that images have now, compressed, by program and architecture. A test fails when one
// is a tenth over: then find out what made it grow, and raise the number by hand if it is worth it. The CCM's must stay
// below 18 MB.
var budgets = map[string]int64{
	"thalassa-cloud-controller-manager amd64": 16_000_000,
	"thalassa-cloud-controller-manager arm64": 15_150_000,
	"thalassa-emulator amd64":                 6_010_000,
	"thalassa-emulator arm64":                 5_420_000,
	"thalassa-csi-driver amd64":               14_300_000,
	"thalassa-csi-driver arm64":               13_600_000,
}

// debianBudget is the size in bytes that the layer with programs of Debian has now, compressed, on the larger platform.
const debianBudget = 2_970_000

const largest = 18_000_000

// made builds all images in a copy of the sources, in a folder of its own, with the command that `make image` calls.
// The command is a process of its own, because compressing is ten times as slow under the race detector.
func made(t *testing.T, folder string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(folder, "src"), os.DirFS(checkout.Path(t, "src"))); err != nil {
		t.Fatal(err)
	}
	pins, err := os.ReadFile(checkout.Path(t, debian.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(debian.LockFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"go.work": nil, debian.LockFile: pins} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repotest.LimitPlatforms(t, folder)
	command := exec.CommandContext(t.Context(), repotest.Command(t, "image"), "--version="+stamp.Version, "--revision="+
		stamp.Revision, "--committed="+stamp.committed())
	command.Dir = folder
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "MB to download") {
		t.Fatalf("%v\n%s", err, output)
	}
}

func digestOf(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// TestImages of the real programs, made twice in different folders and with different settings of the environment.
func TestImages(t *testing.T) {
	tier.NeedFull(t)
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "another", "place")
	made(t, here)
	t.Setenv("GOFLAGS", "-trimpath=false")
	t.Setenv("GOFIPS140", "latest")
	settings := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(settings, []byte("GOEXPERIMENT=nogreenteagc\nGOFLAGS=-tags=other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	made(t, there)
	for _, program := range Programs() {
		t.Run(program.Name, func(t *testing.T) {
			index, again := layoutOf(t, here, program), layoutOf(t, there, program)
			if one, two := digestOf(t, index), digestOf(t, again); one != two {
				t.Errorf("made in another folder the digest is %s, not %s", two, one)
			}
			images, err := Images(index)
			if err != nil {
				t.Fatal(err)
			}
			for _, platform := range platforms() {
				t.Run(platform.Architecture, func(t *testing.T) {
					check(t, program, platform, images[platform.Architecture])
				})
			}
			t.Run("runs", func(t *testing.T) { runs(t, program, images[runtime.GOARCH]) })
		})
	}
}

// A container of the emulator can be checked without a shell, and its user can write to a volume.
func TestEmulatorHasAHealthCheckAndAFolder(t *testing.T) {
	_, index := small(t)
	images, err := Images(index)
	if err != nil {
		t.Fatal(err)
	}
	config, err := images["amd64"].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CMD", "/thalassa-emulator", "health", "--endpoint=http://127.0.0.1:8080"}
	if check := config.Config.Healthcheck; check == nil || !slices.Equal(check.Test, want) || check.Interval <= 0 {
		t.Errorf("health check %+v, want %q", check, want)
	}
	folder := contents(t, images["amd64"])["state"]
	if folder == nil || folder.Typeflag != tar.TypeDir || folder.Mode != 0o777 {
		t.Errorf("the folder for volumes is %+v", folder)
	}
}

func layoutOf(t *testing.T, folder string, program Program) v1.ImageIndex {
	t.Helper()
	index, err := ReadLayout(filepath.Join(folder, "dist", "images", program.Name))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// small is the image of a program that is a few bytes.
func small(t *testing.T) (Program, v1.ImageIndex) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := Programs()[1]
	index, err := Assemble(program, stamp, map[string]Content{"amd64": {Executable: path}, "arm64": {Executable: path}})
	if err != nil {
		t.Fatal(err)
	}
	return program, index
}

// check checks the image for one platform.
func check(t *testing.T, program Program, on v1.Platform, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != on.Architecture || !config.Created.Equal(stamp.Committed) {
		t.Errorf("configuration says %s/%s of %s", config.OS, config.Architecture, config.Created)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/" + program.Name}) {
		t.Errorf("runs %v as %s", config.Config.Entrypoint, config.Config.User)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"org.opencontainers.image.version": "v1.2.3", "org.opencontainers.image.revision": stamp.Revision,
		"org.opencontainers.image.created": "2026-11-21T10:00:00Z", "org.opencontainers.image.title": program.Title,
	} {
		if manifest.Annotations[key] != want || config.Config.Labels[key] != want {
			t.Errorf("%s: annotation %q, label %q; want %q", key, manifest.Annotations[key], config.Config.Labels[key],
				want)
		}
	}
	size, err := Size(image)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB to download", float64(size)/1e6)
	if layer := manifest.Layers[0].Size; len(program.Debian) > 0 && layer > debianBudget+debianBudget/10 {
		t.Errorf("the layer with programs of Debian has %d bytes; the budget is %d and a tenth", layer, debianBudget)
	}
	if budget := budgets[program.Name+" "+on.Architecture]; size > budget+budget/10 || size > largest {
		t.Errorf("%d bytes to download; the budget is %d and a tenth, and never more than %d", size, budget, largest)
	}
}

// contents are the files of an image, with their modes.
func contents(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	files := map[string]*tar.Header{}
	reader := mutate.Extract(image)
	defer reader.Close()
	for archive := tar.NewReader(reader); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header
	}
}

// runs starts the program that is in an image, and checks its version.
func runs(t *testing.T, program Program, image v1.Image) {
	t.Helper()
	files := contents(t, image)
	own := 4 + len(program.Names) + len(program.Folders) // /etc, passwd, group, the program
	if len(program.Debian) == 0 && len(files) != own {
		t.Errorf("files %v", files)
	}
	for _, name := range program.Names {
		if link := files[name]; link == nil || link.Typeflag != tar.TypeSymlink || link.Linkname != program.Name {
			t.Errorf("the other name %s of the program: %+v", name, link)
		}
	}
	for _, path := range program.Debian {
		if files[strings.TrimPrefix(path, "/")] == nil {
			t.Errorf("%s is missing", path)
		}
	}
	header := files[program.Name]
	if header == nil || header.Mode != 0o755 || header.Uid != 0 {
		t.Fatalf("the program in the image: %+v", header)
	}
	path := extracted(t, image, program.Name)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(info.Deps, func(m *debug.Module) bool {
		return m.Path == "golang.org/x/crypto/x509roots/fallback"
	}) {
		t.Error("the program does not bring the public certificate authorities, and the image has none")
	}
	output, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "v1.2.3 (revision "+stamp.Revision+" of 2026-11-21T10:00:00Z)") {
		t.Errorf("--version says %q, %v", output, err)
	}
}

// extracted is one file of an image, on disk.
func extracted(t *testing.T, image v1.Image, file string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	content, err := Extract(image, "/"+file)
	if err == nil {
		err = os.WriteFile(path, content, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(image, "/missing"); !errors.Is(err, io.EOF) {
		t.Errorf("a file that is not in the image: %v", err)
	}
	return path
}

// TestWrite reads layout and archives back as their users do.
func TestWrite(t *testing.T) {
	program, index := small(t)
	folder, reference := t.TempDir(), "registry.example.com/x:v1.2.3"
	for range 2 { // over what is there
		if err := write(folder, program.Name, reference, index, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	again, err := ReadLayout(filepath.Join(folder, program.Name))
	if err != nil || digestOf(t, again) != digestOf(t, index) {
		t.Errorf("the layout holds another image: %v", err)
	}
	if err := validate.Index(again); err != nil {
		t.Errorf("not a valid index: %v", err)
	}
	images, err := Images(index)
	if err != nil {
		t.Fatal(err)
	}
	for architecture, image := range images {
		tag, err := name.NewTag(reference)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := tarball.ImageFromPath(filepath.Join(folder, program.Name+"-"+architecture+".tar"), &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(loaded); err != nil {
			t.Errorf("as Docker reads it: %v", err)
		}
		want, _ := image.ConfigName()
		if got, err := loaded.ConfigName(); err != nil || got != want {
			t.Errorf("as Docker reads it, the image is %s, %v; want %s", got, err, want)
		}
	}
	for architecture, image := range images {
		readOCI(t, filepath.Join(folder, program.Name+"-"+architecture+".tar"), reference, image)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1+len(platforms()) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// readOCI reads an archive as containerd does: an OCI image layout whose index names the image.
func readOCI(t *testing.T, path, reference string, image v1.Image) {
	t.Helper()
	folder := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "--extract", "--file", path, "--directory", folder)
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("as containerd reads it: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digest ||
		manifest.Manifests[0].Annotations["io.containerd.image.name"] != reference {
		t.Errorf("as containerd reads it: %+v, want %s as %s", manifest.Manifests, digest, reference)
	}
}

// TestPush uploads to a real registry, and reads back by digest.
func TestPush(t *testing.T) {
	program, index := small(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to, folder := strings.TrimPrefix(server.URL, "http://")+"/mirror", t.TempDir()
	for _, p := range Programs() {
		if err := WriteLayout(filepath.Join(folder, p.Name), "x:v1.2.3", index); err != nil {
			t.Fatal(err)
		}
	}
	var output strings.Builder
	if err := PushAll(t.Context(), folder, to, "v1.2.3", &output); err != nil {
		t.Fatal(err)
	}
	reference := to + "/" + program.Repository
	if want := reference + ":1.2.3@" + digestOf(t, index) + "\n"; !strings.Contains(output.String(), want) {
		t.Errorf("output %q, want %q in it", output.String(), want)
	}
	by, err := name.ParseReference(reference + "@" + digestOf(t, index))
	if err != nil {
		t.Fatal(err)
	}
	there, err := remote.Index(by)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(there); err != nil {
		t.Error(err)
	}
	if err := PushAll(t.Context(), t.TempDir(), to, "v1.2.3", io.Discard); err == nil ||
		!strings.Contains(err.Error(), "make image writes it") {
		t.Errorf("without images: %v", err)
	}
}

func TestBrokenSources(t *testing.T) {
	tier.NeedFull(t)
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "src", "cmd", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "src", "go.mod"), []byte("module x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "src", "cmd", "x", "main.go"),
		[]byte("package main\nfunc main() { oops }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(context.Background(), folder, Program{Name: "x", Module: "src"}, stamp); err == nil ||
		!strings.Contains(err.Error(), "oops") {
		t.Errorf("error = %v, want what the compiler says", err)
	}
}

// TestNothingIsMadeUp: outside git, an image names neither revision nor time.
func TestNothingIsMadeUp(t *testing.T) {
	for key := range labels(Programs()[0], Stamp{Version: "devel"}) {
		if strings.HasSuffix(key, ".revision") || strings.HasSuffix(key, ".created") {
			t.Errorf("label %s", key)
		}
	}
}

func TestLayerIsTheSameWhateverTheOrder(t *testing.T) {
	files := []File{{Path: "/b/c", Mode: 0o644, Content: "c"}, {Path: "/a", Mode: 0o600, Content: "a"}}
	var archives [2]bytes.Buffer
	for i := range archives {
		layer, err := NewLayer(files, stamp.Committed)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&archives[i], reader); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("the order of the files changes the layer")
	}
	if _, err := NewLayer([]File{{Path: "/x", Source: filepath.Join(t.TempDir(), "missing")}},
		stamp.Committed); err == nil {
		t.Error("a file that is missing is no error")
	}
}
