package release

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

func TestVerify(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	_, other := newKey(t)
	for kind, serve := range registries() {
		t.Run(kind, func(t *testing.T) {
			r, _ := serve(t)
			if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil ||
				!strings.Contains(err.Error(), "reading release v1.0.0") {
				t.Errorf("before it is published: %v", err)
			}
			publish(t, folder, r)
			var output bytes.Buffer
			if err := Verify(t.Context(), r, "v1.0.0", public, &output); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"image", "chart", "bundle", "plugin", "sbom", "provenance", "signature"} {
				if !strings.Contains(output.String(), "good  "+want) {
					t.Errorf("nothing is said about any %s:\n%s", want, output.String())
				}
			}
			if want := "\nv1.0.0 is complete and was made from commit " + source(t).Revision +
				"\n"; !strings.HasSuffix(output.String(), want) {
				t.Errorf("output\n%s\nwant the commit as the last", output.String())
			}
			if err := Verify(t.Context(), r, "v1.0.0", other, io.Discard); err == nil ||
				!strings.Contains(err.Error(), "not signed with this key") {
				t.Errorf("with another key: %v", err)
			}
		})
	}
}

// TestTampering: whatever a registry does to one item is found, and named.
func TestTampering(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, b := published(t, key)
	list := listOf(t, r, public)
	chart, document, image := list.of(KindChart)[0], list.of(KindSBOM)[0], list.of(KindImage)[0]
	manifest := manifestOf(t, imageOf(t, get(t, r, chart.Repository, chart.Digest)))
	index, err := get(t, r, image.Repository, image.Digest).ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	children, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	child, err := index.Image(children.Manifests[1].Digest)
	if err != nil {
		t.Fatal(err)
	}
	behind := manifestOf(t, child)
	blob := manifest.Layers[0]
	for name, tt := range map[string]struct {
		spoil func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		"another blob of the same size":    {swapped(blob), "chart "},
		"another layer behind an index":    {swapped(behind.Layers[0]), "image "},
		"another configuration behind one": {swapped(behind.Config), "image "},
		"an image of a platform is missing": {missing("/manifests/" + children.Manifests[1].Digest.String()),
			"image "},
		"a blob is missing":     {missing("/blobs/" + blob.Digest.String()), "chart "},
		"a document is missing": {missing("/manifests/" + document.Digest), "sbom "},
		"nothing is attached":   {missing("/referrers/" + document.Subject), "sbom "},
		"a signature is missing": {missing(strings.ReplaceAll(chart.Digest, ":", "-") + ".sig"),
			"chart "},
		"a tag is missing":                     {missing("/charts/thalassa-ccm/manifests/1.0.0"), "chart "},
		"another list that is attached is bad": {denied("/referrers/" + document.Subject), "sbom "},
	} {
		t.Run(name, func(t *testing.T) {
			b.set(tt.spoil)
			defer b.set(nil)
			if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that names the %s", err, tt.want)
			}
		})
	}
}

func manifestOf(t *testing.T, image v1.Image) *v1.Manifest {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// swapped answers with another blob of the same size.
func swapped(blob v1.Descriptor) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/blobs/"+blob.Digest.String()) || r.Method != http.MethodGet {
			return false
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), int(blob.Size)))
		return true
	}
}

func missing(part string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, part) {
			http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
			return true
		}
		return false
	}
}

func denied(part string) func(http.ResponseWriter, *http.Request) bool {
	return deny(http.MethodGet, part)
}

// TestTagOnSomethingElse that is there and unchanged, too.
func TestTagOnSomethingElse(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	other, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := other.Digest()
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, "kustomize", "1.0.0", other)
	want := "the tag 1.0.0 is on " + digest.String() + ", not on " + listOf(t, r, public).of(KindBundle)[0].Digest
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestAttachedByOthers: what scanners and others attach to a release is none of its business, whether it is there or
// not.
func TestAttachedByOthers(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	folder, _ := made(t, source(t), key)
	for kind, serve := range registries() {
		t.Run(kind, func(t *testing.T) {
			r, b := serve(t)
			publish(t, folder, r)
			about := listOf(t, r, public).of(KindSBOM)[0]
			subject := get(t, r, about.Repository, about.Subject).Descriptor
			foreign, err := artifact.Manifest{
				Type: sbomType, Layers: []artifact.Blob{{Type: sbomType, Content: []byte(`{"by":"a scanner"}`)}},
				Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
			}.Image()
			if err != nil {
				t.Fatal(err)
			}
			put(t, r, about.Repository, "scanned", foreign)
			attached, err := r.Attached(t.Context(), about.Repository, subject.Digest)
			if err != nil || len(attached) != 2 {
				t.Fatalf("attached %v, %v", attached, err)
			}
			if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err != nil {
				t.Errorf("with an SBOM of others: %v", err)
			}
			index := v1.Descriptor{MediaType: types.OCIImageIndex, Digest: v1.Hash{Algorithm: "sha256",
				Hex: strings.Repeat("1", 64)}, Size: 10, ArtifactType: sbomType}
			dangling := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: v1.Hash{Algorithm: "sha256",
				Hex: strings.Repeat("2", 64)}, Size: 10, ArtifactType: sbomType}
			b.set(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/referrers/"+about.Subject) {
					return false
				}
				w.Header().Set("Content-Type", string(types.OCIImageIndex))
				_ = json.NewEncoder(w).Encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex,
					Manifests: append(slices.Clone(attached), index, dangling)})
				return true
			})
			if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err != nil {
				t.Errorf("with an index of others, and with what is not there: %v", err)
			}
		})
	}
}

// TestSignatureOfSomethingElse is not taken for one of this.
func TestSignatureOfSomethingElse(t *testing.T) {
	key, public := newKey(t)
	one, two := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)},
		v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("2", 64)}
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

// TestOldReleaseUnderANewName: what is signed is not enough, it has to be the release that was asked for.
func TestOldReleaseUnderANewName(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	put(t, r, listRepository, "1.0.1", imageOf(t, get(t, r, listRepository, "1.0.0")))
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

// TestUnsignedIsNotFound, however it came into the registry.
func TestUnsignedIsNotFound(t *testing.T) {
	tier.NeedFull(t)
	folder, _ := made(t, source(t), nil)
	r, _ := serve(t)
	if err := r.Push(t.Context(), storeOf(t, folder), func(artifact.Entry) {}); err != nil {
		t.Fatal(err)
	}
	_, public := newKey(t)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no signature") {
		t.Errorf("error = %v", err)
	}
}

// TestUnsignedItem: the list's signature alone is not what cosign finds.
func TestUnsignedItem(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	other, _ := newKey(t)
	r, _ := published(t, key)
	list := listOf(t, r, public)
	bundle := list.of(KindBundle)[0]
	digest, err := v1.NewHash(bundle.Digest)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := other.Sign(Registry+"/kustomize", digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, bundle.Repository, signature.Tag(digest), signed)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "bundle ") || !strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("error = %v, want one about the bundle", err)
	}
}
