package emulator

import (
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (e *Emulator) imageOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/images":      e.listImages,
		"GET /v1/images/{id}": e.getImage,
	}
}

func defaultMachineImages() []seed.MachineImage {
	var images []seed.MachineImage
	for i, name := range []string{"ubuntu-22.04", "ubuntu-24.04", "debian-12"} {
		images = append(images, seed.MachineImage{Identity: fmt.Sprintf("img-emulator%012d", i+1), Name: name})
	}
	return images
}

func (s *store) seedImage(in seed.MachineImage) error {
	if in.Name == "" {
		return fmt.Errorf("a machine image needs a name")
	}
	identity, architecture := in.Identity, in.Architecture
	if identity == "" {
		identity = newIdentity("img")
	}
	if architecture == "" {
		architecture = "amd64"
	}
	return insert(&s.images, &image{wire.MachineImage{
		Identity: identity, Name: in.Name, Slug: slugify(in.Name), Labels: copied(in.Labels), Architecture: architecture,
	}})
}

// imageFor resolves an image by identity, slug or name; an empty reference is
// none.
func (s *store) imageFor(ref string) (*image, error) {
	if ref == "" {
		return nil, nil
	}
	if found, ok := s.images.find(ref); ok {
		return found, nil
	}
	for i := range s.images.all() {
		if i.Name == ref {
			return i, nil
		}
	}
	return nil, invalid("field \"machineImage\": image %q not found", ref)
}

func (e *Emulator) listImages(c *call) (reply, error) {
	views := []wire.MachineImage{}
	for i := range e.store.images.all() {
		if c.filter.matches(i.Labels, func() traits { return named(i.Identity, i.Slug, i.Name) }) {
			views = append(views, i.MachineImage)
		}
	}
	return many(views), nil
}

func (e *Emulator) getImage(c *call) (reply, error) {
	i, found := e.store.images.find(c.PathValue("id"))
	if !found {
		return reply{}, notFound("machine image", c.PathValue("id"))
	}
	return one(i.MachineImage), nil
}
