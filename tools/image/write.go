package image

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
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
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("writing the image layout %s: %w", folder, err)
	}
	outer := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	outer = mutate.AppendManifests(outer, mutate.IndexAddendum{Add: index,
		Descriptor: v1.Descriptor{Annotations: named(reference)}})
	if _, err := layout.Write(folder, outer); err != nil {
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
	outer := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	outer = mutate.AppendManifests(outer, mutate.IndexAddendum{Add: image,
		Descriptor: v1.Descriptor{Annotations: named(reference)}})
	written, err := layout.Write(folder, outer)
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

func named(reference string) map[string]string {
	return map[string]string{containerdName: reference, referenceName: reference}
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

// pack writes all files below folder into a tar archive, in the order of their names and without their times, and puts
// it in place only when it is complete.
func pack(path, folder string) (err error) {
	unfinished := filepath.Join(folder, "archive.tar")
	to, err := os.Create(unfinished)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || at == unfinished {
			return err
		}
		return packFile(w, folder, at)
	})
	if closed := w.Close(); err == nil {
		err = closed
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

func packFile(w *tar.Writer, folder, at string) error {
	from, err := os.Open(at)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(folder, at)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	return err
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
