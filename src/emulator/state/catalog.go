package state

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// CloudInit is a template that machines can be created with.
type CloudInit struct {
	object.Record
	Content string
}

// View is the cloud-init template as the API describes it.
func (t *CloudInit) View() wire.CloudInit {
	return wire.CloudInit{
		Identity: t.Identity, Name: t.Name, Slug: t.Slug, Labels: t.Labels, Annotations: t.Annotations,
		CreatedAt: t.CreatedAt, Content: t.Content,
	}
}

func defaultMachineImages() []seed.MachineImage {
	var images []seed.MachineImage
	for i, name := range []string{"ubuntu-22.04", "ubuntu-24.04", "debian-12", "ubuntu-22-04-01"} {
		images = append(images, seed.MachineImage{Identity: fmt.Sprintf("img-emulator%012d", i+1), Name: name})
	}
	return images
}

func (s *Store) seedImage(in seed.MachineImage) error {
	if in.Name == "" {
		return fmt.Errorf("a machine image needs a name")
	}
	identity, architecture := in.Identity, in.Architecture
	if identity == "" {
		identity = object.NewIdentity("img")
	}
	if architecture == "" {
		architecture = "amd64"
	}
	return object.Insert(&s.Images, &Image{wire.MachineImage{
		Identity: identity, Name: in.Name, Slug: object.Slugify(in.Name), Labels: object.Copied(in.Labels),
		Architecture: architecture,
	}})
}

// ImageFor resolves an image by identity, slug or name; an empty reference is
// none.
func (s *Store) ImageFor(ref string) (*Image, error) {
	if ref == "" {
		return nil, nil
	}
	if found, ok := s.Images.Find(ref); ok {
		return found, nil
	}
	for i := range s.Images.All() {
		if i.Name == ref {
			return i, nil
		}
	}
	return nil, apierror.Invalid("field \"machineImage\": image %q not found", ref)
}

// View is the region as the API describes it.
func (r *region) View() wire.Region {
	zones := slices.Clone(r.Zones)
	for i := range zones {
		zones[i].CloudRegion = &wire.Region{Meta: r.Nested(), Zones: []wire.Zone{}}
	}
	return wire.Region{Meta: r.Meta, Zones: zones}
}

// Short is the region inside another object: without its zones.
func (r *region) Short() *wire.Region {
	return &wire.Region{Meta: r.Nested(), Zones: []wire.Zone{}}
}
