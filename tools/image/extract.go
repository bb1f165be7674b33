package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Extract writes one file of an image ("/thalassa-emulator") to a path outside, with its permissions.
func Extract(image v1.Image, file, path string) error {
	reader := mutate.Extract(image)
	defer reader.Close()
	archive := tar.NewReader(reader)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("extracting %s: the image has no such file", file)
		}
		if err != nil {
			return fmt.Errorf("extracting %s: %w", file, err)
		}
		if header.Name == strings.TrimPrefix(file, "/") {
			return save(archive, path, header.FileInfo().Mode())
		}
	}
}

func save(content io.Reader, path string, mode os.FileMode) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, content)
	return errors.Join(err, to.Close())
}
