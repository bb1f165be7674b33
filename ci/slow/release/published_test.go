package release

import (
	"bytes"
	"context"
	"crypto"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	cosignsignature "github.com/sigstore/cosign/v3/pkg/signature"

	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/release"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// published is a release of this repository as it is, in a registry of this process: signed, made and uploaded by the
// command that the make targets call.
type published struct {
	command  string // the release command
	sources  string // a git clone of what a release is made from
	revision string // its commit
	version  string // without "v"
	key      []byte // the public one
	base     string // the registry, with the path that releases have on releaseHost
	registry artifact.Registry
	handler  http.Handler // of the registry
}

// releaseHost is where release.Registry is.
const releaseHost = "ghcr.io"

// newRegistry serves an empty registry.
func newRegistry() http.Handler {
	return registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
}

// publish makes a release of this repository and uploads it.
func publish(t *testing.T) published {
	t.Helper()
	loaded, err := chart.Load(checkout.Path(t, "charts/thalassa-ccm"))
	if err != nil {
		t.Fatal(err)
	}
	p := published{command: repotest.Command(t, "release"), sources: t.TempDir(), version: loaded.Metadata.Version}
	p.handler = newRegistry()
	server := httptest.NewServer(p.handler)
	t.Cleanup(server.Close)
	p.base = strings.TrimPrefix(server.URL, "http://") + strings.TrimPrefix(release.Registry, releaseHost)
	p.registry = artifact.At(p.base)
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte("password"), nil })
	if err != nil {
		t.Fatal(err)
	}
	p.key = keys.PublicBytes
	p.copySources(t)
	p.revision = p.commit(t)

	key := []string{"RELEASE_KEY=" + string(keys.PrivateBytes), "COSIGN_PASSWORD=password"}
	owner := p.place(t, p.sources, nil)
	owner.run(t, p.cut(t, "make release VERSION=v1.2.3"), key...)
	output := owner.run(t, p.cut(t, "make publish VERSION=v1.2.3 KEY=cosign.pub"))
	if !strings.Contains(output, release.Registry+"/charts/thalassa-ccm@sha256:") {
		t.Errorf("publish prints\n%s", output)
	}
	return p
}

// cut returns a command of the guide to cut a release, for the version of this one.
func (p published) cut(t *testing.T, command string) string {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, cutGuide))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "`"+command+"`") {
		t.Fatalf("%s does not have the command %q any more", cutGuide, command)
	}
	return strings.ReplaceAll(command, "1.2.3", p.version)
}

