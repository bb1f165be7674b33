package release

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// assembly puts artifacts into a store and keeps the list of them.
type assembly struct {
	store artifact.Store
	list  List
	key   *signature.Key // nil: nothing is signed
}

// add stores an artifact and its signature.
func (a *assembly) add(kind Kind, repository, tag string, content remote.Taggable) (Item, error) {
	entry, err := a.store.Add(repository, tag, content)
	if err != nil {
		return Item{}, err
	}
	item := Item{Kind: kind, Repository: repository, Tag: tag, Digest: entry.Descriptor.Digest.String()}
	a.list.Items = append(a.list.Items, item)
	if kind.signed() {
		return item, a.sign(item)
	}
	return item, nil
}

// sign stores the signature of an item, if there is a key.
func (a *assembly) sign(item Item) error {
	if a.key == nil {
		return nil
	}
	digest, err := v1.NewHash(item.Digest)
	if err != nil {
		return fmt.Errorf("signing %s: %w", item.Repository, err)
	}
	signed, err := a.key.Sign(Registry+"/"+item.Repository, digest, map[string]string{"artifact": item.Repository,
		"version": number(a.list.Version)})
	if err != nil {
		return err
	}
	entry, err := a.store.Add(item.Repository, signature.Tag(digest), signed)
	if err != nil {
		return err
	}
	a.list.Items = append(a.list.Items, Item{
		Kind: KindSignature, Repository: item.Repository, Tag: signature.Tag(digest),
		Digest: entry.Descriptor.Digest.String(), Subject: item.Digest,
	})
	return nil
}

// manifest stores an artifact that is no container image.
func (a *assembly) manifest(kind Kind, repository, tag string, m artifact.Manifest) (Item, error) {
	content, err := m.Image()
	if err != nil {
		return Item{}, fmt.Errorf("making the %s of %s: %w", kind, repository, err)
	}
	return a.add(kind, repository, tag, content)
}

// attach stores a document about another artifact of the same repository.
func (a *assembly) attach(kind Kind, repository string, subject v1.Descriptor, mediaType string,
	document []byte) error {
	about := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	_, err := a.manifest(kind, repository, "", artifact.Manifest{
		Type: mediaType, Layers: []artifact.Blob{{Type: types.MediaType(mediaType), Content: document}},
		Subject: &about,
	})
	if err != nil {
		return err
	}
	a.list.Items[len(a.list.Items)-1].Subject = subject.Digest.String()
	return nil
}

// publishList stores the list itself, and its signature, as the last: what it names is there by then.
func (a *assembly) publishList(s Source) error {
	manifest, err := a.list.Artifact(s)
	if err != nil {
		return err
	}
	list := a.list
	item, err := a.manifest("", listRepository, s.Number(), manifest)
	if err == nil {
		err = a.sign(item)
	}
	a.list = list // which does not name itself
	return err
}
