package release

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Verify looks at a release in a registry: that everything it consists of is there, unchanged, signed with the key, and with its
// SBOM and provenance attached. The error names all that is wrong.
func Verify(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey, tell io.Writer) error {
	list, err := Released(ctx, r, version, key)
	if err != nil {
		return err
	}
	v := verifier{registry: r, key: key}
	var problems []error
	for _, item := range list.Items {
		if err := v.item(ctx, item); err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", item.Kind, r.Repository(item.Repository), err))
			continue
		}
		_, _ = fmt.Fprintf(tell, "good  %-10s %s@%s\n", item.Kind, r.Repository(item.Repository), item.Digest)
	}
	if len(problems) > 0 {
		return fmt.Errorf("verifying %s: %w", version, errors.Join(problems...))
	}
	return nil
}

// Released returns the list of a release in a registry, after verifying its signature.
func Released(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey) (List, error) {
	got, err := r.Get(ctx, listRepository, number(version))
	if err != nil {
		return List{}, fmt.Errorf("looking for release %s: %w", version, err)
	}
	return released(ctx, r, version, key, got)
}

// released is the list that a registry has for a version, once it is known that it is signed and what it says.
func released(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey, got *remote.Descriptor) (List, error) {
	v := verifier{registry: r, key: key}
	if err := v.signature(ctx, listRepository, got.Digest); err != nil {
		return List{}, fmt.Errorf("looking for release %s: its list: %w", version, err)
	}
	image, err := got.Image()
	if err != nil {
		return List{}, fmt.Errorf("looking for release %s: %w", version, err)
	}
	list, err := readList(image)
	if err == nil && number(list.Version) != number(version) {
		// It is signed, but somebody gave an old release the name of this one.
		err = fmt.Errorf("looking for release %s: what has this name is release %s", version, list.Version)
	}
	return list, err
}

type verifier struct {
	registry artifact.Registry
	key      signature.PublicKey
}

func (v verifier) item(ctx context.Context, item Item) error {
	got, err := v.registry.Get(ctx, item.Repository, item.Digest)
	if err != nil {
		return err
	}
	if item.Tag != "" {
		tagged, err := v.registry.Get(ctx, item.Repository, item.Tag)
		if err != nil {
			return err
		}
		if tagged.Digest != got.Digest {
			return fmt.Errorf("the tag %s is on %s, not on %s", item.Tag, tagged.Digest, item.Digest)
		}
	}
	if err := readAll(got); err != nil {
		return err
	}
	switch {
	case item.Kind.signed():
		return v.signature(ctx, item.Repository, got.Digest)
	case item.Kind == KindSBOM, item.Kind == KindProvenance:
		return v.attached(ctx, item)
	}
	return nil
}

// signature verifies the signature of an artifact.
func (v verifier) signature(ctx context.Context, repository string, digest v1.Hash) error {
	got, err := v.registry.Get(ctx, repository, signature.Tag(digest))
	if err != nil {
		return fmt.Errorf("it has no signature: %w", err)
	}
	signed, err := got.Image()
	if err != nil {
		return err
	}
	return v.key.Verify(signed, digest)
}

// attached looks whether a document is found by those who look for what is attached to its subject.
func (v verifier) attached(ctx context.Context, item Item) error {
	subject, err := v1.NewHash(item.Subject)
	if err != nil {
		return fmt.Errorf("its subject: %w", err)
	}
	attached, err := v.registry.Attached(ctx, item.Repository, subject)
	if err != nil {
		return err
	}
	for _, document := range attached {
		if digest, err := document.Digest(); err == nil && digest.String() == item.Digest {
			return nil
		}
	}
	return fmt.Errorf("it is not attached to %s", item.Subject)
}

// readAll reads every byte of an artifact; the library compares all of them with their digests.
func readAll(got *remote.Descriptor) error {
	if !got.MediaType.IsIndex() {
		image, err := got.Image()
		if err != nil {
			return err
		}
		return readImage(image)
	}
	index, err := got.ImageIndex()
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		if err := readImage(image); err != nil {
			return err
		}
	}
	return nil
}

func readImage(image v1.Image) error {
	if _, err := image.RawConfigFile(); err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Layers {
		layer, err := image.LayerByDigest(descriptor.Digest)
		if err != nil {
			return err
		}
		if err := readLayer(layer); err != nil {
			return fmt.Errorf("reading the blob %s: %w", descriptor.Digest, err)
		}
	}
	return nil
}

func readLayer(layer v1.Layer) error {
	reader, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer reader.Close()
	_, err = io.Copy(io.Discard, reader)
	return err
}
