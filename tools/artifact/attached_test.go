package artifact

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// TestAttachedByOthers does not hide what is ours, and is not read: it need not be there, nor be an artifact.
func TestAttachedByOthers(t *testing.T) {
	store, subject := filled(t)
	index, err := random.Index(10, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for kind, answer := range referrers() {
		t.Run(kind, func(t *testing.T) {
			r := serveAs(t, answer, nil)
			if answer != nil {
				// Before anything of ours: the list is kept, not replaced.
				digest := put(t, r, "emulator", "other", index)
				list := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{
					{MediaType: types.OCIImageIndex, Digest: digest, Size: 1, ArtifactType: "application/spdx+json"},
				}}
				put(t, r, "emulator", listTag(subject.Descriptor.Digest), listing{&list})
			}
			if err := r.Push(t.Context(), store, func(Entry) {}); err != nil {
				t.Fatal(err)
			}
			attached, err := r.Attached(t.Context(), "emulator", subject.Descriptor.Digest)
			want := 2
			if answer != nil {
				want = 3
			}
			if err != nil || len(attached) != want {
				t.Errorf("attached %v, %v; want %d", attached, err, want)
			}
		})
	}
}

// TestDanglingList: what a list names is not read.
func TestDanglingList(t *testing.T) {
	nothing := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)}
	r := serveAs(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", string(types.OCIImageIndex))
		_ = json.NewEncoder(w).Encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex,
			Manifests: []v1.Descriptor{
				{MediaType: types.OCIManifestSchema1, Digest: nothing, Size: 1},
			}})
	}, nil)
	attached, err := r.Attached(t.Context(), "emulator", nothing)
	if err != nil || len(attached) != 1 || attached[0].Digest != nothing {
		t.Errorf("attached %v, %v", attached, err)
	}
}

// TestListWithTypes: a client that searches for SBOMs in a list that is kept under a tag finds them by type.
func TestListWithTypes(t *testing.T) {
	store, subject := filled(t)
	r := serveAs(t, page(http.StatusOK), nil)
	if err := r.Push(t.Context(), store, func(Entry) {}); err != nil {
		t.Fatal(err)
	}
	list, err := r.taggedList(t.Context(), "emulator", subject.Descriptor.Digest)
	if err != nil || list == nil || len(list.Manifests) != 2 {
		t.Fatalf("list %v, %v", list, err)
	}
	for i, want := range []string{"application/spdx+json", "application/vnd.in-toto+json"} {
		if d := list.Manifests[i]; d.ArtifactType != want || d.MediaType != types.OCIManifestSchema1 || d.Size == 0 {
			t.Errorf("listed is %+v, want type %s", d, want)
		}
	}
}

// TestTypeOfTheConfiguration is that of an artifact which names none.
func TestTypeOfTheConfiguration(t *testing.T) {
	descriptor, err := describe(made(t, chart()))
	if err != nil || descriptor.ArtifactType != "application/vnd.cncf.helm.config.v1+json" ||
		descriptor.Annotations["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("descriptor %+v, %v", descriptor, err)
	}
}

// TestTagTakenForADigest: a registry may answer with the subject when it is asked for the list about it.
func TestTagTakenForADigest(t *testing.T) {
	index, err := random.Index(10, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := serveAs(t, page(http.StatusGone), nil)
	digest := put(t, r, "emulator", "1.2.3", index)
	put(t, r, "emulator", listTag(digest), index)
	if list, err := r.taggedList(t.Context(), "emulator", digest); err != nil || list != nil {
		t.Errorf("list %v, %v; want none", list, err)
	}
}

// TestUnlistable: a registry that lists nothing, whatever is done, is named.
func TestUnlistable(t *testing.T) {
	store, subject := filled(t)
	r := serveAs(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", string(types.OCIImageIndex))
		_ = json.NewEncoder(w).Encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex})
	}, nil)
	want := "the registry does not list it as attached to " + subject.Descriptor.Digest.String()
	if err := r.Push(t.Context(), store, func(Entry) {}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
	down := serveAs(t, page(http.StatusGone), func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/manifests/"+listTag(subject.Descriptor.Digest)) {
			w.WriteHeader(http.StatusForbidden)
			return false
		}
		return true
	})
	if _, err := down.Attached(t.Context(), "emulator", subject.Descriptor.Digest); err == nil ||
		!strings.Contains(err.Error(), "403") {
		t.Errorf("error = %v, want one with both answers", err)
	}
}
