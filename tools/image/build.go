package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
)

// searchPath is the variable PATH of images with programs of Debian.
const searchPath = "PATH=/usr/sbin:/usr/bin"

// user is who the programs run as: not a user of a host, and not root.
const user = "65532:65532"

// healthInterval is short, because what waits for a container waits at least for the first check.
const healthInterval = 2 * time.Second

// accounts are the files that give the user a name, for programs that look for one.
func accounts() []File {
	return []File{
		{Path: "/etc/passwd", Mode: 0o644,
			Content: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"},
		{Path: "/etc/group", Mode: 0o644, Content: "root:x:0:\nnonroot:x:65532:\n"},
	}
}

// Build compiles a program of the repository at root for all platforms and makes one image index of it. The image holds
// the program, those of Debian that it starts, and nothing else to run: no shell, and no libraries if it starts none.
func Build(ctx context.Context, root string, p Program, s Stamp) (v1.ImageIndex, error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, fmt.Errorf("building the image of %s: %w", p.Name, err)
	}
	defer os.RemoveAll(folder)
	contents := map[string]Content{}
	for _, platform := range platforms() {
		content, err := build(ctx, root, p, platform, s, filepath.Join(folder, platform.Architecture))
		if err != nil {
			return nil, err
		}
		contents[platform.Architecture] = content
	}
	return Assemble(p, s, contents)
}

// Content is what an image for one architecture holds.
type Content struct {
	Executable string // path of the compiled program
	Debian     []File // what Program.Debian names, and what that needs
}

// build compiles a program to target and collects what else is in its image.
func build(ctx context.Context, root string, p Program, on v1.Platform, s Stamp, target string) (Content, error) {
	if err := Compile(ctx, root, p, on, s, target); err != nil {
		return Content{}, err
	}
	content := Content{Executable: target}
	if len(p.Debian) == 0 {
		return content, nil
	}
	files, err := debian.Files(ctx, root, on.Architecture, p.Debian)
	if err != nil {
		return Content{}, fmt.Errorf("building the image of %s: %w", p.Name, err)
	}
	for _, file := range files {
		content.Debian = append(content.Debian, File{Path: file.Path, Mode: file.Mode, Content: file.Content})
	}
	return content, nil
}

// Assemble makes the image index of a program from the contents for each architecture.
func Assemble(p Program, s Stamp, contents map[string]Content) (v1.ImageIndex, error) {
	var images []v1.Image
	for _, platform := range platforms() {
		image, err := assemble(p, s, platform, contents[platform.Architecture])
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return index(p, s, images), nil
}

func assemble(p Program, s Stamp, on v1.Platform, content Content) (v1.Image, error) {
	layers, err := layersOf(p, s, content)
	if err != nil {
		return nil, fmt.Errorf("making the image of %s for %s: %w", p.Name, on.Architecture, err)
	}
	image, err := fromScratch(p, s, on, layers)
	if err != nil {
		return nil, fmt.Errorf("making the image of %s for %s: %w", p.Name, on.Architecture, err)
	}
	return image, nil
}

// layersOf are the layers of an image: what changes least comes first.
func layersOf(p Program, s Stamp, content Content) ([]v1.Layer, error) {
	var layers []v1.Layer
	if len(content.Debian) > 0 {
		// No time of a release is in this layer, so that releases share it.
		layer, err := NewLayer(content.Debian, time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	program := []File{{Path: "/" + p.Name, Mode: 0o755, Source: content.Executable}}
	for _, name := range p.Names {
		program = append(program, File{Path: "/" + name, Mode: fs.ModeSymlink | 0o777, Content: p.Name})
	}
	for _, folder := range p.Folders {
		// A new volume gets the mode of the folder in its place, and the user of the image is not root.
		program = append(program, File{Path: folder, Mode: fs.ModeDir | 0o777})
	}
	for _, files := range [][]File{accounts(), program} {
		layer, err := NewLayer(files, s.created())
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

// fromScratch makes the image of a program for one platform from layers.
func fromScratch(p Program, s Stamp, on v1.Platform, layers []v1.Layer) (v1.Image, error) {
	image, err := FromLayers(on, s.created(), configured(p, s), layers...)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels(p, s)).(v1.Image), nil
}

// FromLayers makes an image for a platform, whose containers start as the configuration says. It was created at a time
// that does not depend on this machine, so that the same layers make the same image.
func FromLayers(on v1.Platform, at time.Time, start v1.Config, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		history := v1.History{Created: v1.Time{Time: at}, CreatedBy: "thalassa-ccm make image"}
		var err error
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = on.OS, on.Architecture, v1.Time{Time: at}
	config.Config = start
	return mutate.ConfigFile(image, config)
}

// configured is how a container of the image starts.
func configured(p Program, s Stamp) v1.Config {
	c := v1.Config{User: user, Entrypoint: []string{"/" + p.Name}, Cmd: p.Arguments, WorkingDir: "/",
		Labels: labels(p, s)}
	if len(p.Debian) > 0 {
		c.Env = []string{searchPath}
	}
	if len(p.Health) > 0 {
		// CMD, because the image has no shell, which --health-cmd of Docker would need.
		c.Healthcheck = &v1.HealthConfig{Test: append([]string{"CMD"}, p.Health...), Interval: healthInterval}
	}
	return c
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