// copySources copies what a release is made from and make needs. A version that is not released yet has its changes
// under "Unreleased": there they get their heading.
func (p published) copySources(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"src", "charts", "ci", "kustomize", "tools"} {
		if err := os.CopyFS(filepath.Join(p.sources, folder), os.DirFS(checkout.Path(t, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"CHANGELOG.md", "LICENSE", "charts/thalassa-ccm/CHANGELOG.md",
		"charts/thalassa-csi/CHANGELOG.md", ".gitignore", "Makefile", "go.work", "go.work.sum"} {
		text, err := os.ReadFile(checkout.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if heading := "## [" + p.version + "]"; !bytes.Contains(text, []byte(heading)) {
			text = bytes.Replace(text, []byte("## [Unreleased]"), []byte(heading+" - 2026-11-21"), 1)
		}
		if err := os.WriteFile(filepath.Join(p.sources, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repotest.LimitPlatforms(t, p.sources)
	p.write(t, "cosign.pub", p.key) // which users trust
}

func (p published) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.sources, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// committed is when the commit of every clone is made, so that two of the same sources are the same commit.
const committed = "2026-11-21T10:00:00Z"

// commit makes a git clone of the sources, with the tag of the version, and leaves things in it that are not committed.
func (p published) commit(t *testing.T) (revision string) {
	t.Helper()
	for _, arguments := range [][]string{
		{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message=all"},
		strings.Fields(p.cut(t, "git tag --annotate --message=v1.2.3 v1.2.3"))[1:], {"rev-parse", "HEAD"},
	} {
		revision = p.git(t, arguments...)
	}
	p.write(t, "src/untracked.go", []byte("package does not compile"))
	p.write(t, "kustomize/.env", []byte("SECRET=1"))
	p.write(t, "charts/thalassa-ccm/kubeconfig", []byte("SECRET=1"))
	return revision
}

// git runs git without anybody's settings.
func (p published) git(t *testing.T, arguments ...string) string {
	t.Helper()
	who := []string{"-c", "user.name=Test", "-c", "user.email=test@example.com"}
	command := exec.CommandContext(t.Context(), "git", append(who, arguments...)...)
	command.Dir = p.sources
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE="+
		committed, "GIT_COMMITTER_DATE="+committed)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// try runs the release command, and returns what it prints.
func (p published) try(ctx context.Context, environment []string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, p.command, append(arguments, "--version=v"+p.version)...)
	command.Dir, command.Env = p.sources, append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// file is one of those that the release consists of, below its folder.
func (p published) file(name string) string {
	return filepath.Join(p.sources, "dist", "release", "v"+p.version, name)
}

// digest is that of an image.
func (p published) digest(t *testing.T, image string) string {
	t.Helper()
	got, err := p.registry.Get(t.Context(), image, p.version)
	if err != nil {
		t.Fatal(err)
	}
	return got.Digest.String()
}

// artifact is what the registry has under the release's version.
func (p published) artifact(t *testing.T, repository string) v1.Image {
	t.Helper()
	got, err := p.registry.Get(t.Context(), repository, p.version)
	if err != nil {
		t.Fatal(err)
	}
	image, err := got.Image()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestMain(m *testing.M) {
	if code, is := docs.Main(); is {
		os.Exit(code)
	}
	controlplanetest.Main(m)
}

// TestPublished makes a release of this repository, publishes it, and uses it in every way that the documentation
// shows.
func TestPublished(t *testing.T) {
	tier.NeedFull(t)
	p := publish(t)
	t.Run("notes", p.testNotes)
	t.Run("plug-in", p.testPlugin)
	t.Run("cosign", p.testCosign)
	t.Run("guide to verify", p.testVerifyGuide)
	t.Run("guide without internet", p.testOfflineGuide)
	t.Run("oras", p.testORAS)
	t.Run("the tag that sources name", p.testTag)
	t.Run("helm 3", p.testHelm3)
	for _, product := range p.products() {
		t.Run(product.prefix+"flux chart", product.testFluxChart)
		t.Run(product.prefix+"flux bundle", product.testFluxBundle)
		t.Run(product.prefix+"argocd chart", product.testArgoCDChart)
	}
	t.Run("the tag alone", p.testTagAlone)
}

func (p published) testNotes(t *testing.T) {
	notes, err := os.ReadFile(p.file("notes.md"))
	if err != nil || !strings.Contains(string(notes), "Helm chart `thalassa-ccm`") ||
		strings.Contains(string(notes), "## [") {
		t.Errorf("error %v, notes:\n%s", err, notes)
	}
	images, err := os.ReadFile(p.file("images.txt"))
	if err != nil || !strings.Contains(string(images), "/cloud-controller-manager:"+p.version+"@"+
		p.digest(t, "cloud-controller-manager")+"\n") {
		t.Errorf("error %v, images:\n%s", err, images)
	}
}

// testCosign verifies everything that is signed with cosign's own library, and that it is about this artifact of this
// version.
func (p published) testCosign(t *testing.T) {
	other, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, repository := range []string{"cloud-controller-manager", "csi-driver", "emulator", "charts/thalassa-ccm",
		"charts/thalassa-csi", "kustomize", "kubectl-thalassa", "release"} {
		if err := p.cosign(t, repository, p.key, repository, p.version); err != nil {
			t.Errorf("%s: %v", repository, err)
		}
		for name, err := range map[string]error{
			"another key":      p.cosign(t, repository, other.PublicBytes, repository, p.version),
			"another artifact": p.cosign(t, repository, p.key, "other", p.version),
			"another version":  p.cosign(t, repository, p.key, repository, "9.9.9"),
		} {
			if err == nil {
				t.Errorf("%s is accepted for %s", repository, name)
			}
		}
	}
}

// cosign is `cosign verify --key --insecure-ignore-tlog --annotations artifact=…,version=…`.
func (p published) cosign(t *testing.T, repository string, key []byte, artifact, version string) error {
	t.Helper()
	reference, err := name.ParseReference(p.base + "/" + repository + ":" + p.version)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := cosignsignature.LoadPublicKeyRaw(key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = cosign.VerifyImageSignatures(t.Context(), reference, &cosign.CheckOpts{
		SigVerifier: verifier, IgnoreTlog: true, ClaimVerifier: cosign.SimpleClaimVerifier,
		Annotations: map[string]any{"artifact": artifact, "version": version},
	})
	return err
}

// testTag: who installs from Git gets the image that was published, and not one whose name lacks a letter.
func (p published) testTag(t *testing.T) {
	for _, file := range []string{"base/self-managed/daemonset.yaml", "base/managed/deployment.yaml"} {
		text, err := os.ReadFile(filepath.Join(p.sources, "kustomize", file))
		if err != nil {
			t.Fatal(err)
		}
		if want := "/cloud-controller-manager:" + p.version + `"`; !strings.Contains(string(text), want) {
			t.Errorf("kustomize/%s has no image with %s", file, want)
		}
	}
	p.digest(t, "cloud-controller-manager") // is asked by that tag
}
