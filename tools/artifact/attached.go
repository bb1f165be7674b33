package artifact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Attached returns what a registry lists as attached to an artifact, by whomever. What is listed need not be there.
//
// A registry without an interface for that has the list under a tag (OCI distribution specification v1.1, "referrers
// tag schema"). ghcr.io is one of those, and sends who asks for the interface to a page for people, whose answer is now
// this status and now that.
func (r Registry) Attached(ctx context.Context, repository string, subject v1.Hash) ([]v1.Descriptor, error) {
	of, err := name.NewDigest(r.Repository(repository) + "@" + subject.String())
	if err != nil {
		return nil, fmt.Errorf("reading from %s: %w", r.base, err)
	}
	index, err := remote.Referrers(of, r.with(ctx)...)
	if err == nil {
		var manifest *v1.IndexManifest
		if manifest, err = index.IndexManifest(); err == nil {
			return manifest.Manifests, nil
		}
	}
	tagged, problem := r.taggedList(ctx, repository, subject)
	if problem != nil {
		return nil, fmt.Errorf("reading what is attached to %s: %w", of, errors.Join(err, problem))
	}
	if tagged == nil {
		return nil, fmt.Errorf("reading what is attached to %s: %w", of, err)
	}
	return tagged.Manifests, nil
}

// listTag is the tag of the list of what is attached to a digest.
func listTag(subject v1.Hash) string { return strings.Replace(subject.String(), ":", "-", 1) }

// taggedList is the list that is kept under a tag, nil if there is none.
func (r Registry) taggedList(ctx context.Context, repository string, subject v1.Hash) (*v1.IndexManifest, error) {
	got, err := r.Get(ctx, repository, listTag(subject))
	if refusal(err) == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// A registry may take the tag for the digest it is made of, and answer with the subject itself.
	if got.Digest == subject {
		return nil, nil
	}
	list, err := v1.ParseIndexManifest(bytes.NewReader(got.Manifest))
	if err != nil {
		return nil, fmt.Errorf("reading the tag %s: %w", listTag(subject), err)
	}
	return list, nil
}

// attach uploads an artifact with a subject and sees to it that the registry lists it. The library leaves a list alone
// when the artifact is there already: an upload that was interrupted between the two would never be completed.
func (r Registry) attach(ctx context.Context, e Entry, subject v1.Hash, content remote.Taggable) error {
	to, err := name.NewDigest(r.Repository(e.Repository) + "@" + e.Descriptor.Digest.String())
	if err != nil {
		return r.uploaded(e, err)
	}
	if err := remote.Push(to, content, r.with(ctx)...); err != nil {
		// It may be the list that the library did not understand: that is done below.
		if _, missing := r.Get(ctx, e.Repository, e.Descriptor.Digest.String()); missing != nil {
			return r.uploaded(e, err)
		}
	}
	if r.listed(ctx, e, subject) == nil {
		return nil
	}
	if err := r.list(ctx, e, subject, content); err != nil {
		return r.uploaded(e, err)
	}
	return r.uploaded(e, r.listed(ctx, e, subject))
}

// listed fails when the registry does not list an entry as attached.
func (r Registry) listed(ctx context.Context, e Entry, subject v1.Hash) error {
	attached, err := r.Attached(ctx, e.Repository, subject)
	if err != nil {
		return err
	}
	if !lists(attached, e.Descriptor.Digest) {
		return fmt.Errorf("the registry does not list it as attached to %s", subject)
	}
	return nil
}

func lists(attached []v1.Descriptor, digest v1.Hash) bool {
	return slices.ContainsFunc(attached, func(d v1.Descriptor) bool { return d.Digest == digest })
}

// list adds an entry to the list that is kept under a tag.
func (r Registry) list(ctx context.Context, e Entry, subject v1.Hash, content remote.Taggable) error {
	list, err := r.taggedList(ctx, e.Repository, subject)
	if err != nil {
		return err
	}
	if list == nil {
		list = &v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	}
	if lists(list.Manifests, e.Descriptor.Digest) {
		return nil
	}
	descriptor, err := describe(content)
	if err != nil {
		return err
	}
	list.Manifests = append(list.Manifests, descriptor)
	to, err := name.NewTag(r.Repository(e.Repository) + ":" + listTag(subject))
	if err != nil {
		return err
	}
	return remote.Put(to, listing{list}, r.with(ctx)...)
}

// listing is an index that is uploaded as it is, without what it lists.
type listing struct{ list *v1.IndexManifest }

// RawManifest is the index as it is uploaded.
func (l listing) RawManifest() ([]byte, error) { return json.Marshal(l.list) }

// MediaType is that of an index.
func (l listing) MediaType() (types.MediaType, error) { return types.OCIImageIndex, nil }

// subjectOf returns what an artifact is attached to, nil if it is not.
func subjectOf(content remote.Taggable) (*v1.Descriptor, error) {
	manifest, err := partial.Manifest(content)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	return manifest.Subject, nil
}

// describe returns the descriptor that a list has of an attached artifact: with its type and annotations, for those who
// look for one.
func describe(content remote.Taggable) (v1.Descriptor, error) {
	raw, err := content.RawManifest()
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading a manifest: %w", err)
	}
	manifest, err := partial.Manifest(content)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading a manifest: %w", err)
	}
	digest, size, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading a manifest: %w", err)
	}
	return v1.Descriptor{MediaType: manifest.MediaType, Digest: digest, Size: size, Annotations: manifest.Annotations,
		ArtifactType: cmp.Or(manifest.ArtifactType, string(manifest.Config.MediaType))}, nil
}
