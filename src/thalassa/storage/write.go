package storage

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// A write that failed may still have been carried out, so the store is then invalidated. Deleting an object that does
// not exist is a success.

// CreateVolume creates a volume with the name, labels, size and type of v, and the content of its snapshot if it has
// one. The cloud takes some time until it is available.
func (s *Storage) CreateVolume(ctx context.Context, v resource.Volume) (resource.Volume, error) {
	region, err := s.region(ctx)
	if err != nil {
		return resource.Volume{}, err
	}
	body := iaas.CreateVolume{Name: v.Name, Description: v.Description, Labels: v.Labels,
		Annotations: s.cluster.signed(v.Labels, v.Annotations), Size: int(v.Size), CloudRegionIdentity: region,
		VolumeTypeIdentity: v.Type}
	if v.Snapshot != "" {
		body.RestoreFromSnapshotId = &v.Snapshot
	}
	created, err := client.Post[volumeItem](ctx, s.cloud, iaas.VolumeEndpoint, body)
	if err = store.RequireIdentity(err, created.ID, "volume "+v.Name); err != nil {
		s.expectAfter("volume/"+v.Name, err)
		return resource.Volume{}, s.volumes.WriteError(err)
	}
	volume := created.object(s.cluster)
	s.volumes.PutCreated(volume)
	return volume, nil
}

// expectAfter records that an object may exist if its creation ended without an answer.
func (s *Storage) expectAfter(key string, err error) {
	if client.Uncertain(err) {
		s.expectations.Put(key, time.Now())
	}
}

// MarkVolume adds labels and annotations to a volume.
func (s *Storage) MarkVolume(ctx context.Context, v resource.Volume, labels, annotations resource.Labels) error {
	return s.update(ctx, v.ID, func(latest *resource.Volume) {
		latest.Labels, latest.Annotations = merged(latest.Labels, labels), merged(latest.Annotations, annotations)
	})
}

func merged(present, added resource.Labels) resource.Labels {
	all := resource.Labels{}
	maps.Copy(all, present)
	maps.Copy(all, added)
	return all
}

// ResizeVolume makes a volume larger, to a size in GiB. The cloud takes some time until lists contain the new size.
func (s *Storage) ResizeVolume(ctx context.Context, v resource.Volume, size int64) error {
	return s.update(ctx, v.ID, func(latest *resource.Volume) { latest.Size = max(latest.Size, size) })
}

// update changes a volume. The API replaces all that can be changed, so the volume is read immediately before; the size
// in the store is that of the next list.
func (s *Storage) update(ctx context.Context, id string, change func(*resource.Volume)) error {
	v, exists, err := s.volumes.read(ctx, id)
	switch {
	case err != nil:
		return err
	case !exists:
		return fmt.Errorf("volume %s: %w", id, client.ErrNotFound)
	}
	if err := s.cluster.checkOurs("volume "+id, v.Labels); err != nil {
		return err
	}
	change(&v)
	body := iaas.UpdateVolume{Name: v.Name, Description: v.Description, Labels: v.Labels,
		Annotations: s.cluster.signed(v.Labels, v.Annotations), Size: int(v.Size), DeleteProtection: v.DeleteProtection}
	if _, err := client.Put[client.Ignored](ctx, s.cloud, iaas.VolumeEndpoint+"/"+v.ID, body); err != nil {
		return s.volumes.WriteError(err)
	}
	s.volumes.Invalidate()
	return nil
}

// DeleteVolume deletes a volume, which takes the cloud some time.
func (s *Storage) DeleteVolume(ctx context.Context, v resource.Volume) error {
	err := client.Delete(ctx, s.cloud, iaas.VolumeEndpoint+"/"+v.ID)
	if store.IsGone(err) {
		s.volumes.Drop(v.ID)
		return nil
	}
	if err != nil {
		return s.volumes.WriteError(err)
	}
	v.Status = resource.StatusDeleting
	s.volumes.Put(v)
	return nil
}

// machineResource is the type of resource that volumes are attached to.
const machineResource = "cloud_virtual_machine"

// AttachVolume attaches a volume to a machine, which takes the cloud some time.
func (s *Storage) AttachVolume(ctx context.Context, v resource.Volume, machine, description string) error {
	_, err := client.Post[client.Ignored](ctx, s.cloud, iaas.VolumeEndpoint+"/"+v.ID+"/attach",
		iaas.AttachVolumeRequest{Description: description, ResourceType: machineResource, ResourceIdentity: machine})
	if err != nil {
		return s.volumes.WriteError(err)
	}
	s.volumes.Change(v.ID, func(latest resource.Volume, known bool) (resource.Volume, store.Outcome) {
		if !known {
			latest = v
		}
		latest.Status = resource.VolumeAttaching
		latest.Attachments = []resource.Attachment{{Machine: machine, Description: description}}
		return latest, store.Stored
	})
	return nil
}

// DetachVolume detaches a volume from a machine, which takes the cloud some time.
func (s *Storage) DetachVolume(ctx context.Context, v resource.Volume, machine string) error {
	_, err := client.Post[client.Ignored](ctx, s.cloud, iaas.VolumeEndpoint+"/"+v.ID+"/detach",
		iaas.DetachVolumeRequest{ResourceType: machineResource, ResourceIdentity: machine})
	if err != nil {
		return s.volumes.WriteError(err)
	}
	s.volumes.Change(v.ID, func(latest resource.Volume, known bool) (resource.Volume, store.Outcome) {
		if !known {
			latest = v
		}
		latest.Status = resource.VolumeDetaching
		latest.Attachments = []resource.Attachment{{Machine: machine, Detaching: true}}
		return latest, store.Stored
	})
	return nil
}

// CreateSnapshot creates a snapshot with the name and labels of snap of its volume. The cloud takes some time until it
// is available.
func (s *Storage) CreateSnapshot(ctx context.Context, snap resource.Snapshot, description string) (resource.Snapshot,
	error) {
	created, err := client.Post[snapshotItem](ctx, s.cloud, iaas.SnapshotEndpoint, iaas.CreateSnapshotRequest{
		Name: snap.Name, Description: description, Labels: snap.Labels,
		Annotations:    s.cluster.signed(snap.Labels, snap.Annotations),
		VolumeIdentity: snap.Volume,
	})
	if err = store.RequireIdentity(err, created.ID, "snapshot "+snap.Name); err != nil {
		s.expectAfter("snapshot/"+snap.Name, err)
		return resource.Snapshot{}, s.snapshots.WriteError(err)
	}
	snapshot := created.object(s.cluster)
	snapshot.Volume = snap.Volume
	s.snapshots.PutCreated(snapshot)
	return snapshot, nil
}

// DeleteSnapshot deletes a snapshot, which takes the cloud some time.
func (s *Storage) DeleteSnapshot(ctx context.Context, snap resource.Snapshot) error {
	err := client.Delete(ctx, s.cloud, iaas.SnapshotEndpoint+"/"+snap.ID)
	if store.IsGone(err) {
		s.snapshots.Drop(snap.ID)
		return nil
	}
	if err != nil {
		return s.snapshots.WriteError(err)
	}
	snap.Status = resource.StatusDeleting
	s.snapshots.Put(snap)
	return nil
}
