package artifact

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// serve starts a registry that lists what is attached; before sees every request, and answers it if it returns false.
func serve(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) Registry {
	t.Helper()
	return serveAs(t, nil, before)
}

// serveAs starts a registry that has an answer of its own for those who ask what is attached; nil is that of the
// interface.
func serveAs(t *testing.T, referrers http.HandlerFunc, before func(http.ResponseWriter, *http.Request) bool) Registry {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case before != nil && !before(w, r):
		case referrers != nil && strings.Contains(r.URL.Path, "/referrers/"):
			referrers(w, r)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return At(strings.TrimPrefix(server.URL, "http://") + "/path")
}

// page is what a registry without the interface answers.
func page(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>")
	}
}

// referrers are the answers that registries have for those who ask what is attached.
func referrers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"the interface": nil, "no interface": page(http.StatusNotFound), "a page for people": page(http.StatusOK),
		"nothing acceptable": page(http.StatusNotAcceptable), "gone": page(http.StatusGone),
	}
}

func chart() Manifest {
	return Manifest{
		Config:      Blob{Type: "application/vnd.cncf.helm.config.v1+json", Content: []byte(`{"name":"x"}`)},
		Layers:      []Blob{{Type: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: []byte("archive")}},
		Annotations: map[string]string{"org.opencontainers.image.version": "1.2.3"},
	}
}

func made(t *testing.T, m Manifest) v1.Image {
	t.Helper()
	image, err := m.Image()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestManifest(t *testing.T) {
	first, second := made(t, chart()), made(t, chart())
	one, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if two, err := second.Digest(); err != nil || one != two {
		t.Errorf("digests %s and %s, %v", one, two, err)
	}
	content, err := Content(first)
	if err != nil || string(content) != "archive" {
		t.Errorf("content %q, %v", content, err)
	}
	if config, err := first.RawConfigFile(); err != nil || string(config) != `{"name":"x"}` {
		t.Errorf("configuration %q, %v", config, err)
	}
	if _, err := Content(made(t, Manifest{Type: "x"})); err == nil {
		t.Error("an artifact without a layer has content")
	}
	if _, err := (&image{}).LayerByDigest(one); err == nil {
		t.Error("a blob that is not there was found")
	}
}

// signed is the tag of the signature of a digest.
func signed(digest v1.Hash) string { return listTag(digest) + ".sig" }

// filled is a store with an index, its signature, a chart, and two things attached to the index.
func filled(t *testing.T) (Store, Entry) {
	t.Helper()
	store, err := Create(filepath.Join(t.TempDir(), "oci"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(1000, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := store.Add("emulator", "v1.2.3", index)
	if err != nil {
		t.Fatal(err)
	}
	about := subject.Descriptor
	about.Annotations = nil
	attached := func(kind, content string) v1.Image {
		return made(t, Manifest{Type: kind, Layers: []Blob{{Type: types.MediaType(kind), Content: []byte(content)}},
			Subject: &about})
	}
	for _, add := range []struct {
		repository, tag string
		content         v1.Image
	}{
		{"charts/x", "1.2.3", made(t, chart())},
		{"emulator", signed(about.Digest),
			made(t, Manifest{Layers: []Blob{{Type: "application/json", Content: []byte("signed")}}})},
		{"emulator", "", attached("application/spdx+json", "{}")},
		{"emulator", "", attached("application/vnd.in-toto+json", "[]")},
	} {
		if _, err := store.Add(add.repository, add.tag, add.content); err != nil {
			t.Fatal(err)
		}
	}
	return store, subject
}

func TestStore(t *testing.T) {
	store, subject := filled(t)
	if _, err := Create(string(store.path)); err == nil {
		t.Error("a store was made where one is")
	}
	again, err := Open(string(store.path))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := again.Entries()
	if err != nil || len(entries) != 5 {
		t.Fatalf("entries %v, %v", entries, err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Repository+":"+entry.Tag)
	}
	if want := []string{"emulator:v1.2.3", "charts/x:1.2.3", "emulator:" + signed(subject.Descriptor.Digest),
		"emulator:", "emulator:"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	if entries[0].Descriptor.Digest != subject.Descriptor.Digest {
		t.Errorf("the first is %s", entries[0].Descriptor.Digest)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("an empty folder is a store")
	}
	if _, err := store.Add("x", "y", notAnImage{}); err == nil {
		t.Error("something that is no image was stored")
	}
}

type notAnImage struct{}

func (notAnImage) RawManifest() ([]byte, error) { return nil, nil }

// check reads everything back.
func check(t *testing.T, r Registry, subject Entry) {
	t.Helper()
	got, err := r.Get(t.Context(), "emulator", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := got.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil || got.Digest != subject.Descriptor.Digest {
		t.Errorf("index %s: %v", got.Digest, err)
	}
	whole(t, r, subject)
}

// whole reports whether what is about a subject is there: its signature, and two attached documents.
func whole(t *testing.T, r Registry, subject Entry) {
	t.Helper()
	if _, err := r.Get(t.Context(), "emulator", signed(subject.Descriptor.Digest)); err != nil {
		t.Errorf("no signature: %v", err)
	}
	attached, err := r.Attached(t.Context(), "emulator", subject.Descriptor.Digest)
	if err != nil || len(attached) != 2 {
		t.Fatalf("attached %v, %v", attached, err)
	}
	contents := map[string]string{}
	for _, descriptor := range attached {
		content, err := r.Read(t.Context(), Entry{Repository: "emulator", Descriptor: descriptor})
		if err != nil {
			t.Fatal(err)
		}
		text, err := Content(content.(v1.Image))
		if err != nil {
			t.Fatal(err)
		}
		contents[string(text)] = string(descriptor.MediaType)
	}
	if len(contents) != 2 || contents["{}"] != string(types.OCIManifestSchema1) {
		t.Errorf("attached is %v", contents)
	}
}
