package release

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

func TestMirror(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	_, other := newKey(t)
	folder, _ := made(t, source(t), key)
	for kind, serve := range registries() {
		t.Run(kind, func(t *testing.T) {
			from, _ := serve(t)
			to, b := serve(t)
			publish(t, folder, from)
			// Interrupted: the list is what comes last, so nobody takes half a release for one.
			b.set(deny(http.MethodPut, "/charts/"))
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
			nobody, _ := serve(t)
			if err := Mirror(t.Context(), from, nobody, "v1.0.0", other, io.Discard); err == nil ||
				!strings.Contains(err.Error(), "not signed with this key") {
				t.Errorf("what others have signed was copied: %v", err)
			}
		})
	}
}

// TestMirrorCopiesWhatItVerified, whatever the registry has under the same names the next time.
func TestMirrorCopiesWhatItVerified(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	other, _ := newKey(t)
	from, b := published(t, key)
	list := get(t, from, listRepository, "1.0.0")
	forged, err := other.Sign(Registry+"/"+listRepository, list.Digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, from, listRepository, "forged", forged)
	raw, err := forged.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{signature.Tag(list.Digest), "1.0.0"} {
		var asked atomic.Int32
		b.set(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/release/manifests/"+tag) || asked.Add(1) == 1 {
				return false
			}
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = w.Write(raw)
			return true
		})
		to, _ := serve(t)
		if err := Mirror(t.Context(), from, to, "v1.0.0", public, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err != nil {
			t.Errorf("another %s the second time: %v", tag, err)
		}
	}
}

// TestSave: a release goes through a folder into a registry that reaches nothing, and is the same there.
func TestSave(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	for kind, serve := range registries() {
		t.Run(kind, func(t *testing.T) {
			from, _ := serve(t)
			publish(t, folder, from)
			carried := filepath.Join(t.TempDir(), "new", "carried")
			var output strings.Builder
			if err := Save(t.Context(), from, "v1.0.0", public, carried, &output); err != nil {
				t.Fatal(err)
			}
			list := get(t, from, listRepository, "1.0.0").Digest
			if !strings.HasSuffix(output.String(), from.Repository(listRepository)+"@"+list.String()+"\n") {
				t.Errorf("output\n%s", output.String())
			}
			to, _ := serve(t)
			if err := Publish(t.Context(), carried, to, public, io.Discard); err != nil {
				t.Fatal(err)
			}
			if err := Verify(t.Context(), to, "v1.0.0", public, io.Discard); err != nil {
				t.Error(err)
			}
			if got := get(t, to, listRepository, "1.0.0").Digest; got != list {
				t.Errorf("the list is %s, was %s", got, list)
			}
			if err := Save(t.Context(), from, "v1.0.0", public, carried, io.Discard); err == nil ||
				!strings.Contains(err.Error(), "remove it to save the release again") {
				t.Errorf("over another one: %v", err)
			}
		})
	}
}

// TestFailedSaveLeavesNothing that could be taken for a release.
func TestFailedSaveLeavesNothing(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	_, other := newKey(t)
	from, b := published(t, key)
	parent := t.TempDir()
	if err := Save(t.Context(), from, "v1.0.0", other, filepath.Join(parent, "saved"), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("what others have signed was saved: %v", err)
	}
	b.set(deny(http.MethodGet, "/kustomize/blobs/"))
	if err := Save(t.Context(), from, "v1.0.0", public, filepath.Join(parent, "saved"), io.Discard); err == nil {
		t.Error("half a release was saved")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
