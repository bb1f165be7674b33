package release

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// program is a small Go program that is made of modules, built once.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "release-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "program")
	output, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../cmd/image").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// small builds images of the small program, in place of the real ones that take minutes.
func small(_ context.Context, _ string, p image.Program, s image.Stamp) (v1.ImageIndex, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	return image.Assemble(p, s, map[string]string{"amd64": path, "arm64": path})
}

// source is a repository with the least that a release is made of.
func source(t *testing.T) Source {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"CHANGELOG.md": changelog, "src/go.mod": "module x\n", "src/go.sum": "",
		"charts/thalassa-ccm/CHANGELOG.md":      changelog,
		"charts/thalassa-ccm/Chart.yaml":        "apiVersion: v2\nname: thalassa-ccm\ndescription: A chart.\nversion: 1.0.0\nappVersion: 1.0.0\n",
		"charts/thalassa-ccm/values.yaml":       "# Registry.\nimage:\n  tag: \"\"\n  # Digest; wins over the tag.\n  digest: \"\"\n  pullPolicy: IfNotPresent\n",
		"charts/thalassa-ccm/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {image: {{ .Values.image.digest | quote }}}\n",
		"kustomize/base/workload.yaml":          "image: \"" + Registry + "/cloud-controller-manager:0.0.0\"\n",
		"kustomize/README.md":                   "# Overlays\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Source{Root: root, Version: "v1.0.0", Revision: strings.Repeat("0a", 20), Committed: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
}

func newKey(t *testing.T) (*signature.Key, signature.PublicKey) {
	t.Helper()
	private, _, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), cryptoutils.StaticPasswordFunc([]byte("x")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.KeyFrom(func(name string) string {
		return map[string]string{signature.EnvKey: string(private), signature.EnvPassword: "x"}[name]
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
func made(t *testing.T, s Source, key *signature.Key) (folder, told string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "release")
	if key != nil {
		commitKey(t, s, key)
	}
	var out strings.Builder
	if err := makeWith(t.Context(), small, s, folder, key, &out); err != nil {
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
	s := source(t)
	folder, told := made(t, s, nil)
	if !strings.Contains(told, "nothing is signed") {
		t.Errorf("told %q", told)
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
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = folder
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, output)
	}
	if lines := strings.Split(strings.TrimSpace(files["images.txt"]), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], Registry+"/cloud-controller-manager:1.0.0@sha256:") {
		t.Errorf("images:\n%s", files["images.txt"])
	}
	again, _ := made(t, s, nil)
	for name, text := range content(t, again) {
		if files[name] != text {
			t.Errorf("%s is not the same when it is made again", name)
		}
	}
	if err := makeWith(t.Context(), small, s, folder, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "remove it to make the release again") {
		t.Errorf("a release over another one: %v", err)
	}
}

// TestFailedReleaseLeavesNothing that would be in the way of the next, or be taken for a release.
func TestFailedReleaseLeavesNothing(t *testing.T) {
	s := source(t)
	dist := t.TempDir()
	broken := func(context.Context, string, image.Program, image.Stamp) (v1.ImageIndex, error) {
		return nil, errors.New("does not compile")
	}
	if err := makeWith(t.Context(), broken, s, filepath.Join(dist, "v1.0.0"), nil, io.Discard); err == nil || !strings.Contains(err.Error(), "does not compile") {
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
	if err := (Source{Version: "v1.0.0", Committed: time.Now()}).Check(); err == nil || !strings.Contains(err.Error(), "git clone") {
		t.Errorf("error = %v", err)
	}
	if err := source(t).Check(); err != nil {
		t.Error(err)
	}
}

// broken is a registry that can be disturbed.
type broken struct {
	inner http.Handler
	mu    sync.Mutex
	spoil func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func (b *broken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	spoil := b.spoil
	b.mu.Unlock()
	if spoil == nil || !spoil(w, r) {
		b.inner.ServeHTTP(w, r)
	}
}

func (b *broken) set(spoil func(http.ResponseWriter, *http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spoil = spoil
}

func serve(t *testing.T) (artifact.Registry, *broken) {
	t.Helper()
	b := &broken{inner: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return artifact.At(strings.TrimPrefix(server.URL, "http://") + "/path"), b
}

func TestVerify(t *testing.T) {
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	r, _ := serve(t)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil || !strings.Contains(err.Error(), "looking for release v1.0.0") {
		t.Errorf("before it is published: %v", err)
	}
	if err := Publish(t.Context(), folder, r, io.Discard); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	if err := Verify(t.Context(), r, "v1.0.0", public, &told); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image", "chart", "bundle", "sbom", "provenance", "signature"} {
		if !strings.Contains(told.String(), "good  "+want) {
			t.Errorf("nothing is said about any %s:\n%s", want, told.String())
		}
	}
	_, other := newKey(t)
	if err := Verify(t.Context(), r, "v1.0.0", other, io.Discard); err == nil || !strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("with another key: %v", err)
	}
}

// TestTampering: whatever a registry does to one item is found, and named.
func TestTampering(t *testing.T) {
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	r, b := serve(t)
	if err := Publish(t.Context(), folder, r, io.Discard); err != nil {
		t.Fatal(err)
	}
	list, err := Released(t.Context(), r, "v1.0.0", public)
	if err != nil {
		t.Fatal(err)
	}
	chart, document := list.of(KindChart)[0], list.of(KindSBOM)[0]
	got, err := r.Get(t.Context(), chart.Repository, chart.Digest)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := got.Image()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	blob := manifest.Layers[0]
	missing := func(part string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, part) {
				http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
				return true
			}
			return false
		}
	}
	for name, tt := range map[string]struct {
		spoil func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		"another blob of the same size": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/blobs/"+blob.Digest.String()) || r.Method != http.MethodGet {
				return false
			}
			_, _ = w.Write(bytes.Repeat([]byte("x"), int(blob.Size)))
			return true
		}, "chart "},
		"a blob is missing":      {missing("/blobs/" + blob.Digest.String()), "chart "},
		"a document is missing":  {missing("/manifests/" + document.Digest), "sbom "},
		"nothing is attached":    {missing("/referrers/" + document.Subject), "sbom "},
		"a signature is missing": {missing(strings.ReplaceAll(chart.Digest, ":", "-") + ".sig"), "chart "},
		"a tag is missing":       {missing("/charts/thalassa-ccm/manifests/1.0.0"), "chart "},
	} {
		t.Run(name, func(t *testing.T) {
			b.set(tt.spoil)
			defer b.set(nil)
			if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that names the %s", err, tt.want)
			}
		})
	}
}

