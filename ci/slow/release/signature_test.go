package release

import (
	"crypto"
	"crypto/elliptic"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	cosignsignature "github.com/sigstore/cosign/v3/pkg/signature"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// newKey makes a key as `cosign generate-key-pair` does.
func newKey(t *testing.T) (key signature.Key, public []byte) {
	t.Helper()
	private, public, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(),
		cryptoutils.StaticPasswordFunc([]byte("x")))
	if err != nil {
		t.Fatal(err)
	}
	key, err = signature.KeyFrom(func(name string) string {
		return map[string]string{signature.EnvKey: string(private), signature.EnvPassword: "x"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// verify is what `cosign verify --key --insecure-ignore-tlog` does.
func verify(t *testing.T, reference string, public []byte) error {
	t.Helper()
	to, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := cosignsignature.LoadPublicKeyRaw(public, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	checked, _, err := cosign.VerifyImageSignatures(t.Context(), to, &cosign.CheckOpts{
		SigVerifier: verifier, IgnoreTlog: true, ClaimVerifier: cosign.SimpleClaimVerifier,
	})
	if err == nil && len(checked) != 1 {
		t.Errorf("cosign checked %d signatures, want 1", len(checked))
	}
	return err
}

// contents are the forms in which releases have artifacts: an index of images, and a chart.
func contents(t *testing.T) map[string]remote.Taggable {
	t.Helper()
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := artifact.Manifest{
		Config: artifact.Blob{Type: "application/vnd.cncf.helm.config.v1+json", Content: []byte(`{"name":"x"}`)},
		Layers: []artifact.Blob{{Type: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
			Content: []byte("archive")}},
	}.Image()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remote.Taggable{"emulator": index, "charts/x": chart}
}

func TestCosignVerifies(t *testing.T) {
	tier.NeedFull(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithReferrersSupport(true)))
	defer server.Close()
	base := strings.TrimPrefix(server.URL, "http://") + "/path"
	store, err := artifact.Create(filepath.Join(t.TempDir(), "oci"))
	if err != nil {
		t.Fatal(err)
	}
	key, public := newKey(t)
	for repository, content := range contents(t) {
		entry, err := store.Add(repository, "v1.2.3", content)
		if err != nil {
			t.Fatal(err)
		}
		// Signed for where it is first published, verified in a mirror.
		signed, err := key.Sign("ghcr.io/acme/"+repository, entry.Descriptor.Digest, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Add(repository, signature.Tag(entry.Descriptor.Digest), signed); err != nil {
			t.Fatal(err)
		}
		// Another one, with the signature of something else.
		if _, err := store.Add(repository, "swapped", swapped(t, key, store, repository)); err != nil {
			t.Fatal(err)
		}
	}
	if err := artifact.At(base).Push(t.Context(), store, func(artifact.Entry) {}); err != nil {
		t.Fatal(err)
	}
	_, other := newKey(t)
	for repository := range contents(t) {
		reference := base + "/" + repository
		if err := verify(t, reference+":v1.2.3", public); err != nil {
			t.Errorf("cosign does not accept the signature of %s: %v", repository, err)
		}
		if err := verify(t, reference+":v1.2.3", other); err == nil {
			t.Errorf("cosign accepts the signature of %s with another key", repository)
		}
		if err := verify(t, reference+":swapped", public); err == nil {
			t.Errorf("cosign accepts for %s the signature of something else", repository)
		}
	}
}

// swapped is an image under whose signature tag lies the signature of another digest.
func swapped(t *testing.T, key signature.Key, store artifact.Store, repository string) v1.Image {
	t.Helper()
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign("ghcr.io/acme/"+repository, v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(repository, signature.Tag(digest), signed); err != nil {
		t.Fatal(err)
	}
	return image
}
