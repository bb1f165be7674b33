// Package storage caches the volumes and snapshots of a region, and writes them. All volumes are read in one list, and
// all snapshots in another, so that the number of calls does not depend on how many there are.
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

// Storage contains the volumes and snapshots of a region. It is safe for concurrent use.
type Storage struct {
	cloud     *client.Client
	cluster   Cluster
	region    func(context.Context) (string, error)
	volumes   *store.Store[resource.Volume]
	snapshots *store.Store[resource.Snapshot]
	types     *store.Store[resource.VolumeType]
	// expectations are the names of objects whose creation ended without an answer, and when.
	expectations *store.TTLCache[time.Time]
}

// New returns empty storage of a cluster. It sends no request. region returns the slug of the region.
func New(cloud *client.Client, cluster Cluster, region func(context.Context) (string, error)) *Storage {
	s := &Storage{cloud: cloud, cluster: cluster, region: region,
		expectations: store.NewTTLCache[time.Time](store.AbsentTTL)}
	s.volumes = store.New("volumes", s.listVolumes, func(v resource.Volume) string { return v.ID },
		func(v resource.Volume) []string { return []string{nameKey(v.Name)} })
	s.volumes.Deleting, s.volumes.Get = resource.Volume.Deleting, s.getVolume
	s.snapshots = store.New("snapshots", s.listSnapshots, func(snap resource.Snapshot) string { return snap.ID },
		func(snap resource.Snapshot) []string { return []string{nameKey(snap.Name), volumeKey(snap.Volume)} })
	s.snapshots.Deleting, s.snapshots.Get = resource.Snapshot.Deleting, s.getSnapshot
	s.types = store.New("volume types", store.WithFailureTTL(store.FailureTTL, s.listTypes),
		func(t resource.VolumeType) string { return t.ID },
		func(t resource.VolumeType) []string { return []string{nameKey(strings.ToLower(t.Name))} })
	return s
}

func nameKey(name string) string { return "name/" + name }

func volumeKey(id string) string { return "volume/" + id }

// Volumes returns all volumes of the region, including those of others, sorted by identity, from a list at most maxAge
// old.
func (s *Storage) Volumes(ctx context.Context, maxAge time.Duration) ([]resource.Volume, error) {
	return s.volumes.All(ctx, maxAge)
}

// VolumesNamed returns all volumes with the name, from a list at most maxAge old. It is an error if a volume with the
// name may exist that lists do not contain yet.
func (s *Storage) VolumesNamed(ctx context.Context, name string, maxAge time.Duration) ([]resource.Volume, error) {
	return named(ctx, s, s.volumes, "volume", name, maxAge)
}

// Volume returns the volume with the identity, from a list at most maxAge old. A volume that lists lack is requested,
// so "not found" is the answer to a request for this volume.
func (s *Storage) Volume(ctx context.Context, id string, maxAge time.Duration) (v resource.Volume, found bool,
	err error) {
	return one(ctx, s.volumes, id, maxAge, s.requestVolume)
}

// ReadVolume returns the volume with the identity by a request for this volume alone.
func (s *Storage) ReadVolume(ctx context.Context, id string) (v resource.Volume, found bool, err error) {
	readNumber := s.volumes.BeginRead()
	if v, found, err = s.requestVolume(ctx, id); found && err == nil {
		s.volumes.PutFetched(v, readNumber)
	}
	return v, found, err
}

// Snapshots returns all snapshots of the region, including those of others, sorted by identity, from a list at most
// maxAge old.
func (s *Storage) Snapshots(ctx context.Context, maxAge time.Duration) ([]resource.Snapshot, error) {
	return s.snapshots.All(ctx, maxAge)
}

// SnapshotsNamed is VolumesNamed for snapshots.
func (s *Storage) SnapshotsNamed(ctx context.Context, name string, maxAge time.Duration) ([]resource.Snapshot, error) {
	return named(ctx, s, s.snapshots, "snapshot", name, maxAge)
}

