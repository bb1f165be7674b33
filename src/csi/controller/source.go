package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// content returns the snapshot that a new volume is made from; without an identity it is none. The error is NotFound if
// the content source does not exist, and Unavailable if a snapshot is not ready.
func (c *Controller) content(ctx context.Context, r *csi.CreateVolumeRequest) (resource.Snapshot, error) {
	content := r.GetVolumeContentSource()
	switch {
	case content.GetSnapshot() != nil:
		snapshot, err := c.snapshotByID(ctx, content.GetSnapshot().GetSnapshotId(), c.Poll)
		if err != nil {
			return resource.Snapshot{}, err
		}
		return snapshot, volume.Restorable(snapshot)
	case content.GetVolume() != nil:
		return c.cloneSnapshot(ctx, r)
	}
	return resource.Snapshot{}, nil
}

// isRetried reports whether the provisioner sends the request again after an error, so that nothing must be removed.
func isRetried(err error) bool {
	return slices.Contains([]codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Aborted},
		status.Code(err))
}

// cloneSnapshotName is the name of the snapshot that a clone with the name is restored from.
func cloneSnapshotName(clone string) string { return volume.CloudName("clone-" + clone) }

// cloneSnapshot finds or creates the snapshot that a clone is restored from, and waits until it is ready. It exists
// only meanwhile, because the cloud cannot clone volumes. Once it exists, the clone has its size, and the volume that
// it is of is not needed any more.
func (c *Controller) cloneSnapshot(ctx context.Context, r *csi.CreateVolumeRequest) (resource.Snapshot, error) {
	clone, original := volume.CloudName(r.GetName()), r.GetVolumeContentSource().GetVolume().GetVolumeId()
	labels := c.labels(original)
	labels[label.CSIClone] = clone
	snapshot, err := c.ensureSnapshot(ctx,
		resource.Snapshot{Name: cloneSnapshotName(clone), Volume: original, Labels: labels},
		"Source of the clone "+clone, volumeCreation(r.GetName(), r.GetParameters()),
		func(v resource.Volume) error {
			_, err := volume.Size(r.GetCapacityRange(), v.Size)
			return err
		})
	if err != nil {
		return resource.Snapshot{}, err
	}
	for pause := c.Poll; volume.Restorable(snapshot) != nil; pause = min(pause*2, maxPoll) {
		if snapshot.Status == resource.VolumeFailed {
			return snapshot, c.replaceFailedSnapshot(ctx, snapshot)
		}
		if err := volume.Restorable(snapshot); !isRetried(err) || !sleep(ctx, pause) {
			return snapshot, unfinished(err)
		}
		if snapshot, err = c.snapshotByID(ctx, snapshot.ID, pause); err != nil {
			return snapshot, unfinished(err)
		}
	}
	return snapshot, nil
}

// finishClone deletes the snapshot that a clone is restored from after the clone was created, or is not created because
// of err. The error is Unavailable if there is no clone whose deletion would delete the snapshot.
func (c *Controller) finishClone(ctx context.Context, r *csi.CreateVolumeRequest, err error) error {
	if r.GetVolumeContentSource().GetVolume() == nil || isRetried(err) {
		return err
	}
	clone := volume.CloudName(r.GetName())
	failure := c.deleteCloneSnapshots(ctx, resource.Volume{Name: clone, Snapshot: cloneSnapshotName(clone)})
	switch {
	case failure == nil:
		return err
	case err == nil: // it is deleted with the clone, or when it is abandoned
		klog.FromContext(ctx).Error(failure, "The snapshot of a clone is kept for now", "clone", clone)
		return nil
	}
	return status.Errorf(codes.Unavailable, "%s; its snapshot is still to be deleted: %s; it is retried",
		status.Convert(err).Message(), status.Convert(failure).Message())
}

// abandonedAfter is how long the snapshot of a clone is kept if nobody deletes it: longer than it takes to create a
// clone.
const abandonedAfter = time.Hour

// deleteCloneSnapshots deletes the snapshots that a clone was restored from, and abandoned ones of other clones: those
// that the cloud refused to delete before, and those that are left by a process that ended. A clone without snapshot is
// any other volume, whose deletion does not fail because of snapshots.
func (c *Controller) deleteCloneSnapshots(ctx context.Context, clone resource.Volume) error {
	all, err := c.Storage.Snapshots(ctx, listAge)
	if err != nil {
		return ofClone(clone, problemOf("looking for the snapshots of the clone "+clone.Name, err))
	}
	var problems []error
	for _, snapshot := range all {
		name := snapshot.Labels[label.CSIClone]
		if name == "" || !c.Owner.Owns(snapshot.Labels) || snapshot.Deleting() {
			continue
		}
		if name != clone.Name && !c.abandoned(ctx, snapshot, name) {
			continue
		}
		problems = append(problems, c.deleteCloneSnapshot(ctx, snapshot, name))
	}
	return ofClone(clone, errors.Join(problems...))
}

// ofClone returns the error if the volume is a clone.
func ofClone(v resource.Volume, err error) error {
	if v.Snapshot == "" {
		return nil
	}
	return err
}

// abandoned reports whether a snapshot of a clone is old and ready, and no clone is being created from it.
func (c *Controller) abandoned(ctx context.Context, snapshot resource.Snapshot, clone string) bool {
	if time.Since(snapshot.CreatedAt) < abandonedAfter || snapshot.Status == resource.VolumeCreating ||
		c.busy.Working("volume "+clone) {
		return false
	}
	clones, err := c.Storage.VolumesNamed(ctx, clone, listAge)
	return err == nil && !slices.ContainsFunc(clones, func(v resource.Volume) bool {
		return v.Status == resource.VolumeCreating
	})
}

// deleteCloneSnapshot deletes one snapshot. That the cloud refuses this because the clone needs it is no error.
func (c *Controller) deleteCloneSnapshot(ctx context.Context, snapshot resource.Snapshot, clone string) error {
	err := c.Storage.DeleteSnapshot(tracing.WithCause(ctx, "clone volume "+clone), snapshot)
	if code := codeOf(err); err != nil && (code == codes.Aborted || code == codes.InvalidArgument) {
		klog.FromContext(ctx).Info("The cloud does not delete the snapshot of a clone yet", "snapshot", snapshot.ID,
			"clone", clone, "err", err.Error())
		return nil
	}
	return problemOf("deleting snapshot "+snapshot.ID+" of the clone "+clone, err)
}
