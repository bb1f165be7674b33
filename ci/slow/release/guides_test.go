package release

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/thalassa-cloud/thalassa-ccm/tools/release"
)

// The guides whose commands these tests execute, and the host of the reader's registry in them.
const (
	cutGuide     = "docs/guides/cut-a-release.md"
	verifyGuide  = "docs/guides/verify-a-release.md"
	offlineGuide = "docs/guides/without-internet.md"
	ownHost      = "registry.example.com"
)

// testVerifyGuide verifies the release as the guide does, and makes it again.
func (p published) testVerifyGuide(t *testing.T) {
	blocks := p.guide(t, verifyGuide, 4)
	if script := strings.TrimSpace(blocks[0]); script != "" {
		t.Errorf("not all commands for one artifact are of cosign: %s", script)
	}
	files := newPlace(t, p.file(""), nil) // as somebody has them who downloaded them
	if printed := files.run(t, blocks[1]); !strings.Contains(printed, "images.txt: OK\n") {
		t.Errorf("the files:\n%s", printed)
	}
	reader := p.clone(t, newRegistry())
	p.wantGood(t, release.Registry, reader.run(t, blocks[2]))
	image := "/cloud-controller-manager:" + p.version + "@" + p.digest(t, "cloud-controller-manager") + "\n"
	if printed := reader.run(t, blocks[3]); !strings.Contains(printed, image) {
		t.Errorf("no %s in\n%s", image, printed)
	}
	again := p
	again.sources = reader.shell.Dir
	p.wantSame(t, again)
	if output, err := again.try(t.Context(), nil, "publish", "--registry="+p.base+"/dry-run"); err == nil ||
		!strings.Contains(output, "dry run") {
		t.Errorf("a dry run: %v\n%s", err, output)
	}
}

// wantGood wants `release verify` to have printed that everything in a registry is good.
func (p published) wantGood(t *testing.T, registry, printed string) {
	t.Helper()
	for _, want := range []string{"/cloud-controller-manager@", "/csi-driver@", "/emulator@", "/charts/thalassa-ccm@",
		"/charts/thalassa-csi@", "/kustomize@", "/kubectl-thalassa@"} {
		if !regexp.MustCompile(`(?m)^good +\S+ +` + regexp.QuoteMeta(registry+want)).MatchString(printed) {
			t.Errorf("nothing is said about %s:\n%s", want, printed)
		}
	}
	if want := "\nv" + p.version + " is complete and was made from commit " + p.revision + "\n"; !strings.HasSuffix(
		printed, want) {
		t.Errorf("the end is not %q:\n%s", want, printed)
	}
}

// wantSame wants everything but what contains chance to be the same in another run of make release, byte by byte.
func (p published) wantSame(t *testing.T, again published) {
	t.Helper()
	files, err := filepath.Glob(again.file("*"))
	if err != nil || len(files) < 9 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "oci" || name == "SHA256SUMS" { // one has no signatures, and no key
			continue
		}
		wantFile(t, file, p.file(name))
	}
}

// testOfflineGuide copies the release as the guide does, and installs it in a network that has no other host than the
// registry there.
func (p published) testOfflineGuide(t *testing.T) {
	blocks, registry := p.guide(t, offlineGuide, 5), ownHost+"/thalassa-ccm"
	outside := p.clone(t, newRegistry())
	p.wantGood(t, registry, outside.run(t, blocks[0]))
	outside.run(t, blocks[1])

	inside := newPlace(t, t.TempDir(), map[string]http.Handler{ownHost: newRegistry()})
	folder := "thalassa-ccm-" + p.version
	if err := os.Rename(filepath.Join(outside.shell.Dir, folder), filepath.Join(inside.shell.Dir, folder)); err != nil {
		t.Fatal(err)
	}
	p.wantGood(t, registry, inside.run(t, blocks[2]))
	p.downloadPlugin(t, inside, blocks[3])
	p.installInside(t, inside, blocks[4])
}

// downloadPlugin downloads the plug-in of kubectl from the registry.
func (p published) downloadPlugin(t *testing.T, inside place, script string) {
	t.Helper()
	inside.run(t, script)
	archive := "kubectl-thalassa_" + p.version + "_linux_amd64.tar.gz"
	wantFile(t, filepath.Join(inside.shell.Dir, archive), p.file(archive))
	for _, program := range []string{"kubectl-thalassa", "kubectl_complete-thalassa"} {
		if info, err := os.Stat(filepath.Join(inside.shell.Dir, program)); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s is not a program (%v)", program, err)
		}
	}
}

// testORAS downloads the files of the plug-in as `oras pull` does: each has the name that it has in the release.
func (p published) testORAS(t *testing.T) {
	repository, err := remote.NewRepository(p.base + "/kubectl-thalassa")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	folder := t.TempDir()
	store, err := file.New(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if _, err := oras.Copy(t.Context(), repository, p.version, store, "", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 5 {
		t.Errorf("files %v (%v), want 5 archives", files, err)
	}
	for _, file := range files {
		wantFile(t, file, p.file(filepath.Base(file)))
	}
}

// wantFile wants two files to have the same content.
func wantFile(t *testing.T, got, want string) {
	t.Helper()
	expected, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(got); err != nil || !bytes.Equal(content, expected) {
		t.Errorf("%s is not the same as in the release (%v)", filepath.Base(got), err)
	}
}

// installInside installs the chart, whose pods run the image in the registry there.
func (p published) installInside(t *testing.T, inside place, script string) {
	t.Helper()
	values, err := os.ReadFile(filepath.Join(p.sources, "charts", "thalassa-ccm", "ci", "minimal-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside.shell.Dir, "my-values.yaml"), values, 0o600); err != nil {
		t.Fatal(err)
	}
	const uninstall = "helm uninstall thalassa-ccm --namespace kube-system\n"
	const show = "kubectl get daemonset thalassa-ccm --namespace kube-system --output yaml\n"
	printed := inside.run(t, script+show+uninstall)
	want := "image: " + ownHost + "/thalassa-ccm/cloud-controller-manager@" + p.digest(t, "cloud-controller-manager")
	if !strings.Contains(printed, want) {
		t.Errorf("no %s in\n%s", want, printed)
	}
}
