package image

import (
	"archive/tar"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
)

// Packages are the packages of Debian whose files are in an image.
func Packages(image v1.Image) ([]debian.Installed, error) {
	reader := mutate.Extract(image)
	defer reader.Close()
	return debian.ReadInstalled(tar.NewReader(reader))
}

// Extract returns the content of one file of an image ("/thalassa-emulator").
func Extract(image v1.Image, file string) ([]byte, error) {
	reader := mutate.Extract(image)
	defer reader.Close()
	archive := tar.NewReader(reader)
	for {
		header, err := archive.Next()
		if err != nil { // io.EOF when there is no such file
			return nil, fmt.Errorf("extracting %s from an image: %w", file, err)
		}
		if header.Name == strings.TrimPrefix(file, "/") {
			return io.ReadAll(archive)
		}
	}
}
