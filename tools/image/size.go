package image

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Size is what has to be downloaded to run an image, in bytes: its manifest, configuration and compressed layers.
func Size(image v1.Image) (int64, error) {
	size, err := image.Size()
	if err != nil {
		return 0, fmt.Errorf("measuring an image: %w", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return 0, fmt.Errorf("measuring an image: %w", err)
	}
	size += manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size, nil
}

// Images returns the image of each platform in an index, by architecture.
func Images(index v1.ImageIndex) (map[string]v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an image index: %w", err)
	}
	images := map[string]v1.Image{}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return nil, fmt.Errorf("reading the image %s of an index: %w", descriptor.Digest, err)
		}
		images[descriptor.Platform.Architecture] = image
	}
	return images, nil
}
