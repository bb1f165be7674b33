package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the programs run as: not a user of a host, and not root.
const user = "65532:65532"

// accounts are the files that give the user a name, for programs that look for one.
func accounts() []File {
	return []File{
		{Path: "/etc/passwd", Mode: 0o644,
			Content: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"},
		{Path: "/etc/group", Mode: 0o644, Content: "root:x:0:\nnonroot:x:65532:\n"},
	}
}

// Build compiles a program of the repository at root for all platforms and makes one image index of it. The image holds
// the program and nothing to run beside it: no shell, no libraries.
func Build(ctx context.Context, root string, p Program, s Stamp) (v1.ImageIndex, error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, fmt.Errorf("building the image of %s: %w", p.Name, err)
	}
	defer os.RemoveAll(folder)
	executables := map[string]string{}
	for _, platform := range platforms() {
		target := filepath.Join(folder, platform.Architecture)
		if err := compile(ctx, root, p, platform, s, target); err != nil {
			return nil, err
		}
		executables[platform.Architecture] = target
	}
	return Assemble(p, s, executables)
}

// Assemble makes the image index of a program from its executable for each architecture, by path.
func Assemble(p Program, s Stamp, executables map[string]string) (v1.ImageIndex, error) {
	var images []v1.Image
	for _, platform := range platforms() {
		image, err := assemble(p, s, platform, executables[platform.Architecture])
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return index(p, s, images), nil
}

func assemble(p Program, s Stamp, on v1.Platform, executable string) (v1.Image, error) {
	image, err := fromScratch(p, s, on, accounts(), []File{{Path: "/" + p.Name, Mode: 0o755, Source: executable}})
	if err != nil {
		return nil, fmt.Errorf("making the image of %s for %s: %w", p.Name, on.Architecture, err)
	}
	return image, nil
}

// fromScratch makes the image of a program for one platform from layers of files.
func fromScratch(p Program, s Stamp, on v1.Platform, layers ...[]File) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range layers {
		layer, err := NewLayer(files, s.created())
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: s.created()}, CreatedBy: "thalassa-ccm make image"}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = on.OS, on.Architecture, v1.Time{Time: s.created()}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + p.Name}, Cmd: p.Arguments, WorkingDir: "/",
		Labels: labels(p, s)}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels(p, s)).(v1.Image), nil
}

// index names the image of each platform.
func index(p Program, s Stamp, images []v1.Image) v1.ImageIndex {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, platform := range platforms() {
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: images[i],
			Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(all, labels(p, s)).(v1.ImageIndex)
}

// labels are what the OCI image specification gives names to; what is not known is left out.
func labels(p Program, s Stamp) map[string]string {
	const prefix = "org.opencontainers.image."
	named := map[string]string{
		prefix + "title": p.Title, prefix + "description": p.Description, prefix + "version": s.Version,
		prefix + "source":        "https://github.com/thalassa-cloud/thalassa-ccm",
		prefix + "documentation": "https://github.com/thalassa-cloud/thalassa-ccm/tree/main/docs",
		prefix + "licenses":      "Apache-2.0", prefix + "vendor": "thalassa-cloud",
	}
	if s.Revision != "" {
		named[prefix+"revision"] = s.Revision
	}
	if !s.Committed.IsZero() {
		named[prefix+"created"] = s.created().Format(time.RFC3339)
	}
	return named
}
