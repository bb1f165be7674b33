package artifact

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// serve starts a registry; before sees every request, and answers it if it returns false.
func serve(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) Registry {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || before(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return At(strings.TrimPrefix(server.URL, "http://") + "/path")
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

// filled is a store with an index, a chart, and something attached to the index.
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
	for _, add := range []struct {
		repository, tag string
		content         v1.Image
	}{
		{"charts/x", "1.2.3", made(t, chart())},
		{"emulator", "", made(t, Manifest{Type: "application/spdx+json", Layers: []Blob{{Type: "application/spdx+json", Content: []byte("{}")}}, Subject: &about})},
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
	if err != nil || len(entries) != 3 {
		t.Fatalf("entries %v, %v", entries, err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Repository+":"+entry.Tag)
	}
	if want := []string{"emulator:v1.2.3", "charts/x:1.2.3", "emulator:"}; !slices.Equal(names, want) {
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
	attached, err := r.Attached(t.Context(), "emulator", subject.Descriptor.Digest)
	if err != nil || len(attached) != 1 {
		t.Fatalf("attached %v, %v", attached, err)
	}
	if content, err := Content(attached["application/spdx+json"]); err != nil || string(content) != "{}" {
		t.Errorf("attached is %q, %v", content, err)
	}
}

func TestPush(t *testing.T) {
	store, subject := filled(t)
	r := serve(t, nil)
	pushed := 0
	if err := r.Push(t.Context(), store, func(Entry) { pushed++ }); err != nil {
		t.Fatal(err)
	}
	if pushed != 3 {
		t.Errorf("%d entries pushed, want 3", pushed)
	}
	check(t, r, subject)
	if _, err := r.Get(t.Context(), "emulator", "v9"); err == nil || !strings.Contains(err.Error(), "emulator:v9") {
		t.Errorf("error = %v, want one that names it", err)
	}
}

// TestInterruptedPush at every upload: nothing has a name that is not complete, and another push completes it.
func TestInterruptedPush(t *testing.T) {
	store, subject := filled(t)
	for stop := range int32(40) {
		var left atomic.Int32
		left.Store(stop)
		r := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet || r.Method == http.MethodHead || left.Add(-1) >= 0 {
				return true
			}
			w.WriteHeader(http.StatusForbidden) // what the library does not repeat
			return false
		})
		err := r.Push(t.Context(), store, func(Entry) {})
		if got, problem := r.Get(t.Context(), "emulator", "v1.2.3"); problem == nil {
			complete(t, got, stop)
		}
		left.Store(1000)
		if again := r.Push(t.Context(), store, func(Entry) {}); again != nil {
			t.Fatalf("stopped after %d uploads, it cannot be completed: %v", stop, again)
		}
		check(t, r, subject)
		if err == nil {
			if stop < 10 {
				t.Fatalf("a push needs only %d uploads", stop)
			}
			return
		}
	}
	t.Error("a push needs more uploads than were tried")
}

// complete says whether everything that a name stands for is there.
func complete(t *testing.T, got *remote.Descriptor, stop int32) {
	t.Helper()
	index, err := got.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("stopped after %d uploads, half an index has its name: %v", stop, err)
	}
}
