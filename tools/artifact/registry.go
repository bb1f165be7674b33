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

// At returns the registry at base ("registry.example.com/path"), with the credentials that `docker login` keeps; for
// ghcr.io also those of a GitHub workflow, from the environment variable GITHUB_TOKEN.
func At(base string) Registry {
	keys := authn.NewMultiKeychain(authn.DefaultKeychain, github.Keychain)
	options := []remote.Option{remote.WithAuthFromKeychain(keys)}
	// Who they are is asked once per repository then, and not with every request. The errors are of options that
	// exclude each other.
	puller, err := remote.NewPuller(options...)
	pusher, other := remote.NewPusher(options...)
	if err == nil && other == nil {
		options = append(options, remote.Reuse(puller), remote.Reuse(pusher))
	}
	return Registry{base: base, options: options}
}

// Repository returns the whole name of a repository ("registry.example.com/path/charts/thalassa-ccm").
func (r Registry) Repository(repository string) string { return r.base + "/" + repository }

func (r Registry) with(ctx context.Context) []remote.Option {
	return append([]remote.Option{remote.WithContext(ctx)}, r.options...)
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

// Read returns the artifact of an entry, by its digest.
func (r Registry) Read(ctx context.Context, e Entry) (remote.Taggable, error) {
	got, err := r.Get(ctx, e.Repository, e.Descriptor.Digest.String())
	if err != nil {
		return nil, err
	}
	if got.MediaType.IsIndex() {
		return got.ImageIndex()
	}
	return got.Image()
}
