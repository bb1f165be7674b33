// Package storage caches the volumes and snapshots of a cluster in a region, and writes them. All volumes are read in
// one list, and all snapshots in another, so that the number of calls does not depend on how many there are.
package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// Fresh as an age accepts only a list that began after the call.
const Fresh = store.Fresh

// typeAge is the maximum age of volume types, which rarely change.
const typeAge = time.Hour

// Storage contains the volumes and snapshots of a cluster in a region. It is safe for concurrent use.
type Storage struct {
	scope
	volumes   *collection[volumeItem, resource.Volume]
	snapshots *collection[snapshotItem, resource.Snapshot]
	types     *store.Store[resource.VolumeType]
	zones     *store.Store[zone]
}

// New returns empty storage of a cluster; without a key, of all clusters. It sends no request. region returns the slug
// of the region.
func New(cloud *client.Client, cluster Cluster, region func(context.Context) (string, error)) *Storage {
	s := &Storage{scope: scope{cloud: cloud, cluster: cluster, region: region}}
	s.volumes = newCollection[volumeItem]("volume", iaas.VolumeEndpoint, s.scope,
		func(v resource.Volume) string { return v.ID },
		func(v resource.Volume) []string { return []string{nameKey(v.Name)} })
	s.volumes.Deleting = resource.Volume.Deleting
	s.volumes.inUse = func(v resource.Volume) bool { return len(v.Attachments) > 0 }
	s.snapshots = newCollection[snapshotItem]("snapshot", iaas.SnapshotEndpoint, s.scope,
		func(snap resource.Snapshot) string { return snap.ID },
		func(snap resource.Snapshot) []string { return []string{nameKey(snap.Name), volumeKey(snap.Volume)} })
	s.snapshots.Deleting = resource.Snapshot.Deleting
	s.types = store.New("volume types", store.WithRefusals(store.RefusalTTL, s.listTypes),
		func(t resource.VolumeType) string { return t.ID },
		func(t resource.VolumeType) []string { return []string{nameKey(strings.ToLower(t.Name))} })
	s.zones = s.newZones()
	return s
}

func nameKey(name string) string { return "name/" + name }

func volumeKey(id string) string { return "volume/" + id }

// Volumes returns the volumes of the cluster, and those without its label that were asked for by identity, sorted by
// identity, from a list at most maxAge old.
func (s *Storage) Volumes(ctx context.Context, maxAge time.Duration) ([]resource.Volume, error) {
	return s.volumes.All(ctx, maxAge)
}

// VolumesNamed returns those of Volumes with the name. It is an error if a volume with the name may exist that lists do
// not contain yet.
func (s *Storage) VolumesNamed(ctx context.Context, name string, maxAge time.Duration) ([]resource.Volume, error) {
	return s.volumes.named(ctx, name, maxAge)
}

// AnyVolumesNamed returns all volumes of the region with the name, also those without the label of the cluster, by a
// request for this name alone.
func (s *Storage) AnyVolumesNamed(ctx context.Context, name string) ([]resource.Volume, error) {
	return s.volumes.anyNamed(ctx, name)
}

// VolumesOf returns all volumes of the region that a machine has, by a request for this machine alone.
func (s *Storage) VolumesOf(ctx context.Context, machine string) ([]resource.Volume, error) {
	return s.volumes.filtered(ctx, filters.FilterMachineIdentity, machine, func(v volumeItem) bool {
		return slices.ContainsFunc(v.Attachments, func(a attachmentItem) bool { return a.Machine == machine })
	})
}

// Volume returns the volume with the identity, from a list at most maxAge old. A volume that lists lack is requested,
// so "not found" is the answer to a request for this volume, which is at most a minute old.
func (s *Storage) Volume(ctx context.Context, id string, maxAge time.Duration) (v resource.Volume, found bool,
	err error) {
	return s.volumes.byID(ctx, id, maxAge)
}

// ReadVolume returns the volume with the identity by a request for this volume alone.
func (s *Storage) ReadVolume(ctx context.Context, id string) (v resource.Volume, found bool, err error) {
	return s.volumes.request(ctx, id)
}

// Snapshots is Volumes for snapshots.
func (s *Storage) Snapshots(ctx context.Context, maxAge time.Duration) ([]resource.Snapshot, error) {
	return s.snapshots.All(ctx, maxAge)
}

// SnapshotsNamed is VolumesNamed for snapshots.
func (s *Storage) SnapshotsNamed(ctx context.Context, name string, maxAge time.Duration) ([]resource.Snapshot, error) {
	return s.snapshots.named(ctx, name, maxAge)
}

// AnySnapshotsNamed is AnyVolumesNamed for snapshots.
func (s *Storage) AnySnapshotsNamed(ctx context.Context, name string) ([]resource.Snapshot, error) {
	return s.snapshots.anyNamed(ctx, name)
}

// Snapshot is Volume for snapshots.
func (s *Storage) Snapshot(ctx context.Context, id string, maxAge time.Duration) (snap resource.Snapshot, found bool,
	err error) {
	return s.snapshots.byID(ctx, id, maxAge)
}

// Type returns the volume type with the identity, or with the name in any case. The error names the types that there
// are; it is client.ErrBadRequest if the reference is wrong.
func (s *Storage) Type(ctx context.Context, ref string) (resource.VolumeType, error) {
	keys := []string{ref, nameKey(strings.ToLower(ref))}
	found, err := s.types.LookUp(ctx, keys, typeAge)
	if err == nil && len(found) == 0 {
		found, err = s.types.LookUp(ctx, keys[1:], typeAge)
	}
	switch {
	case err != nil:
		return resource.VolumeType{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return resource.VolumeType{}, fmt.Errorf("volume type %q: %w: several types have this name; use the identity "+
			"of one", ref, client.ErrBadRequest)
	}
	all, err := s.types.All(ctx, typeAge)
	if err != nil {
		return resource.VolumeType{}, err
	}
	var names []string
	for _, t := range all {
		names = append(names, fmt.Sprintf("%s (%s)", t.Name, t.ID))
	}
	slices.Sort(names)
	return resource.VolumeType{}, fmt.Errorf("volume type %q: %w: there is no such type; the types are: %s", ref,
		client.ErrBadRequest, strings.Join(names, ", "))
}

// Probe reads volumes and snapshots once: credentials that cannot read them are not sufficient.
func (s *Storage) Probe(ctx context.Context) error {
	return errors.Join(s.volumes.Refresh(ctx, Fresh), s.snapshots.Refresh(ctx, Fresh))
}

func (s *Storage) listTypes(ctx context.Context) ([]resource.VolumeType, error) {
	return client.List(ctx, s.cloud, iaas.VolumeTypeEndpoint, nil,
		func(t resource.VolumeType) (resource.VolumeType, bool) { return t, true })
}

// Ages returns when the present list of each kind began.
func (s *Storage) Ages() store.Ages {
	return store.Ages{
		"volume": s.volumes.CopyTime, "snapshot": s.snapshots.CopyTime, "volume type": s.types.CopyTime,
	}
}
