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

	"github.com/thalassa-cloud/thalassa-ccm/src/audit"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// source is what a new volume is made from.
type source struct {
	size   int64  // GiB; 0: the volume is empty
	volume string // identity of the volume that is cloned; may be empty
	// snapshot returns the snapshot that the volume is restored from; "" is none. existing is the volume if it exists.
	snapshot func(ctx context.Context, existing resource.Volume) (string, error)
	// finish removes what is not needed after the volume was created, or could not be created because of err.
	finish func(ctx context.Context, err error) error
}

func keepError(_ context.Context, err error) error { return err }

// source returns what a request makes its volume from. The error is NotFound if that does not exist, and Unavailable if
// a snapshot is not ready.
func (c *Controller) source(ctx context.Context, r *csi.CreateVolumeRequest) (source, error) {
	content := r.GetVolumeContentSource()
	switch {
	case content == nil:
		none := func(context.Context, resource.Volume) (string, error) { return "", nil }
		return source{snapshot: none, finish: keepError}, nil
	case content.GetSnapshot() != nil:
		return c.snapshotSource(ctx, content.GetSnapshot().GetSnapshotId())
	case content.GetVolume() != nil:
		return c.volumeSource(ctx, content.GetVolume().GetVolumeId(),
			volumeCreation(r.GetName(), r.GetParameters()))
	}
	return source{}, status.Error(codes.InvalidArgument, "the volume content source is not known: want a snapshot or "+
		"a volume")
}

func (c *Controller) snapshotSource(ctx context.Context, id string) (source, error) {
	snapshot, err := c.snapshotByID(ctx, id, c.Poll)
	if err != nil {
		return source{}, err
	}
	if err := volume.Restorable(snapshot); err != nil {
		return source{}, err
	}
	use := func(context.Context, resource.Volume) (string, error) { return id, nil }
	return source{size: snapshot.Size, snapshot: use, finish: keepError}, nil
}

// volumeSource clones a volume by a snapshot that exists only meanwhile, because the cloud cannot clone volumes.
func (c *Controller) volumeSource(ctx context.Context, id string, by creation) (source, error) {
	original, err := c.volume(ctx, id, c.Poll)
	if err != nil {
		return source{}, err
	}
	clone := volume.CloudName(by.name)
	name := volume.CloudName("clone-" + clone)
	return source{size: original.Size, volume: id,
		snapshot: func(ctx context.Context, existing resource.Volume) (string, error) {
			if existing.ID != "" {
				return existing.Snapshot, nil
			}
			return c.cloneSnapshot(ctx, name, original, clone, by)
		},
		finish: func(ctx context.Context, err error) error {
			if err != nil && isRetried(err) {
				return err
			}
			if failure := c.deleteCloneSnapshots(ctx, resource.Volume{Name: clone, Snapshot: name}); failure != nil {
				// It is abandoned, and so it is deleted later.
				klog.FromContext(ctx).Error(failure, "The snapshot of a clone is kept for now", "clone", clone)
			}
			return err
		},
	}, nil
}

// isRetried reports whether the provisioner sends the request again after an error, so that nothing must be removed.
func isRetried(err error) bool {
	return slices.Contains([]codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Aborted},
		status.Code(err))
}

// cloneSnapshot finds or creates the snapshot that a clone is restored from, and waits until it is ready.
func (c *Controller) cloneSnapshot(ctx context.Context, name string, original resource.Volume, clone string,
	by creation) (string, error) {
	labels := c.labels(original.ID)
	labels[label.CSIClone] = clone
	snapshot, err := c.ensureSnapshot(ctx, resource.Snapshot{Name: name, Volume: original.ID, Labels: labels},
		"Source of the clone "+clone, by)
	if err != nil {
		return "", err
	}
	for pause := c.Poll; volume.Restorable(snapshot) != nil; pause = min(pause*2, maxPoll) {
		if snapshot.Status == resource.VolumeFailed {
			return "", c.replaceFailedSnapshot(ctx, snapshot)
		}
		if err := volume.Restorable(snapshot); !isRetried(err) || !sleep(ctx, pause) {
			return "", err
		}
		if snapshot, err = c.snapshotByID(ctx, snapshot.ID, pause); err != nil {
			return "", err
		}
	}
	return snapshot.ID, nil
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
	err := c.Storage.DeleteSnapshot(audit.WithCause(ctx, "clone volume "+clone), snapshot)
	if code := codeOf(err); err != nil && (code == codes.Aborted || code == codes.InvalidArgument) {
		klog.FromContext(ctx).Info("The cloud does not delete the snapshot of a clone yet", "snapshot", snapshot.ID,
			"clone", clone, "err", err.Error())
		return nil
	}
	return problemOf("deleting snapshot "+snapshot.ID+" of the clone "+clone, err)
}
