package state

import (
	"cmp"
	"fmt"
	"net/netip"
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

// Check checks what a new or changed template says.
func (t *CloudInit) Check() error {
	if t.Content == "" {
		return apierror.Invalid("field \"content\" is required")
	}
	return nil
}

func (o *Organisation) seedCloudInit(in *seed.CloudInit, now time.Time) error {
	if err := checkNew(o.Store, &o.CloudInits, checked{kind: "cloud-init template", object: in.Object,
		now: now}); err != nil {
		return err
	}
	t := &CloudInit{Content: in.Content, Record: recorded("ci", in.Object, o.CloudInits.HasSlug, now)}
	return cmp.Or(t.Check(), object.Insert(&o.CloudInits, t))
}

func defaultMachineImages() []seed.MachineImage {
	var images []seed.MachineImage
	for i, name := range []string{"ubuntu-22.04", "ubuntu-24.04", "debian-12", "ubuntu-22-04-01"} {
		images = append(images, seed.MachineImage{Identity: fmt.Sprintf("img-emulator%012d", i+1), Name: name})
	}
	return images
}

func (s *Store) seedImage(in seed.MachineImage) error {
	if err := object.CheckMeta(object.Spec{Name: in.Name, Labels: in.Labels}); err != nil {
		return err
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
	if len(in.Zones) == 0 {
		return fmt.Errorf("field \"zones\" must have at least one zone")
	}
	// The vendor's Terraform provider writes the identity into the field where its user wrote the name.
	of := seed.Object{Identity: cmp.Or(in.Identity, in.Name), Name: in.Name, Details: in.Details}
	if err := checkNew(s, &s.Regions, checked{kind: "region", object: of, now: now}); err != nil {
		return err
	}
	if err := seed.CheckReference("name", of.Identity); in.Identity == "" && err != nil {
		return err
	}
	r := &region{Record: recorded("region", of, s.Regions.HasSlug, now)}
	if err := cmp.Or(r.seedZones(in), object.Insert(&s.Regions, r)); err != nil {
		return err
	}
	for i, prefix := range in.PublicAddresses {
		if err := s.checkPool(fmt.Sprintf("publicAddresses[%d]", i), prefix); err != nil {
			return err
		}
		r.Public = append(r.Public, address.NewPool(prefix))
	}
	return nil
}

// seedZones adds the zones of a region.
func (r *region) seedZones(in seed.Region) error {
	for i, name := range in.Zones {
		if err := r.seedZone(fmt.Sprintf("zones[%d]", i), name, in.ZoneIdentities[name]); err != nil {
			return err
		}
	}
	for name := range in.ZoneIdentities {
		if !slices.Contains(in.Zones, name) {
			return fmt.Errorf("field \"zoneIdentities.%s\": zone %q is not one of %q", name, name, in.Zones)
		}
	}
	return nil
}

func (r *region) seedZone(field, name, identity string) error {
	zone := object.NewRecord("zone", object.Spec{Identity: identity, Name: name},
		func(string) bool { return false }, r.CreatedAt)
	if err := cmp.Or(object.CheckText(field, name, object.MaxName),
		seed.CheckReference("zoneIdentities."+name, identity)); err != nil {
		return err
	}
	for _, other := range r.Zones {
		switch {
		case other.Slug == zone.Slug:
			return fmt.Errorf("field %q: %q has the same slug as zone %q", field, name, other.Name)
		case other.Identity == zone.Identity:
			return fmt.Errorf("field \"zoneIdentities.%s\": %q is used twice", name, identity)
		}
	}
	r.Zones = append(r.Zones, wire.Zone{Meta: zone.Meta, CloudRegionIdentity: r.Identity})
	return nil
}

// checkPool checks a range of public addresses, which no region has.
func (s *Store) checkPool(field string, prefix netip.Prefix) error {
	if _, err := ParseNetwork(field, prefix.String()); err != nil {
		return err
	}
	if s.network.IsValid() && !Within(prefix, []netip.Prefix{s.network}) {
		return fmt.Errorf("field %q: public addresses %s are outside the data plane's network %s", field, prefix,
			s.network)
	}
	for r := range s.Regions.All() {
		for _, pool := range r.Public {
			if pool.Prefix().Overlaps(prefix) && !s.restoring {
				return fmt.Errorf("field %q: %s overlaps %s of region %q", field, prefix, pool.Prefix(), r.Name)
			}
		}
	}
	return nil
}

func (s *Store) seedMachineType(in seed.MachineType) error {
	if err := object.CheckName(in.Name); err != nil {
		return err
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
