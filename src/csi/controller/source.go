package controller

import (
	"context"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
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
		return c.volumeSource(ctx, content.GetVolume().GetVolumeId(), volume.CloudName(r.GetName()))
	}
	return source{}, status.Error(codes.InvalidArgument, "the volume content source is not known: want a snapshot or "+
		"a "+
		"volume")
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
func (c *Controller) volumeSource(ctx context.Context, id, clone string) (source, error) {
	original, err := c.volume(ctx, id, c.Poll)
	if err != nil {
		return source{}, err
	}
	name := volume.CloudName("clone-" + clone)
	return source{size: original.Size, volume: id,
		snapshot: func(ctx context.Context, existing resource.Volume) (string, error) {
			if existing.ID != "" {
				return existing.Snapshot, nil
			}
			return c.cloneSnapshot(ctx, name, original, clone)
		},
		finish: func(ctx context.Context, err error) error {
			if err != nil && isRetried(err) {
				return err
			}
			if failure := c.deleteCloneSnapshots(ctx, resource.Volume{Name: clone, Snapshot: name}); err == nil {
				return failure
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
func (c *Controller) cloneSnapshot(ctx context.Context, name string, original resource.Volume, clone string) (string,
	error) {
	labels := c.labels(original.ID)
	labels[label.CSIClone] = clone
	snapshot, err := c.ensureSnapshot(ctx, resource.Snapshot{Name: name, Volume: original.ID, Labels: labels},
		"Source of the clone "+clone)
	if err != nil {
		return "", err
	}
	for pause := c.Poll; volume.Restorable(snapshot) != nil; pause = min(pause*2, maxPoll) {
		if err := volume.Restorable(snapshot); !isRetried(err) || !sleep(ctx, pause) {
			return "", err
		}
		if snapshot, err = c.snapshotByID(ctx, snapshot.ID, pause); err != nil {
			return "", err
		}
	}
	return snapshot.ID, nil
}

// deleteCloneSnapshots deletes the snapshots that a clone was restored from. A cloud that refuses this, because the
// clone still needs them, is asked again when the clone is deleted.
func (c *Controller) deleteCloneSnapshots(ctx context.Context, clone resource.Volume) error {
	if clone.Snapshot == "" {
		return nil
	}
	all, err := c.Storage.Snapshots(ctx, listAge)
	if err != nil {
		return problemOf("looking for the snapshots of the clone "+clone.Name, err)
	}
	for _, snapshot := range all {
		if snapshot.Labels[label.CSIClone] != clone.Name || !c.Owner.Owns(snapshot.Labels) || snapshot.Deleting() {
			continue
		}
		err := c.Storage.DeleteSnapshot(client.WithCause(ctx, "clone volume "+clone.Name), snapshot)
		switch code := codeOf(err); {
		case err == nil:
		case code == codes.Aborted, code == codes.InvalidArgument:
			klog.FromContext(ctx).Info("The cloud does not delete the snapshot of a clone yet", "snapshot", snapshot.ID,
				"clone", clone.Name, "err", err.Error())
		default:
			return problemOf("deleting snapshot "+snapshot.ID+" of the clone "+clone.Name, err)
		}
	}
	return nil
}
