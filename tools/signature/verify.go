package signature

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// ErrNotSigned says that none of the signatures of an artifact is of the key and about the artifact.
var ErrNotSigned = errors.New("not signed with this key")

// maxPayload bounds what is read of a signed statement.
const maxPayload = 1 << 20

// PublicKey verifies.
type PublicKey struct{ verifier signature.Verifier }

// ParsePublicKey reads a public key in PEM form.
func ParsePublicKey(content []byte) (PublicKey, error) {
	public, err := cryptoutils.UnmarshalPEMToPublicKey(content)
	if err != nil {
		return PublicKey{},
			fmt.Errorf("reading the public key: %w; want PEM that begins with -----BEGIN PUBLIC KEY-----", err)
	}
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return PublicKey{}, fmt.Errorf("using the public key: %w", err)
	}
	return PublicKey{verifier}, nil
}

// Verify reports whether signed, what lies under the Tag of digest, holds a signature of that digest by the key. It
// fails with ErrNotSigned when it does not, whatever else it holds.
func (k PublicKey) Verify(signed v1.Image, digest v1.Hash) error {
	manifest, err := signed.Manifest()
	if err != nil {
		return fmt.Errorf("reading the signatures of %s: %w", digest, err)
	}
	layers, err := signed.Layers()
	if err != nil {
		return fmt.Errorf("reading the signatures of %s: %w", digest, err)
	}
	for i, layer := range layers {
		if k.verify(layer, manifest.Layers[i].Annotations[annotationKey], digest) == nil {
			return nil
		}
	}
	return fmt.Errorf("verifying %s: %w; it has %d signatures of others", digest, ErrNotSigned, len(layers))
}

// verify checks one signature, and that it is about the digest and not about something else that is signed.
func (k PublicKey) verify(layer v1.Layer, encoded string, digest v1.Hash) error {
	reader, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer reader.Close()
	statement, err := io.ReadAll(io.LimitReader(reader, maxPayload))
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	if err := k.verifier.VerifySignature(bytes.NewReader(raw), bytes.NewReader(statement)); err != nil {
		return err
	}
	var about payload.Cosign
	if err := json.Unmarshal(statement, &about); err != nil {
		return err
	}
	if about.Image.DigestStr() != digest.String() {
		return fmt.Errorf("it is about %s", about.Image.DigestStr())
	}
	return nil
}
