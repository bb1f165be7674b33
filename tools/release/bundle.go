package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// Media types of a bundle, as Flux' source-controller and `flux pull artifact` expect them (Flux, "OCI cheatsheet").
const (
	bundleConfigType = "application/vnd.cncf.flux.config.v1+json"
	bundleLayerType  = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Bundle is the folder with Kustomize bases, components and overlays, packed.
type Bundle struct {
	Archive []byte
	about   map[string]string
}

// Artifact is the bundle as registries have it.
func (b Bundle) Artifact() artifact.Manifest {
	return artifact.Manifest{
		Config:      artifact.Blob{Type: bundleConfigType, Content: []byte("{}")},
		Layers:      []artifact.Blob{{Type: bundleLayerType, Content: b.Archive}},
		Annotations: b.about,
	}
}

// PackBundle packs a folder with manifests. Wherever they name the image by a tag, the bundle names it by its digest.
// The same release gives the same bytes.
func PackBundle(folder, image, digest string, s Source) (Bundle, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	packer := bundlePacker{Writer: tar.NewWriter(compressed), source: s, image: image, digest: digest}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return packer.add(filepath.Join(folder, name), name)
	})
	switch {
	case err != nil:
		return Bundle{}, fmt.Errorf("packing the bundle %s: %w", folder, err)
	case packer.replaced == 0:
		return Bundle{}, fmt.Errorf("packing the bundle %s: no file in it names the image %s", folder, image)
	}
	if err := packer.Close(); err != nil {
		return Bundle{}, fmt.Errorf("packing the bundle %s: %w", folder, err)
	}
	if err := compressed.Close(); err != nil {
		return Bundle{}, fmt.Errorf("packing the bundle %s: %w", folder, err)
	}
	about := s.annotations("thalassa-ccm-kustomize", "Kustomize bases, components and overlays of thalassa-ccm")
	// Flux shows these two as the source and revision of what it applies.
	about["org.opencontainers.image.revision"] = s.Version + "@sha1:" + s.Revision
	return Bundle{Archive: archive.Bytes(), about: about}, nil
}

type bundlePacker struct {
	*tar.Writer
	source        Source
	image, digest string
	replaced      int // names of the image that became digests
}

func (p *bundlePacker) add(file, name string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if path.Ext(name) == ".yaml" {
		content = p.pin(content)
	}
	header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: p.source.Committed.UTC(),
		Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := p.WriteHeader(header); err != nil {
		return err
	}
	_, err = p.Write(content)
	return err
}

// pin replaces the tag behind every name of the image.
func (p *bundlePacker) pin(content []byte) []byte {
	parts := strings.Split(string(content), p.image+":")
	for i := 1; i < len(parts); i++ {
		end := strings.IndexAny(parts[i], "\"' \n")
		if end < 0 {
			end = len(parts[i])
		}
		parts[i] = p.image + "@" + p.digest + parts[i][end:]
		p.replaced++
	}
	return []byte(strings.Join(parts, ""))
}
