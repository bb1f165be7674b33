package release

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

func storeOf(t *testing.T, folder string) artifact.Store {
	t.Helper()
	store, err := artifact.Open(filepath.Join(folder, storeFolder))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestDryRunIsNotPublished: what has no signature is no release.
func TestDryRunIsNotPublished(t *testing.T) {
	tier.NeedFull(t)
	folder, _ := made(t, source(t), nil)
	_, public := newKey(t)
	r, b := serve(t)
	b.set(func(http.ResponseWriter, *http.Request) bool {
		t.Error("the registry was asked")
		return false
	})
	want := "v1.0.0 is not signed: it is from a dry run"
	if err := Publish(t.Context(), folder, r, public, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
	if err := Publish(t.Context(), t.TempDir(), r, public, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "make release writes it") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestPublishWithAKey(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	_, other := newKey(t)
	folder, _ := made(t, source(t), key)
	r, _ := serve(t)
	if err := Publish(t.Context(), folder, r, other, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("error = %v", err)
	}
	if _, err := r.Get(t.Context(), listRepository, "1.0.0"); err == nil {
		t.Error("what others have signed was published")
	}
	var output strings.Builder
	if err := Publish(t.Context(), folder, r, public, &output); err != nil {
		t.Fatal(err)
	}
	list := get(t, r, listRepository, "1.0.0").Digest
	if !strings.HasSuffix(output.String(), r.Repository(listRepository)+"@"+list.String()+"\n") {
		t.Errorf("output\n%s\nwant the list last", output.String())
	}
}

// TestPublishedByAnotherRun: no tag is moved, and the error says what happened.
func TestPublishedByAnotherRun(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	s := source(t)
	first, _ := made(t, s, key)
	second, _ := made(t, s, key)
	from, _ := serve(t)
	publish(t, second, from)
	r, b := serve(t)
	publish(t, first, r)
	published := get(t, r, listRepository, "1.0.0").Digest
	var writes atomic.Int32
	b.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
		return false
	})
	want := get(t, from, listRepository, "1.0.0").Digest.String()
	for name, err := range map[string]error{
		"published": Publish(t.Context(), second, r, public, io.Discard),
		"mirrored":  Mirror(t.Context(), from, r, "v1.0.0", public, io.Discard),
	} {
		for _, want := range []string{"it is published already, from another run of make release",
			r.Repository(listRepository) + ":1.0.0 is on " + published.String() + ", not on " + want} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error = %v, want %q", name, err, want)
			}
		}
	}
	if writes.Load() > 0 {
		t.Errorf("%d requests to write", writes.Load())
	}
	publish(t, first, r)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err != nil {
		t.Errorf("published twice: %v", err)
	}
}

// TestTagOfOthers: something that is no release has the tag of one.
func TestTagOfOthers(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	from, _ := serve(t)
	publish(t, folder, from)
	other, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := serve(t)
	put(t, r, "emulator", "1.0.0", other)
	for name, err := range map[string]error{
		"published": Publish(t.Context(), folder, r, public, io.Discard),
		"mirrored":  Mirror(t.Context(), from, r, "v1.0.0", public, io.Discard),
	} {
		if err == nil || !strings.Contains(err.Error(), "a tag is never moved: "+r.Repository("emulator")+
			":1.0.0 is on ") || strings.Contains(err.Error(), "another run") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// index is the index.json of a store, which no signature covers.
func index(t *testing.T, folder string, change func(*v1.IndexManifest)) {
	t.Helper()
	path := filepath.Join(folder, storeFolder, "index.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var manifest v1.IndexManifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	change(&manifest)
	if text, err = json.Marshal(manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChangedFolder: whoever carries a release cannot change what is published.
func TestChangedFolder(t *testing.T) {
	tier.NeedFull(t)
	const name = "org.opencontainers.image.ref.name"
	key, public := newKey(t)
	s := source(t)
	original, _ := made(t, s, key)
	rename := func(from, to string) func(*v1.IndexManifest) {
		return func(m *v1.IndexManifest) {
			for i := range m.Manifests {
				if m.Manifests[i].Annotations[name] == from {
					m.Manifests[i].Annotations[name] = to
				}
			}
		}
	}
	for want, change := range map[string]func(*v1.IndexManifest){
		"emulator:latest@sha256:": rename("emulator:1.0.0", "emulator:latest"),
		"the list names cloud-controller-manager:1.0.0@sha256:": func(m *v1.IndexManifest) {
			m.Manifests = m.Manifests[1:]
		},
		"is there, which the list does not name": func(m *v1.IndexManifest) {
			more := m.Manifests[0]
			more.Annotations = map[string]string{name: "emulator:2.0.0"}
			m.Manifests = append(m.Manifests, more)
		},
		"emulator:1.0.0@sha256:": func(m *v1.IndexManifest) {
			for i := range m.Manifests {
				if m.Manifests[i].Annotations[name] == "emulator:1.0.0" {
					m.Manifests[i].Digest = m.Manifests[0].Digest
				}
			}
		},
		"it has 0 lists of a release, want 1": rename("release:1.0.0", "releases:1.0.0"),
		"it has 2 lists of a release, want 1": func(m *v1.IndexManifest) {
			more := m.Manifests[len(m.Manifests)-2]
			more.Annotations = map[string]string{name: "release:2.0.0"}
			m.Manifests = append(m.Manifests, more)
		},
		"release:9.9.9@sha256:": rename("release:1.0.0", "release:9.9.9"),
	} {
		folder := filepath.Join(t.TempDir(), "release")
		if err := os.CopyFS(folder, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		index(t, folder, change)
		r, _ := serve(t)
		err := Publish(t.Context(), folder, r, public, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
		if _, err := r.Get(t.Context(), listRepository, "1.0.0"); err == nil {
			t.Errorf("published, although %s", want)
		}
	}
}

// TestDamagedFolder is found before anything is uploaded.
func TestDamagedFolder(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	blob := entriesOf(t, storeOf(t, folder))[0].Descriptor.Digest
	path := filepath.Join(folder, storeFolder, "blobs", blob.Algorithm, blob.Hex)
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := serve(t)
	if err := Publish(t.Context(), folder, r, public, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "changed since it was made: "+blob.String()) {
		t.Errorf("error = %v", err)
	}
}