// Snapshot is Volume for snapshots.
func (s *Storage) Snapshot(ctx context.Context, id string, maxAge time.Duration) (snap resource.Snapshot, found bool,
	err error) {
	return one(ctx, s.snapshots, id, maxAge, s.requestSnapshot)
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

// ErrUncertain says that an object may exist that lists do not contain yet.
var ErrUncertain = errors.New("its creation ended without an answer, so it may exist already")

// named returns the objects with the name, unless one may exist that lists do not contain yet.
func named[T any](ctx context.Context, s *Storage, objects *store.Store[T], kind, name string,
	maxAge time.Duration) ([]T, error) {
	at, expected := s.expectations.Get(kind + "/" + name)
	if expected {
		maxAge = Fresh
	}
	found, err := objects.Find(ctx, nameKey(name), maxAge)
	if err != nil || len(found) > 0 || !expected {
		return found, err
	}
	if left := store.VisibilityDelay - time.Since(at); left > 0 {
		return nil, fmt.Errorf("%s %s: %w; it is looked for again for %s", kind, name, ErrUncertain,
			left.Round(time.Second))
	}
	return nil, nil
}

// one returns the object with the identity.
func one[T any](ctx context.Context, objects *store.Store[T], id string, maxAge time.Duration,
	request func(ctx context.Context, id string) (T, bool, error)) (object T, found bool, err error) {
	if id == "" || strings.ContainsAny(id, "/?#%") {
		return object, false, nil // not an identity, but perhaps a key of the index
	}
	readNumber := objects.BeginRead()
	all, err := objects.LookUp(ctx, []string{id}, maxAge)
	if err != nil {
		return object, false, err
	}
	if len(all) > 0 {
		return all[0], true, nil
	}
	// Lists of an outdated server may lack it, and "not found" ends the life of a PersistentVolume.
	if object, found, err = request(ctx, id); found && err == nil {
		objects.PutFetched(object, readNumber)
	}
	return object, found, err
}

// inRegion is the filter of all lists.
func (s *Storage) inRegion(ctx context.Context) ([]filters.Filter, string, error) {
	region, err := s.region(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("looking up the region: %w", err)
	}
	return []filters.Filter{&filters.FilterKeyValue{Key: filters.FilterRegion, Value: region}}, region, nil
}

func (s *Storage) listVolumes(ctx context.Context) ([]resource.Volume, error) {
	filter, region, err := s.inRegion(ctx)
	if err != nil {
		return nil, err
	}
	return client.List(ctx, s.cloud, iaas.VolumeEndpoint, filter, func(v volumeItem) (resource.Volume, bool) {
		return s.volumeOf(v), v.in(region)
	})
}

func (s *Storage) getVolume(ctx context.Context, id string) (resource.Volume, bool, error) {
	_, region, err := s.inRegion(ctx)
	if err != nil {
		return resource.Volume{}, false, err
	}
	return store.GetOne(ctx, s.cloud, iaas.VolumeEndpoint, id, func(v volumeItem) (resource.Volume, bool) {
		return s.volumeOf(v), v.in(region)
	})
}

// requestVolume is getVolume for an identity of Kubernetes, which may be anything.
func (s *Storage) requestVolume(ctx context.Context, id string) (resource.Volume, bool, error) {
	_, region, err := s.inRegion(ctx)
	if err != nil {
		return resource.Volume{}, false, err
	}
	return store.ByID(ctx, s.cloud, iaas.VolumeEndpoint, id, func(v volumeItem) (resource.Volume, bool) {
		return s.volumeOf(v), v.in(region)
	})
}

func (s *Storage) listSnapshots(ctx context.Context) ([]resource.Snapshot, error) {
	filter, region, err := s.inRegion(ctx)
	if err != nil {
		return nil, err
	}
	return client.List(ctx, s.cloud, iaas.SnapshotEndpoint, filter,
		func(snap snapshotItem) (resource.Snapshot, bool) { return s.snapshotOf(snap), snap.in(region) })
}

func (s *Storage) getSnapshot(ctx context.Context, id string) (resource.Snapshot, bool, error) {
	_, region, err := s.inRegion(ctx)
	if err != nil {
		return resource.Snapshot{}, false, err
	}
	return store.GetOne(ctx, s.cloud, iaas.SnapshotEndpoint, id, func(snap snapshotItem) (resource.Snapshot, bool) {
		return s.snapshotOf(snap), snap.in(region)
	})
}

// requestSnapshot is requestVolume for snapshots.
func (s *Storage) requestSnapshot(ctx context.Context, id string) (resource.Snapshot, bool, error) {
	_, region, err := s.inRegion(ctx)
	if err != nil {
		return resource.Snapshot{}, false, err
	}
	return store.ByID(ctx, s.cloud, iaas.SnapshotEndpoint, id, func(snap snapshotItem) (resource.Snapshot, bool) {
		return s.snapshotOf(snap), snap.in(region)
	})
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
