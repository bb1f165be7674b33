package storage

import (
	"context"
	"slices"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// zone is a zone of any region.
type zone struct {
	id, slug string
	region   reference
}

// regionItem is as much of the API's region as is needed.
type regionItem struct {
	reference
	Zones []reference `json:"zones"`
}

func (s *Storage) newZones() *store.Store[zone] {
	return store.New("regions", store.WithRefusals(store.RefusalTTL, s.listZones),
		func(z zone) string { return z.id },
		func(z zone) []string { return []string{nameKey(z.slug)} })
}

func (s *Storage) listZones(ctx context.Context) ([]zone, error) {
	regions, err := client.List(client.Optional(ctx), s.cloud, iaas.RegionEndpoint, nil,
		func(r regionItem) (regionItem, bool) { return r, true })
	var all []zone
	for _, region := range regions {
		for _, z := range region.Zones {
			all = append(all, zone{id: z.Identity, slug: z.Slug, region: region.reference})
		}
	}
	return all, store.WithPermission(err, "read regions")
}

// HasZone reports whether the region has the zone with the slug or identity, and returns the slugs of all its zones;
// none: they are not known. They are at most an hour old, and "not found" is at most a minute old.
func (s *Storage) HasZone(ctx context.Context, name string) (has bool, zones []string, err error) {
	region, err := s.region(ctx)
	if err != nil {
		return false, nil, err
	}
	ours := func(z zone) bool { return z.region.Slug == region || z.region.Identity == region }
	found, err := s.zones.LookUp(ctx, []string{nameKey(name), name}, typeAge)
	if err != nil {
		return false, nil, err
	}
	for _, z := range s.zones.Where(ours) {
		zones = append(zones, z.slug)
	}
	slices.Sort(zones)
	return slices.ContainsFunc(found, ours), zones, nil
}
