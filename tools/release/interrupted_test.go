package release

import (
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// TestInterruptedPublish where lists of what is attached are uploads, too.
func TestInterruptedPublish(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	testInterrupted(t, registries()["referrers under a tag"], public, func(to artifact.Registry) error {
		return Publish(t.Context(), folder, to, public, io.Discard)
	})
}

// TestInterruptedMirror where the registry itself lists what is attached.
func TestInterruptedMirror(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	from, _ := published(t, key)
	testInterrupted(t, registries()["referrers listed"], public, func(to artifact.Registry) error {
		return Mirror(t.Context(), from, to, "v1.0.0", public, io.Discard)
	})
}

// testInterrupted interrupts run at every single upload. No version has its tag without all that belongs to it, nobody
// takes half a release for one, and running it again completes it.
func testInterrupted(t *testing.T, serve func(*testing.T) (artifact.Registry, *broken), public signature.PublicKey,
	run func(to artifact.Registry) error) {
	t.Helper()
	whole, counted := serve(t)
	var uploads atomic.Int64
	counted.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			uploads.Add(1)
		}
		return false
	})
	if err := run(whole); err != nil {
		t.Fatal(err)
	}
	if uploads.Load() < 50 {
		t.Fatalf("a release needs only %d uploads", uploads.Load())
	}
	list := listOf(t, whole, public)
	for stop := range uploads.Load() {
		to, b := serve(t)
		b.set(after(stop))
		if err := run(to); err == nil {
			t.Fatalf("stopped after %d uploads, and no error", stop)
		}
		tagged(t, to, list, stop)
		resumed(t, to, b, public, stop, run)
	}
}

// resumed runs again what was interrupted.
func resumed(t *testing.T, to artifact.Registry, b *broken, public signature.PublicKey, stop int64,
	run func(to artifact.Registry) error) {
	t.Helper()
	if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err == nil {
		t.Fatalf("stopped after %d uploads, it was found good", stop)
	}
	b.set(nil)
	if err := run(to); err != nil {
		t.Fatalf("stopped after %d uploads, it cannot be completed: %v", stop, err)
	}
	if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err != nil {
		t.Fatalf("stopped after %d uploads and completed: %v", stop, err)
	}
}

// after refuses uploads after some.
func after(uploads int64) func(http.ResponseWriter, *http.Request) bool {
	var left atomic.Int64
	left.Store(uploads)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || left.Add(-1) >= 0 {
			return false
		}
		http.Error(w, `{"errors":[{"code":"DENIED"}]}`, http.StatusForbidden)
		return true
	}
}

// tagged checks whether everything whose version has a tag is signed, and has its documents attached.
func tagged(t *testing.T, r artifact.Registry, list List, stop int64) {
	t.Helper()
	for _, item := range list.Items {
		if !item.Kind.signed() {
			continue
		}
		got, err := r.Get(t.Context(), item.Repository, item.Tag)
		if err != nil {
			continue
		}
		if _, err := r.Get(t.Context(), item.Repository, signature.Tag(got.Digest)); err != nil {
			t.Errorf("stopped after %d uploads, %s has its tag and no signature: %v", stop, item.Repository, err)
		}
		for _, document := range list.Items {
			if document.Repository != item.Repository || document.Kind != KindSBOM && document.Kind != KindProvenance {
				continue
			}
			subject, err := v1.NewHash(document.Subject)
			if err != nil {
				t.Fatal(err)
			}
			attached, err := r.Attached(t.Context(), item.Repository, subject)
			if err != nil || !slices.ContainsFunc(attached, func(d v1.Descriptor) bool {
				return d.Digest.String() == document.Digest
			}) {
				t.Errorf("stopped after %d uploads, %s has its tag and no %s: %v", stop, item.Repository, document.Kind,
					err)
			}
		}
	}
}
