package release

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Mirror copies a release, everything that its list names and the list itself, from one registry to another by digest,
// so that all signatures stay valid. Only what is signed with the key is copied. Versions get their tags when
// everything is there, and no tag is moved. What is there already is not copied again, so that one that was interrupted
// is completed by another.
func Mirror(ctx context.Context, from, to artifact.Registry, version string, key signature.PublicKey,
	progress io.Writer) error {
	release, err := lookup(ctx, from, version, key)
	if err != nil {
		return fmt.Errorf("mirroring %s: %w", version, err)
	}
	if err := upload(ctx, release, to, from.Read, progress); err != nil {
		return fmt.Errorf("mirroring %s: %w", version, err)
	}
	return nil
}

// Save copies a release from a registry into a folder, which must not exist: it is there when it is complete, and
// Publish uploads it to another registry. Only what is signed with the key is copied.
func Save(ctx context.Context, from artifact.Registry, version string, key signature.PublicKey, folder string,
	progress io.Writer) error {
	err := whole(folder, "save", func(unfinished string) error {
		release, err := lookup(ctx, from, version, key)
		if err != nil {
			return err
		}
		return fill(ctx, from, release, unfinished, progress)
	})
	if err != nil {
		return fmt.Errorf("saving %s: %w", version, err)
	}
	return nil
}

// fill writes the store of a release below folder.
func fill(ctx context.Context, from artifact.Registry, release verified, folder string, progress io.Writer) error {
	store, err := artifact.Create(filepath.Join(folder, storeFolder))
	if err != nil {
		return err
	}
	for _, entry := range release.entries {
		content, err := from.Read(ctx, entry)
		if err != nil {
			return err
		}
		if _, err := store.Add(entry.Repository, entry.Tag, content); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(progress, "%s@%s\n", from.Repository(entry.Repository), entry.Descriptor.Digest)
	}
	return store.Check()
}
