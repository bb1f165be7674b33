package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Publish uploads the release below folder to a registry: what its signed list names, which has to be all that is
// there. The list's signature has to be of the key. Versions get their tags when everything is there, and no tag is
// moved. One that was interrupted is completed by another. It fails for what a dry run made, which is not signed.
func Publish(ctx context.Context, folder string, to artifact.Registry, key signature.PublicKey,
	progress io.Writer) error {
	store, err := artifact.Open(filepath.Join(folder, storeFolder))
	if err != nil {
		return err
	}
	stored, err := readStore(store, key)
	if err != nil {
		return fmt.Errorf("publishing %s: %w", folder, err)
	}
	read := func(_ context.Context, e artifact.Entry) (remote.Taggable, error) { return store.Read(e) }
	if err := upload(ctx, stored, to, read, progress); err != nil {
		return fmt.Errorf("publishing %s: %w", stored.list.Version, err)
	}
	return nil
}

// verified is a release whose list is signed.
type verified struct {
	list    List
	entries []artifact.Entry // what the list names, the list's signature, and the list
}

// withSignature adds the entries to a list, which lies under a digest, and its signature.
func withSignature(list List, digest, signed v1.Hash) (verified, error) {
	items := append(slices.Clone(list.Items),
		Item{Repository: listRepository, Tag: signature.Tag(digest), Digest: signed.String()},
		Item{Repository: listRepository, Tag: number(list.Version), Digest: digest.String()})
	release := verified{list: list}
	for _, item := range items {
		digest, err := v1.NewHash(item.Digest)
		if err != nil {
			return verified{}, fmt.Errorf("reading the list of the release: %s %s: %w", item.Kind, item.Repository, err)
		}
		release.entries = append(release.entries, artifact.Entry{
			Repository: item.Repository, Tag: item.Tag, Descriptor: v1.Descriptor{Digest: digest},
		})
	}
	return release, nil
}

// upload puts a release into a registry and prints what is there.
func upload(ctx context.Context, release verified, to artifact.Registry, read reader, progress io.Writer) error {
	err := to.Upload(ctx, release.entries, read, func(entry artifact.Entry) {
		_, _ = fmt.Fprintf(progress, "%s@%s\n", to.Repository(entry.Repository), entry.Descriptor.Digest)
	})
	var taken *artifact.TakenError
	if errors.As(err, &taken) && slices.ContainsFunc(taken.Tags, func(t artifact.Taken) bool {
		return t.Entry.Repository == listRepository
	}) {
		return fmt.Errorf("it is published already, from another run of make release, and no two runs sign the same; "+
			"publish what that run made, or release another version: %w", err)
	}
	return err
}

// reader reads an artifact from where it is.
type reader func(context.Context, artifact.Entry) (remote.Taggable, error)

// readStore returns the release in a store, which nothing in the folder but its list decides: whoever carried it could
// have changed the rest.
func readStore(store artifact.Store, key signature.PublicKey) (verified, error) {
	if err := store.Check(); err != nil {
		return verified{}, err
	}
	entries, err := store.Entries()
	if err != nil {
		return verified{}, err
	}
	list, digest, err := storedList(store, entries)
	if err != nil {
		return verified{}, err
	}
	signed, err := storedSignature(store, entries, digest, key)
	if err != nil {
		return verified{}, fmt.Errorf("%s %w", list.Version, err)
	}
	if err := list.complete(); err != nil {
		return verified{}, err
	}
	release, err := withSignature(list, digest, signed)
	if err != nil {
		return verified{}, err
	}
	release.entries, err = match(release.entries, entries)
	return release, err
}

// storedList is the only list in a store.
func storedList(store artifact.Store, entries []artifact.Entry) (List, v1.Hash, error) {
	var found []artifact.Entry
	for _, entry := range entries {
		if entry.Repository == listRepository && !strings.HasSuffix(entry.Tag, ".sig") {
			found = append(found, entry)
		}
	}
	if len(found) != 1 {
		return List{}, v1.Hash{}, fmt.Errorf("it has %d lists of a release, want 1", len(found))
	}
	image, err := store.Image(found[0])
	if err != nil {
		return List{}, v1.Hash{}, fmt.Errorf("reading the list of the release: %w", err)
	}
	list, err := readList(image)
	return list, found[0].Descriptor.Digest, err
}

// storedSignature returns the digest of the signature of a list.
func storedSignature(store artifact.Store, entries []artifact.Entry, list v1.Hash,
	key signature.PublicKey) (v1.Hash, error) {
	i := slices.IndexFunc(entries, func(e artifact.Entry) bool {
		return e.Repository == listRepository && e.Tag == signature.Tag(list)
	})
	if i < 0 {
		return v1.Hash{},
			errors.New("is not signed: it is from a dry run; set the key to sign with and make the release again")
	}
	signed, err := store.Image(entries[i])
	if err != nil {
		return v1.Hash{}, fmt.Errorf("reading its signature: %w", err)
	}
	if err := key.Verify(signed, list); err != nil {
		return v1.Hash{}, fmt.Errorf("has a list of others: %w", err)
	}
	return entries[i].Descriptor.Digest, nil
}

// match returns what is stored in the order in which it is named, and fails when not all of it is stored, or more.
func match(named, stored []artifact.Entry) ([]artifact.Entry, error) {
	left := slices.Clone(stored)
	var ordered []artifact.Entry
	var problems []error
	for _, want := range named {
		i := slices.IndexFunc(left, func(got artifact.Entry) bool { return nameOf(got) == nameOf(want) })
		if i < 0 {
			problems = append(problems, fmt.Errorf("the list names %s, which is not there", nameOf(want)))
			continue
		}
		ordered = append(ordered, left[i])
		left = slices.Delete(left, i, i+1)
	}
	for _, more := range left {
		problems = append(problems, fmt.Errorf("%s is there, which the list does not name", nameOf(more)))
	}
	return ordered, errors.Join(problems...)
}

// nameOf is an entry for people: everything that has to be as the list says.
func nameOf(e artifact.Entry) string {
	return e.Repository + ":" + e.Tag + "@" + e.Descriptor.Digest.String()
}
