package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// here is the platform of this machine.
func here() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// BuildArchive builds the image of a program for this machine alone, as Build does for all platforms, and writes it to
// path as an archive that is named reference.
func BuildArchive(ctx context.Context, root, path, reference string, p Program, s Stamp) error {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("building the image of %s: %w", p.Name, err)
	}
	defer os.RemoveAll(folder)
	content, err := build(ctx, root, p, here(), s, filepath.Join(folder, p.Name))
	if err != nil {
		return err
	}
	return archive(path, reference, p, s, content)
}

// Archive makes an image of a program for this machine from its executable alone, and writes it to path as an archive
// that is named reference.
func Archive(path, reference string, p Program, s Stamp, executable string) error {
	return archive(path, reference, p, s, Content{Executable: executable})
}

func archive(path, reference string, p Program, s Stamp, content Content) error {
	image, err := assemble(p, s, here(), content)
	if err != nil {
		return err
	}
	return WriteArchive(path, reference, image)
}
