package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push uploads an index with everything in it, under a reference ("registry.example.com/path/emulator:v1.2.3"), with the credentials
// that `docker login` keeps. What the registry has is not uploaded again, so that one that was interrupted is finished by
// another.
func Push(ctx context.Context, reference string, index v1.ImageIndex) error {
	to, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("pushing to %q: %w", reference, err)
	}
	if err := remote.WriteIndex(to, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w; if the registry wants to know who you are, log in with docker, podman or skopeo first", to, err)
	}
	return nil
}
