package signature

import (
	"encoding/base64"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/signature"
)

// How cosign finds a signature (cosign, specs/SIGNATURE_SPEC.md).
const (
	payloadType   = types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json")
	annotationKey = "dev.cosignproject.cosign/signature"
)

// Tag is the tag under which the signature of an artifact lies, in the same repository.
func Tag(digest v1.Hash) string { return digest.Algorithm + "-" + digest.Hex + ".sig" }

// Sign makes the signature of an artifact: of its digest, in the repository where it is first published
// ("ghcr.io/…/emulator"). It stays valid in every mirror. What else is signed with it, such as the version, is what
// `cosign verify --annotations` compares.
func (k Key) Sign(repository string, digest v1.Hash, annotations map[string]string) (v1.Image, error) {
	subject, err := name.NewDigest(repository + "@" + digest.String())
	if err != nil {
		return nil, fmt.Errorf("signing %s@%s: %w", repository, digest, err)
	}
	also := map[string]any{}
	for name, value := range annotations {
		also[name] = value
	}
	payload, signed, err := signature.SignImage(k, subject, also)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", subject, err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:       static.NewLayer(payload, payloadType),
		Annotations: map[string]string{annotationKey: base64.StdEncoding.EncodeToString(signed)},
	})
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", subject, err)
	}
	return image, nil
}
