package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// CreateSnapshot creates a snapshot of a volume, and does not wait until it is ready. A snapshot that an earlier
// request created is found by its name and labels.
func (c *Controller) CreateSnapshot(ctx context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse,
	error) {
	if err := request.Required("name", r.GetName()); err != nil {
		return nil, err
	}
	if err := request.Required("source volume ID", r.GetSourceVolumeId()); err != nil {
		return nil, err
	}
	if err := volume.CheckSnapshotParameters(r.GetParameters()); err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("snapshot " + r.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	labels := c.Owner.Labels()
	labels[label.CSISourceVolume] = r.GetSourceVolumeId()
	snapshot, err := c.ensureSnapshot(ctx, resource.Snapshot{Name: volume.CloudName(r.GetName()),
		Volume: r.GetSourceVolumeId(), Labels: labels,
		Annotations: resource.Labels{label.CSISnapshotName: r.GetName()}}, "Snapshot "+r.GetName(),
		snapshotCreation(r.GetName(), r.GetParameters()), func(resource.Volume) error { return nil })
	if err == nil && snapshot.Status == resource.VolumeFailed {
		err = c.replaceFailedSnapshot(ctx, snapshot)
	}
	if err != nil {
		return nil, err
	}
	described := describeSnapshot(snapshot)
	if described.SizeBytes == 0 { // the cloud does not know it before the snapshot is ready
		if v, err := c.volume(ctx, snapshot.Volume, listAge); err == nil {
			described.SizeBytes = v.Size * resource.GiB
		}
	}
	return &csi.CreateSnapshotResponse{Snapshot: described}, nil
}

// replaceFailedSnapshot deletes a snapshot that the cloud could not create. The error is Aborted, so that another one
// is created when the request is retried.
func (c *Controller) replaceFailedSnapshot(ctx context.Context, snapshot resource.Snapshot) error {
	err := c.Storage.DeleteSnapshot(tracing.WithCause(ctx, "replace failed snapshot "+snapshot.Name), snapshot)
	if err != nil {
		return unfinished(problemOf("deleting failed snapshot "+snapshot.ID, err))
	}
	return status.Errorf(codes.Aborted, "the cloud could not create snapshot %s of volume %s, and it was deleted; "+
		"another one is created when the request is retried", snapshot.ID, snapshot.Volume)
}

// ensureSnapshot finds or creates a snapshot. Its volume is looked at after it is certain that there is none, as create
// does; suits returns why the volume is not the wanted one.
func (c *Controller) ensureSnapshot(ctx context.Context, wanted resource.Snapshot, description string, by creation,
	suits func(resource.Volume) error) (resource.Snapshot, error) {
	listed := time.Now()
	found, err := c.Storage.SnapshotsNamed(ctx, wanted.Name, c.Poll)
	if err != nil {
		return wanted, unfinished(problemOf("looking for snapshot "+wanted.Name, err))
	}
	snapshot, exists, err := volume.ChooseSnapshot(c.Owner, found)
	if err != nil || exists {
		return snapshot, joinSource(err, snapshot, wanted)
	}
	if err := c.checkEarlier(ctx, listed, by, c.snapshotTaken(wanted.Name)); err != nil {
		return wanted, err
	}
	source, err := c.volume(ctx, wanted.Volume, c.Poll)
	if err == nil {
		err = cmp.Or(c.Owner.MayUse(source), suits(source))
	}
	if err != nil {
		return wanted, err
	}
	ctx = tracing.WithCause(ctx, "create snapshot "+wanted.Name)
	snapshot, err = c.Storage.CreateSnapshot(ctx, wanted, description)
	err = problemOf("creating snapshot "+wanted.Name+" of volume "+wanted.Volume, c.orAttached(ctx, err, wanted))
	return snapshot, err
}

// orAttached returns the error of a snapshot, or a FailedPrecondition error if the cloud refused it and the volume is
// attached. Some clouds make no snapshots of such volumes, and do not say that this is the reason.
func (c *Controller) orAttached(ctx context.Context, err error, wanted resource.Snapshot) error {
	refusal, answered := errors.AsType[*client.Error](err)
	if !answered || !refused(err) {
		return err
	}
	source, readErr := c.volume(ctx, wanted.Volume, c.Poll)
	held, inUse := source.InUse()
	if readErr != nil || !inUse || source.Status != resource.VolumeAttached {
		return err
	}
	return status.Errorf(codes.FailedPrecondition, "creating snapshot %s of volume %s: the cloud refused it while the "+
		"volume is attached to machine %s (HTTP %d: %s); detach the volume: stop the pods that use it; after that, "+
		"the snapshot is created", wanted.Name, wanted.Volume, held.Machine, refusal.Status, refusal.Message)
}

// joinSource returns err, or an AlreadyExists error if a snapshot is of another volume than the wanted one.
func joinSource(err error, snapshot, wanted resource.Snapshot) error {
	if err != nil || snapshot.Volume == wanted.Volume {
		return err
	}
	return status.Errorf(codes.AlreadyExists, "snapshot %s with the name %s exists, and is of volume %s, not of %s",
		snapshot.ID, snapshot.Name, snapshot.Volume, wanted.Volume)
}

// DeleteSnapshot deletes a snapshot of this cluster. It does not wait until the cloud has removed it.
func (c *Controller) DeleteSnapshot(ctx context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse,
	error) {
	id := r.GetSnapshotId()
	if err := request.Required("snapshot ID", id); err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("snapshot " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	snapshot, err := c.snapshotByID(ctx, id, c.Poll)
	switch {
	case status.Code(err) == codes.NotFound, err == nil && snapshot.Deleting():
		return &csi.DeleteSnapshotResponse{}, nil
	case err != nil:
		return nil, err
	}
	if err := c.Owner.MayDelete("snapshot", id, snapshot.Labels); err != nil {
		return nil, err
	}
	if snapshot.DeleteProtection {
		return nil, status.Errorf(codes.FailedPrecondition, "snapshot %s is protected from deletion; turn the "+
			"protection off in the cloud, or use the deletion policy Retain", id)
	}
	err = c.Storage.DeleteSnapshot(tracing.WithCause(ctx, "delete snapshot "+snapshot.Name), snapshot)
	if err != nil {
		return nil, problemOf("deleting snapshot "+id, err)
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

// ListSnapshots returns the snapshots of this cluster, and the others that were asked for by identity, in the order of
// their identities. An identity that does not exist is an empty list.
func (c *Controller) ListSnapshots(ctx context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse,
	error) {
	if id := r.GetSnapshotId(); id != "" {
		return c.listOneSnapshot(ctx, id, r.GetSourceVolumeId())
	}
	all, err := c.Storage.Snapshots(ctx, listAge)
	if err != nil {
		return nil, problemOf("listing snapshots", err)
	}
	var wanted []resource.Snapshot
	for _, snapshot := range all {
		if source := r.GetSourceVolumeId(); !snapshot.Deleting() && (source == "" || snapshot.Volume == source) {
			wanted = append(wanted, snapshot)
		}
	}
	page, next, err := paginate(wanted, func(s resource.Snapshot) string { return s.ID }, r.GetStartingToken(),
		r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	response := &csi.ListSnapshotsResponse{NextToken: next}
	for _, snapshot := range page {
		response.Entries = append(response.Entries,
			&csi.ListSnapshotsResponse_Entry{Snapshot: describeSnapshot(snapshot)})
	}
	return response, nil
}

func (c *Controller) listOneSnapshot(ctx context.Context, id, source string) (*csi.ListSnapshotsResponse, error) {
	snapshot, err := c.latestSnapshot(ctx, id)
	switch {
	case status.Code(err) == codes.NotFound, err == nil && source != "" && snapshot.Volume != source:
		return &csi.ListSnapshotsResponse{}, nil
	case err != nil:
		return nil, err
	}
	return &csi.ListSnapshotsResponse{
		Entries: []*csi.ListSnapshotsResponse_Entry{{Snapshot: describeSnapshot(snapshot)}}}, nil
}

// GetSnapshot returns a snapshot. It fails for a snapshot that failed, so that the reason is shown at the
// VolumeSnapshot.
func (c *Controller) GetSnapshot(ctx context.Context, r *csi.GetSnapshotRequest) (*csi.GetSnapshotResponse, error) {
	if err := request.Required("snapshot ID", r.GetSnapshotId()); err != nil {
		return nil, err
	}
	snapshot, err := c.latestSnapshot(ctx, r.GetSnapshotId())
	if err != nil {
		return nil, err
	}
	return &csi.GetSnapshotResponse{Snapshot: describeSnapshot(snapshot)}, nil
}

// latestSnapshot returns a snapshot for the snapshotter, which waits until it is ready. So one that is not ready comes
// from a newer list. The error is NotFound if there is none, or FailedPrecondition for one that failed.
func (c *Controller) latestSnapshot(ctx context.Context, id string) (resource.Snapshot, error) {
	snapshot, err := c.snapshotByID(ctx, id, listAge)
	if err == nil && snapshot.Status != resource.VolumeAvailable {
		snapshot, err = c.snapshotByID(ctx, id, c.Poll)
	}
	if err == nil && (snapshot.Deleting() || snapshot.Status == resource.VolumeFailed) {
		err = volume.Restorable(snapshot)
	}
	return snapshot, err
}

// snapshotByID returns the snapshot with the identity, from a list at most maxAge old. The error is NotFound if there
// is none.
func (c *Controller) snapshotByID(ctx context.Context, id string, maxAge time.Duration) (resource.Snapshot, error) {
	snapshot, found, err := c.Storage.Snapshot(ctx, id, maxAge)
	if err != nil {
		return resource.Snapshot{}, unfinished(problemOf("reading snapshot "+id, err))
	}
	if !found {
		return resource.Snapshot{}, status.Errorf(codes.NotFound, "snapshot %s does not exist", id)
	}
	return snapshot, nil
}

func describeSnapshot(s resource.Snapshot) *csi.Snapshot {
	return &csi.Snapshot{SnapshotId: s.ID, SourceVolumeId: s.Volume, SizeBytes: s.Size * resource.GiB,
		CreationTime: timestamppb.New(s.CreatedAt), ReadyToUse: s.Status == resource.VolumeAvailable}
}
