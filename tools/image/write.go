package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/renameio/v2"
)

// Names of the image that an archive holds: containerd reads the first annotation, others the second (OCI image
// specification, annotations).
const (
	containerdName = "io.containerd.image.name"
	referenceName  = "org.opencontainers.image.ref.name"
)

// WriteLayout writes an index as an OCI image layout into folder, in place of what was there. The layout's own index
// names it reference ("ghcr.io/…:v1.2.3").
func WriteLayout(folder, reference string, index v1.ImageIndex) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("writing the image layout %s: %w", folder, err)
	}
	if _, err := layout.Write(folder, named(reference, index)); err != nil {
		return fmt.Errorf("writing the image layout %s: %w", folder, err)
	}
	return nil
}

// WriteArchive writes the image of one platform as a tar archive that `docker load` and `ctr images import` both take:
// an OCI image layout with the file manifest.json that Docker looks for.
func WriteArchive(path, reference string, image v1.Image) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".archive-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.RemoveAll(folder)
	written, err := layout.Write(folder, named(reference, image))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	manifest, err := dockerManifest(reference, image)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := written.WriteFile("manifest.json", manifest, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := pack(path, folder); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// named is the outer index of a layout, which names what the layout holds.
func named(reference string, content mutate.Appendable) v1.ImageIndex {
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: content, Descriptor: v1.Descriptor{
			Annotations: map[string]string{containerdName: reference, referenceName: reference},
		}})
}

// dockerManifest is what `docker save` writes beside an OCI layout, with the paths of the layout's blobs.
func dockerManifest(reference string, image v1.Image) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	blob := func(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
	saved := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: blob(manifest.Config.Digest), RepoTags: []string{reference}}
	for _, layer := range manifest.Layers {
		saved.Layers = append(saved.Layers, blob(layer.Digest))
	}
	return json.Marshal([]any{saved})
}

// pack writes all files below folder into a tar archive without their times, and puts it in place only when it is
// complete.
func pack(path, folder string) error {
	files, err := Files(folder)
	if err != nil {
		return err
	}
	to, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { _ = to.Cleanup() }()
	if err := Pack(to, files, time.Unix(0, 0)); err != nil {
		return err
	}
	return to.CloseAtomicallyReplace()
}

// ReadLayout reads what WriteLayout wrote.
func ReadLayout(folder string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the image layout %s: %w; make image writes it", folder, err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the image layout %s: %w", folder, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("reading the image layout %s: it holds %d images, want 1", folder,
			len(manifest.Manifests))
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("reading the image layout %s: %w", folder, err)
	}
	return index, nil
}
