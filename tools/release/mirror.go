package release

import (
	"context"
	"fmt"
	"io"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Mirror copies a release, everything that its list names and the list itself, from one registry to another by digest, so that all
// signatures stay valid. What is there already is not copied again. Only what is signed with the key is copied.
func Mirror(ctx context.Context, from, to artifact.Registry, version string, key signature.PublicKey, tell io.Writer) error {
	list, err := Released(ctx, from, version, key)
	if err != nil {
		return err
	}
	own, err := listItems(ctx, from, version)
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
func listItems(ctx context.Context, from artifact.Registry, version string) ([]Item, error) {
	list, err := from.Get(ctx, listRepository, version)
	if err != nil {
		return nil, fmt.Errorf("mirroring %s: %w", version, err)
	}
	tag := signature.Tag(list.Digest)
	signed, err := from.Get(ctx, listRepository, tag)
	if err != nil {
		return nil, fmt.Errorf("mirroring %s: %w", version, err)
	}
	return []Item{
		{Kind: KindSignature, Repository: listRepository, Tag: tag, Digest: signed.Digest.String()},
		{Repository: listRepository, Tag: version, Digest: list.Digest.String()},
	}, nil
}
