// Package artifact keeps everything of a release the way registries do: as blobs, manifests that list them, and names.
// It makes manifests of whatever is no container image, keeps all in one folder, uploads it, and copies it from
// registry to registry.
package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// EmptyConfig is the configuration of a manifest that has nothing to configure (OCI image specification v1.1, "guidance
// for an empty descriptor").
const EmptyConfig = types.MediaType("application/vnd.oci.empty.v1+json")

// Blob is content with a type.
type Blob struct {
	Type        types.MediaType
	Content     []byte
	Annotations map[string]string
}

// Manifest is what an artifact consists of.
type Manifest struct {
	Type        string // of the artifact; empty when the configuration's type says it
	Config      Blob
	Layers      []Blob
	Annotations map[string]string
	Subject     *v1.Descriptor // what this is attached to, if anything
}

// Image returns the manifest in the form in which registries' libraries handle everything. The same content gives the
// same digest.
func (m Manifest) Image() (v1.Image, error) {
	if m.Config.Type == "" {
		m.Config = Blob{Type: EmptyConfig, Content: []byte("{}")}
	}
	core := &image{blobs: map[v1.Hash]v1.Layer{}, config: m.Config.Content}
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: m.Type, Annotations: m.Annotations,
		Subject: m.Subject,
	}
	var err error
	if manifest.Config, err = core.add(m.Config); err != nil {
		return nil, err
	}
	for _, blob := range m.Layers {
		layer, err := core.add(blob)
		if err != nil {
			return nil, err
		}
		manifest.Layers = append(manifest.Layers, layer)
	}
	if core.manifest, err = json.Marshal(manifest); err != nil {
		return nil, fmt.Errorf("writing a manifest: %w", err)
	}
	return partial.CompressedToImage(core)
}

// image is the little that partial makes a whole v1.Image of.
type image struct {
	config, manifest []byte
	blobs            map[v1.Hash]v1.Layer
}

func (i *image) add(b Blob) (v1.Descriptor, error) {
	layer := static.NewLayer(b.Content, b.Type)
	digest, size, err := v1.SHA256(bytes.NewReader(b.Content))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading content of type %s: %w", b.Type, err)
	}
	i.blobs[digest] = layer
	return v1.Descriptor{MediaType: b.Type, Digest: digest, Size: size, Annotations: b.Annotations}, nil
}

// RawConfigFile is part of partial.CompressedImageCore, as are all methods here.
func (i *image) RawConfigFile() ([]byte, error) { return i.config, nil }

// MediaType is that of the manifest.
func (i *image) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawManifest is the manifest as it is uploaded.
func (i *image) RawManifest() ([]byte, error) { return i.manifest, nil }

// LayerByDigest returns a blob.
func (i *image) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	layer, known := i.blobs[digest]
	if !known {
		return nil, fmt.Errorf("the manifest has no blob %s", digest)
	}
	return layer, nil
}

// Content reads the only layer of an artifact such as an SBOM.
func Content(artifact v1.Image) ([]byte, error) {
	layers, err := artifact.Layers()
	if err != nil {
		return nil, fmt.Errorf("reading an artifact: %w", err)
	}
	if len(layers) != 1 {
		return nil, fmt.Errorf("reading an artifact: it has %d layers, want 1", len(layers))
	}
	reader, err := layers[0].Compressed()
	if err != nil {
		return nil, fmt.Errorf("reading an artifact: %w", err)
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("reading an artifact: %w", err)
	}
	return content, nil
}
