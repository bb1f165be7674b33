package image

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// Registry is where the images are published, and what their names in layouts and archives begin with.
const Registry = "ghcr.io/thalassa-cloud/thalassa-ccm"

// Make builds the images of all programs and writes them below folder: NAME/ is an OCI image layout for all platforms,
// NAME-ARCHITECTURE.tar an archive of one for `docker load` and `ctr images import`. It prints what it made.
func Make(ctx context.Context, root, folder string, s Stamp, progress io.Writer) error {
	for _, program := range Programs() {
		_, _ = fmt.Fprintf(progress, "building %s for linux/amd64 and linux/arm64, which takes minutes at first\n",
			program.Name)
		index, err := Build(ctx, root, program, s)
		if err != nil {
			return err
		}
		reference := Registry + "/" + program.Repository + ":" + s.tag()
		if err := write(folder, program.Name, reference, index, progress); err != nil {
			return err
		}
	}
	return nil
}

func write(folder, name, reference string, index v1.ImageIndex, progress io.Writer) error {
	layout := filepath.Join(folder, name)
	if err := WriteLayout(layout, reference, index); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("reading the digest of %s: %w", name, err)
	}
	_, _ = fmt.Fprintf(progress, "  digest   %s\n  layout   %s\n", digest, layout)
	images, err := Images(index)
	if err != nil {
		return err
	}
	for _, architecture := range slices.Sorted(maps.Keys(images)) {
		path := layout + "-" + architecture + ".tar"
		if err := WriteArchive(path, reference, images[architecture]); err != nil {
			return err
		}
		size, err := Size(images[architecture])
		if err != nil {
			return err
		}
		const megabyte = 1e6
		_, _ = fmt.Fprintf(progress, "  archive  %s, %.1f MB to download\n", path, float64(size)/megabyte)
	}
	return nil
}

// PushAll uploads what Make wrote below folder to a registry ("registry.example.com/path"), with the version as tag
// ("v1.2.3" is 1.2.3). It prints what it pushed, by digest.
func PushAll(ctx context.Context, folder, registry, version string, progress io.Writer) error {
	to, tag := artifact.At(registry), Stamp{Version: version}.tag()
	for _, program := range Programs() {
		index, err := ReadLayout(filepath.Join(folder, program.Name))
		if err != nil {
			return err
		}
		if err := to.Put(ctx, program.Repository, tag, index); err != nil {
			return err
		}
		digest, err := index.Digest()
		if err != nil {
			return fmt.Errorf("reading the digest of %s: %w", program.Name, err)
		}
		_, _ = fmt.Fprintf(progress, "%s:%s@%s\n", to.Repository(program.Repository), tag, digest)
	}
	return nil
}
