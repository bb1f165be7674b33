package artifact

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/github"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry is where repositories are: a host, and a path that all of them begin with.
type Registry struct {
	base    string
	options []remote.Option
}

// At returns the registry at base ("registry.example.com/path"), with the credentials that `docker login` keeps; for ghcr.io also
// those of a GitHub workflow, from the environment variable GITHUB_TOKEN.
func At(base string) Registry {
	keys := authn.NewMultiKeychain(authn.DefaultKeychain, github.Keychain)
	return Registry{base: base, options: []remote.Option{remote.WithAuthFromKeychain(keys)}}
}

// Repository returns the whole name of a repository ("registry.example.com/path/charts/thalassa-ccm").
func (r Registry) Repository(repository string) string { return r.base + "/" + repository }

func (r Registry) with(ctx context.Context) []remote.Option {
	return append([]remote.Option{remote.WithContext(ctx)}, r.options...)
}

// reference is the name under which an entry is uploaded.
func (r Registry) reference(e Entry) (name.Reference, error) {
	if e.Tag == "" {
		return name.NewDigest(r.Repository(e.Repository) + "@" + e.Descriptor.Digest.String())
	}
	return name.NewTag(r.Repository(e.Repository) + ":" + e.Tag)
}

// Push uploads everything in a store and tells done what it has uploaded. A manifest comes after what it lists, so that nobody ever
// finds half an artifact; what is there already is not uploaded again, so that a push that was interrupted is completed by
// another.
func (r Registry) Push(ctx context.Context, s Store, done func(Entry)) error {
	entries, err := s.Entries()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := s.Read(entry)
		if err != nil {
			return err
		}
		to, err := r.reference(entry)
		if err != nil {
			return fmt.Errorf("uploading to %s: %w", r.base, err)
		}
		if err := r.upload(ctx, to, content); err != nil {
			return err
		}
		done(entry)
	}
	return nil
}

// Put uploads one artifact under a tag, or under its digest when the tag is empty.
func (r Registry) Put(ctx context.Context, repository, tag string, content *remote.Descriptor) error {
	to, err := r.reference(Entry{Repository: repository, Tag: tag, Descriptor: content.Descriptor})
	if err != nil {
		return fmt.Errorf("uploading to %s: %w", r.base, err)
	}
	return r.upload(ctx, to, content)
}

func (r Registry) upload(ctx context.Context, to name.Reference, content remote.Taggable) error {
	if err := remote.Push(to, content, r.with(ctx)...); err != nil {
		return fmt.Errorf("uploading %s: %w; run it again to go on, after logging in with docker, podman or skopeo if the registry wants that", to, err)
	}
	return nil
}

// Get returns what a registry has under a tag or digest ("v1.2.3", "sha256:…").
func (r Registry) Get(ctx context.Context, repository, version string) (*remote.Descriptor, error) {
	separator := ":"
	if _, err := v1.NewHash(version); err == nil {
		separator = "@"
	}
	from, err := name.ParseReference(r.Repository(repository) + separator + version)
	if err != nil {
		return nil, fmt.Errorf("reading from %s: %w", r.base, err)
	}
	descriptor, err := remote.Get(from, r.with(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", from, err)
	}
	return descriptor, nil
}

// Attached returns what is attached to an artifact, by the type of what is.
func (r Registry) Attached(ctx context.Context, repository string, subject v1.Hash) (map[string]v1.Image, error) {
	of, err := name.NewDigest(r.Repository(repository) + "@" + subject.String())
	if err != nil {
		return nil, fmt.Errorf("reading from %s: %w", r.base, err)
	}
	index, err := remote.Referrers(of, r.with(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("reading what is attached to %s: %w", of, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading what is attached to %s: %w", of, err)
	}
	attached := map[string]v1.Image{}
	for _, descriptor := range manifest.Manifests {
		got, err := r.Get(ctx, repository, descriptor.Digest.String())
		if err != nil {
			return nil, err
		}
		// Not every registry says the type in its list, so the artifact itself does.
		artifact, err := got.Image()
		if err != nil {
			return nil, fmt.Errorf("reading what is attached to %s: %w", of, err)
		}
		manifest, err := artifact.Manifest()
		if err != nil {
			return nil, fmt.Errorf("reading what is attached to %s: %w", of, err)
		}
		attached[manifest.ArtifactType] = artifact
	}
	return attached, nil
}
