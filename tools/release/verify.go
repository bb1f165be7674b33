package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Verify checks a release in a registry: that its list lacks nothing, and that everything it consists of is there,
// unchanged, signed with the key, and with its SBOM and provenance attached; that provenances are about what they are
// attached to and about one commit, and that the chart runs the release's image. It prints what is good, and the
// commit. The error names all that is wrong.
func Verify(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey,
	progress io.Writer) error {
	release, err := lookup(ctx, r, version, key)
	if err != nil {
		return err
	}
	list := release.list
	v := verifier{registry: r, key: key, list: list}
	var problems []error
	for _, item := range list.Items {
		if err := v.item(ctx, item); err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", item.Kind, r.Repository(item.Repository), err))
			continue
		}
		_, _ = fmt.Fprintf(progress, "good  %-10s %s@%s\n", item.Kind, r.Repository(item.Repository), item.Digest)
	}
	if len(problems) > 0 {
		return fmt.Errorf("verifying %s: %w", version, errors.Join(problems...))
	}
	_, _ = fmt.Fprintf(progress, "%s is complete and was made from commit %s\n", list.Version, list.Revision)
	return nil
}

// lookup returns the release that a registry has for a version, once it is known that its list is signed and what it
// says. What it returns names everything by the digest that was verified, the list and its signature, too.
func lookup(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey) (verified, error) {
	release, err := listed(ctx, r, version, key)
	if err != nil {
		return verified{}, fmt.Errorf("reading release %s: %w", version, err)
	}
	return release, nil
}

func listed(ctx context.Context, r artifact.Registry, version string, key signature.PublicKey) (verified, error) {
	got, err := r.Get(ctx, listRepository, number(version))
	if err != nil {
		return verified{}, err
	}
	v := verifier{registry: r, key: key}
	signed, err := v.signature(ctx, listRepository, got.Digest)
	if err != nil {
		return verified{}, fmt.Errorf("its list: %w", err)
	}
	image, err := got.Image()
	if err != nil {
		return verified{}, err
	}
	list, err := readList(image)
	if err != nil {
		return verified{}, err
	}
	if number(list.Version) != number(version) {
		// It is signed, but somebody gave an old release the name of this one.
		return verified{}, fmt.Errorf("what has this name is release %s", list.Version)
	}
	if err := list.complete(); err != nil {
		return verified{}, err
	}
	return withSignature(list, got.Digest, signed)
}

type verifier struct {
	registry artifact.Registry
	key      signature.PublicKey
	list     List
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
	if item.Kind.signed() {
		if _, err := v.signature(ctx, item.Repository, got.Digest); err != nil {
			return err
		}
	}
	return v.kind(ctx, item, got)
}

// kind checks what only artifacts of a kind have.
func (v verifier) kind(ctx context.Context, item Item, got *remote.Descriptor) error {
	if item.Kind == KindImage {
		index, err := got.ImageIndex()
		if err != nil {
			return err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return err
		}
		return v.list.describes(item, manifest)
	}
	content, err := got.Image()
	if err != nil {
		return err
	}
	switch item.Kind {
	case KindChart:
		return v.list.runs(content)
	case KindPlugin:
		return allDescribed(content, v.list.about(KindSBOM, item.Repository, item.Digest))
	case KindSBOM:
		return v.attached(ctx, item, content)
	case KindProvenance:
		if err := v.attached(ctx, item, content); err != nil {
			return err
		}
		return v.list.agrees(item, content)
	default:
		return nil
	}
}

// signature verifies the signature of an artifact and returns the digest of it.
func (v verifier) signature(ctx context.Context, repository string, digest v1.Hash) (v1.Hash, error) {
	got, err := v.registry.Get(ctx, repository, signature.Tag(digest))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("it has no signature: %w", err)
	}
	signed, err := got.Image()
	if err != nil {
		return v1.Hash{}, err
	}
	return got.Digest, v.key.Verify(signed, digest)
}

// attached checks whether a document says what it is attached to, and is found among what is attached to
// that.
func (v verifier) attached(ctx context.Context, item Item, document v1.Image) error {
	manifest, err := document.Manifest()
	if err != nil {
		return err
	}
	if manifest.Subject == nil || manifest.Subject.Digest.String() != item.Subject {
		return fmt.Errorf("it does not say that it is attached to %s", item.Subject)
	}
	attached, err := v.registry.Attached(ctx, item.Repository, manifest.Subject.Digest)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(attached, func(d v1.Descriptor) bool { return d.Digest.String() == item.Digest }) {
		return fmt.Errorf("it is not attached to %s", item.Subject)
	}
	return nil
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
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	config, err := partial.ConfigLayer(image)
	if err != nil {
		return err
	}
	for _, layer := range append(layers, config) {
		if err := readLayer(layer); err != nil {
			return fmt.Errorf("reading a blob: %w", err)
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
