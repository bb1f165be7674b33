package artifact

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameKey is the annotation with the name of an entry in a layout's index (OCI image specification, annotations).
const nameKey = "org.opencontainers.image.ref.name"

// Store is a folder with artifacts: an OCI image layout whose index names them as they are named in a registry. One
// folder is all that is needed to publish a release, or to carry it into a network without a way out.
type Store struct{ path layout.Path }

// Entry is one artifact of a store.
type Entry struct {
	Repository string // below the registry's own path: "charts/thalassa-ccm"
	Tag        string // empty: it is found as attached to another one
	Descriptor v1.Descriptor
}

// Create makes an empty store in folder, which must not exist or be empty.
func Create(folder string) (Store, error) {
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return Store{}, fmt.Errorf("making a store in %s: the folder is not empty", folder)
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return Store{}, fmt.Errorf("making a store in %s: %w", folder, err)
	}
	return Store{path}, nil
}

// Open returns the store in folder.
func Open(folder string) (Store, error) {
	path, err := layout.FromPath(folder)
	if err != nil {
		return Store{}, fmt.Errorf("opening the store in %s: %w; make release writes it", folder, err)
	}
	return Store{path}, nil
}

// Add puts an artifact into the store. What is attached to another one must come after that.
func (s Store) Add(repository, tag string, artifact remote.Taggable) (Entry, error) {
	name := layout.WithAnnotations(map[string]string{nameKey: repository + ":" + tag})
	var err error
	switch content := artifact.(type) {
	case v1.ImageIndex:
		err = s.path.AppendIndex(content, name)
	case v1.Image:
		err = s.path.AppendImage(content, name)
	default:
		err = fmt.Errorf("it is a %T, want an image or an index", artifact)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("storing %s:%s: %w", repository, tag, err)
	}
	entries, err := s.Entries()
	if err != nil {
		return Entry{}, err
	}
	return entries[len(entries)-1], nil
}

// Entries returns what is in the store, in the order in which it was added.
func (s Store) Entries() ([]Entry, error) {
	index, err := s.path.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("reading the store in %s: %w", s.path, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the store in %s: %w", s.path, err)
	}
	entries := make([]Entry, 0, len(manifest.Manifests))
	for _, descriptor := range manifest.Manifests {
		repository, tag, named := strings.Cut(descriptor.Annotations[nameKey], ":")
		if !named {
			return nil, fmt.Errorf("reading the store in %s: %s has no name", s.path, descriptor.Digest)
		}
		entries = append(entries, Entry{Repository: repository, Tag: tag, Descriptor: descriptor})
	}
	return entries, nil
}

// Read returns the artifact of an entry.
func (s Store) Read(e Entry) (remote.Taggable, error) {
	if e.Descriptor.MediaType != types.OCIImageIndex {
		return s.Image(e)
	}
	index, err := s.path.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("reading the store in %s: %w", s.path, err)
	}
	return index.ImageIndex(e.Descriptor.Digest)
}

// Image returns the artifact of an entry that is no index.
func (s Store) Image(e Entry) (v1.Image, error) { return s.path.Image(e.Descriptor.Digest) }

// Check compares every file with content with the digest that is its name, and names those that were changed, by whom
// or what ever.
func (s Store) Check() error {
	root := filepath.Join(string(s.path), "blobs")
	var changed []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		digest, err := digestOf(path)
		if err != nil {
			return err
		}
		if name := filepath.Base(filepath.Dir(path)) + ":" + entry.Name(); digest.String() != name {
			changed = append(changed, name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the store in %s: %w", s.path, err)
	}
	if len(changed) > 0 {
		return fmt.Errorf("reading the store in %s: changed since it was made: %s; copy it again", s.path,
			strings.Join(changed, ", "))
	}
	return nil
}

func digestOf(path string) (v1.Hash, error) {
	file, err := os.Open(path)
	if err != nil {
		return v1.Hash{}, err
	}
	defer file.Close()
	digest, _, err := v1.SHA256(file)
	return digest, err
}
