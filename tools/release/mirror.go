package release

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Mirror copies a release, everything that its list names and the list itself, from one registry to another by digest, so that all
// signatures stay valid. What is there already is not copied again. Only what is signed with the key is copied.
func Mirror(ctx context.Context, from, to artifact.Registry, version string, key signature.PublicKey, tell io.Writer) error {
	// Read once: what is copied is what was verified, whatever the registry says the next time.
	named, err := from.Get(ctx, listRepository, number(version))
	if err != nil {
		return fmt.Errorf("mirroring %s: %w", version, err)
	}
	list, err := released(ctx, from, version, key, named)
	if err != nil {
		return err
	}
	own, err := listItems(ctx, from, version, named.Digest)
	if err != nil {
		return err
	}
	for _, item := range append(list.Items, own...) {
		got, err := from.Get(ctx, item.Repository, item.Digest)
		if err != nil {
			return fmt.Errorf("mirroring %s: %w", version, err)
		}
		if err := to.Put(ctx, item.Repository, item.Tag, got); err != nil {
			return fmt.Errorf("mirroring %s: %w", version, err)
		}
		_, _ = fmt.Fprintf(tell, "%s@%s\n", to.Repository(item.Repository), item.Digest)
	}
	return nil
}

// listItems are the signature of a release's list, and the list: it comes last, when all it names is there.
func listItems(ctx context.Context, from artifact.Registry, version string, list v1.Hash) ([]Item, error) {
	tag := signature.Tag(list)
	signed, err := from.Get(ctx, listRepository, tag)
	if err != nil {
		return nil, fmt.Errorf("mirroring %s: %w", version, err)
	}
	return []Item{
		{Kind: KindSignature, Repository: listRepository, Tag: tag, Digest: signed.Digest.String()},
		{Repository: listRepository, Tag: number(version), Digest: list.String()},
	}, nil
}
