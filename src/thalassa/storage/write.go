package storage

import (
	"context"
	"fmt"
	"maps"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

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
	return s.volumes.create(ctx, v.Name, body, func(created resource.Volume) resource.Volume { return created })
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
	v.Status = resource.StatusDeleting
	return s.volumes.remove(ctx, v)
}

// machineResource is the type of resource that volumes are attached to.
const machineResource = "cloud_virtual_machine"

// AttachVolume attaches a volume to a machine, which takes the cloud some time.
func (s *Storage) AttachVolume(ctx context.Context, v resource.Volume, machine, description string) error {
	request := iaas.AttachVolumeRequest{Description: description, ResourceType: machineResource,
		ResourceIdentity: machine}
	return s.move(ctx, v, "attach", request, resource.VolumeAttaching,
		resource.Attachment{Machine: machine, Description: description})
}

// DetachVolume detaches a volume from a machine, which takes the cloud some time.
func (s *Storage) DetachVolume(ctx context.Context, v resource.Volume, machine string) error {
	request := iaas.DetachVolumeRequest{ResourceType: machineResource, ResourceIdentity: machine}
	return s.move(ctx, v, "detach", request, resource.VolumeDetaching,
		resource.Attachment{Machine: machine, Detaching: true})
}

// move attaches or detaches a volume, which has the status and the attachment until the next list.
func (s *Storage) move(ctx context.Context, v resource.Volume, action string, request any, status string,
	attachment resource.Attachment) error {
	path := iaas.VolumeEndpoint + "/" + v.ID + "/" + action
	if _, err := client.Post[client.Ignored](ctx, s.cloud, path, request); err != nil {
		return s.volumes.WriteError(err)
	}
	s.volumes.Change(v.ID, v, func(latest resource.Volume) resource.Volume {
		latest.Status, latest.Attachments = status, []resource.Attachment{attachment}
		return latest
	})
	return nil
}

// CreateSnapshot creates a snapshot with the name and labels of snap of its volume. The cloud takes some time until it
// is available.
func (s *Storage) CreateSnapshot(ctx context.Context, snap resource.Snapshot, description string) (resource.Snapshot,
	error) {
	body := iaas.CreateSnapshotRequest{
		Name: snap.Name, Description: description, Labels: snap.Labels,
		Annotations:    s.cluster.signed(snap.Labels, snap.Annotations),
		VolumeIdentity: snap.Volume,
	}
	return s.snapshots.create(ctx, snap.Name, body, func(created resource.Snapshot) resource.Snapshot {
		created.Volume = snap.Volume
		return created
	})
}

// DeleteSnapshot deletes a snapshot, which takes the cloud some time.
func (s *Storage) DeleteSnapshot(ctx context.Context, snap resource.Snapshot) error {
	snap.Status = resource.StatusDeleting
	return s.snapshots.remove(ctx, snap)
}