// TestSignatureOfSomethingElse is not taken for one of this.
func TestSignatureOfSomethingElse(t *testing.T) {
	key, public := newKey(t)
	one, two := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)}, v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("2", 64)}
	signed, err := key.Sign("ghcr.io/x/y", one, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := public.Verify(signed, one); err != nil {
		t.Error(err)
	}
	if err := public.Verify(signed, two); err == nil {
		t.Error("the signature of one digest counts for another")
	}
}

func TestMirror(t *testing.T) {
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	from, _ := serve(t)
	to, b := serve(t)
	if err := Publish(t.Context(), folder, from, io.Discard); err != nil {
		t.Fatal(err)
	}
	// Interrupted: the list is what comes last, so nobody takes half a release for one.
	b.set(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/charts/") && r.Method == http.MethodPut {
			http.Error(w, `{"errors":[{"code":"DENIED"}]}`, http.StatusForbidden)
			return true
		}
		return false
	})
	if err := Mirror(t.Context(), from, to, "v1.0.0", public, io.Discard); err == nil {
		t.Error("an interrupted copy is no error")
	}
	if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err == nil {
		t.Error("half a release was found good")
	}
	b.set(nil)
	if err := Mirror(t.Context(), from, to, "v1.0.0", public, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err != nil {
		t.Error(err)
	}
	_, other := newKey(t)
	if err := Mirror(t.Context(), from, to, "v1.0.0", other, io.Discard); err == nil {
		t.Error("what others have signed was copied")
	}
}

// TestOldReleaseUnderANewName: what is signed is not enough, it has to be the release that was asked for.
func TestOldReleaseUnderANewName(t *testing.T) {
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	r, _ := serve(t)
	if err := Publish(t.Context(), folder, r, io.Discard); err != nil {
		t.Fatal(err)
	}
	old, err := r.Get(t.Context(), listRepository, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), listRepository, "1.0.1", old); err != nil {
		t.Fatal(err)
	}
	to, _ := serve(t)
	for name, err := range map[string]error{
		"verified": Verify(t.Context(), r, "v1.0.1", public, io.Discard),
		"mirrored": Mirror(t.Context(), r, to, "v1.0.1", public, io.Discard),
	} {
		if err == nil || !strings.Contains(err.Error(), "what has this name is release v1.0.0") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestUnsignedIsNotFound(t *testing.T) {
	folder, _ := made(t, source(t), nil)
	r, _ := serve(t)
	if err := Publish(t.Context(), folder, r, io.Discard); err != nil {
		t.Fatal(err)
	}
	_, public := newKey(t)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil || !strings.Contains(err.Error(), "no signature") {
		t.Errorf("error = %v", err)
	}
}
