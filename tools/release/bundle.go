package release

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"regexp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
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

// PackBundle packs a folder with manifests. Wherever they name one of the images by a tag, the bundle names it by its
// digest; digests has them by name. The same release gives the same bytes.
func PackBundle(folder string, digests map[string]string, s Source) (Bundle, error) {
	archive, err := packBundle(folder, digests, s)
	if err != nil {
		return Bundle{}, fmt.Errorf("packing the bundle %s: %w", folder, err)
	}
	about := s.annotations("thalassa-ccm-kustomize", "Kustomize bases, components and overlays of thalassa-ccm")
	// Flux shows these two as the source and revision of what it applies.
	about["org.opencontainers.image.revision"] = s.Version + "@sha1:" + s.Revision
	return Bundle{Archive: archive, about: about}, nil
}

func packBundle(folder string, digests map[string]string, s Source) ([]byte, error) {
	files, err := image.Files(folder)
	if err != nil {
		return nil, err
	}
	for i := range files {
		content, err := os.ReadFile(files[i].Source)
		if err != nil {
			return nil, err
		}
		files[i].Source, files[i].Content = "", string(content)
	}
	for name, digest := range digests {
		if !pin(files, name, digest) {
			return nil, fmt.Errorf("no file in it names the image %s", name)
		}
	}
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	if err := image.Pack(compressed, files, s.Committed.UTC()); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return archive.Bytes(), err
}

// pin names an image by its digest wherever manifests name it by a tag, and reports whether any does.
func pin(files []image.File, name, digest string) bool {
	tagged, found := regexp.MustCompile(regexp.QuoteMeta(name)+`:[^"' \n]*`), false
	for i := range files {
		if path.Ext(files[i].Path) == ".yaml" && tagged.MatchString(files[i].Content) {
			found = true
			files[i].Content = tagged.ReplaceAllLiteralString(files[i].Content, name+"@"+digest)
		}
	}
	return found
}
