package release

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

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

// serve starts a registry with the interface that lists what is attached.
func serve(t *testing.T) (artifact.Registry, *broken) {
	t.Helper()
	return serveAs(t, true)
}

func serveAs(t *testing.T, referrers bool) (artifact.Registry, *broken) {
	t.Helper()
	b := &broken{inner: registry.New(registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithReferrersSupport(referrers))}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return artifact.At(strings.TrimPrefix(server.URL, "http://") + "/path"), b
}

// registries start registries of both kinds: with the interface that lists what is attached, and without.
func registries() map[string]func(*testing.T) (artifact.Registry, *broken) {
	return map[string]func(*testing.T) (artifact.Registry, *broken){
		"referrers listed": serve,
		"referrers under a tag": func(t *testing.T) (artifact.Registry, *broken) {
			t.Helper()
			return serveAs(t, false)
		},
	}
}

// published is a signed release in a registry.
func published(t *testing.T, key *signature.Key) (artifact.Registry, *broken) {
	t.Helper()
	folder, _ := made(t, source(t), key)
	r, b := serve(t)
	publish(t, folder, r)
	return r, b
}

func publish(t *testing.T, folder string, to artifact.Registry) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, publicKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	public, err := signature.ParsePublicKey(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := Publish(t.Context(), folder, to, public, io.Discard); err != nil {
		t.Fatal(err)
	}
}

// put gives something a tag, as anybody may who has the right to write.
func put(t *testing.T, r artifact.Registry, repository, tag string, content remote.Taggable) {
	t.Helper()
	to, err := name.NewTag(r.Repository(repository) + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(to, content); err != nil {
		t.Fatal(err)
	}
}

// get is what a registry has under a tag or digest.
func get(t *testing.T, r artifact.Registry, repository, version string) *remote.Descriptor {
	t.Helper()
	got, err := r.Get(t.Context(), repository, version)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// listOf is the list of the release in a registry.
func listOf(t *testing.T, r artifact.Registry, public signature.PublicKey) List {
	t.Helper()
	release, err := lookup(t.Context(), r, "v1.0.0", public)
	if err != nil {
		t.Fatal(err)
	}
	return release.list
}

// relist replaces the list of the release in a registry, and signs it, as somebody does who makes a mistake.
func relist(t *testing.T, r artifact.Registry, key *signature.Key, list List) {
	t.Helper()
	store, err := artifact.Create(filepath.Join(t.TempDir(), "oci"))
	if err != nil {
		t.Fatal(err)
	}
	a := assembly{store: store, list: list, key: key}
	if err := a.publishList(source(t)); err != nil {
		t.Fatal(err)
	}
	for _, entry := range entriesOf(t, store) {
		content, err := store.Read(entry)
		if err != nil {
			t.Fatal(err)
		}
		put(t, r, entry.Repository, entry.Tag, content)
	}
}

func entriesOf(t *testing.T, store artifact.Store) []artifact.Entry {
	t.Helper()
	entries, err := store.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// imageOf is an artifact as an image.
func imageOf(t *testing.T, got *remote.Descriptor) v1.Image {
	t.Helper()
	image, err := got.Image()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// deny answers requests of a method whose path has a part with a refusal.
func deny(method, part string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.Contains(r.URL.Path, part) {
			return false
		}
		http.Error(w, `{"errors":[{"code":"DENIED"}]}`, http.StatusForbidden)
		return true
	}
}
