package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
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

func (s *Store) seedRegion(in seed.Region, now time.Time) error {
	if in.Name == "" || len(in.Zones) == 0 {
		return fmt.Errorf("a region needs a name and at least one zone")
	}
	// The vendor's Terraform provider writes the identity into the field where its user wrote the name.
	r := &region{Record: recorded("region", seed.Object{Identity: cmp.Or(in.Identity, in.Name), Name: in.Name,
		Details: in.Details}, s.Regions.HasSlug, now)}
	for _, name := range in.Zones {
		zone := object.NewRecord("zone", object.Spec{Identity: in.ZoneIdentities[name], Name: name},
			func(string) bool { return false }, r.CreatedAt)
		r.Zones = append(r.Zones, wire.Zone{Meta: zone.Meta, CloudRegionIdentity: r.Identity})
	}
	for _, prefix := range in.PublicAddresses {
		r.Public = append(r.Public, address.NewPool(prefix))
	}
	return object.Insert(&s.Regions, r)
}

func (s *Store) seedMachineType(in seed.MachineType) error {
	if in.Name == "" {
		return fmt.Errorf("a machine type needs a name")
	}
	identity := in.Identity
	if identity == "" {
		identity = object.NewIdentity("mt")
	}
	return object.Insert(&s.MachineTypes, &MachineType{wire.MachineType{
		Identity: identity, Name: in.Name, Slug: object.Slugify(in.Name),
		VCPUs: in.VCPUs, RAMMb: in.RAMMb, DiskGb: in.DiskGb,
	}})
}

// machineTypeFor resolves a machine type; an empty reference means the first.
func (s *Store) machineTypeFor(ref string) (*MachineType, error) {
	if ref == "" {
		for first := range s.MachineTypes.All() {
			return first, nil
		}
	}
	if found, ok := s.MachineTypes.Find(ref); ok {
		return found, nil
	}
	return nil, fmt.Errorf("machine type %q does not exist", ref)
}

// zoneFor checks a zone's slug; an empty one means the region's first zone.
func (r *region) zoneFor(slug string) (string, error) {
	if slug == "" {
		return r.Zones[0].Slug, nil
	}
	for _, zone := range r.Zones {
		if zone.Slug == slug {
			return slug, nil
		}
	}
	return "", fmt.Errorf("zone %q is not in region %s", slug, r.Slug)
}
