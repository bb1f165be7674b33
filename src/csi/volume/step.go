// Package volume decides what has to be done with volumes and snapshots in the cloud. It contains values only, and
// calls nothing: the same inputs give the same results. Errors have the gRPC codes of the CSI specification.
package volume

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Step is what has to be done next with an object.
type Step int

const (
	// Done is that nothing remains to be done.
	Done Step = iota
	// Wait is that the cloud has to finish something first.
	Wait
	// Write is that the write has to be sent.
	Write
)

// Attach returns the next step to attach a volume to a machine. The error is NotFound for a volume that is being
// deleted, and FailedPrecondition for one that another machine has, or that failed.
func Attach(v resource.Volume, machine string) (Step, error) {
	held, inUse := v.InUse()
	switch {
	case v.Deleting():
		return Done, status.Errorf(codes.NotFound, "volume %s is being deleted", v.ID)
	case v.Status == resource.VolumeFailed:
		return Done, failed(v)
	case inUse && held.Machine != machine:
		return Done, status.Errorf(codes.FailedPrecondition, "volume %s is attached to machine %s; it can be attached "+
			"to one machine at a time, and is attached here after it was detached there", v.ID, held.Machine)
	case inUse && v.Status == resource.VolumeAttached:
		return Done, nil
	case len(v.Attachments) == 0 && v.Status == resource.VolumeAvailable:
		return Write, nil
	}
	return Wait, nil
}

// Detach returns the next step to detach a volume, and the machine that it has to be detached from, which is one of an
// attachment for which ours returns true.
func Detach(v resource.Volume, ours func(resource.Attachment) bool) (machine string, step Step) {
	if len(v.Attachments) == 0 && inTransition(v) {
		return "", Wait
	}
	for _, attachment := range v.Attachments {
		switch {
		case !ours(attachment):
		case attachment.Detaching, v.Status == resource.VolumeAttaching:
			return "", Wait // the cloud refuses to detach it before it is attached
		default:
			return attachment.Machine, Write
		}
	}
	return "", Done
}

// inTransition reports whether the status says that a machine has the volume, or is getting or losing it.
func inTransition(v resource.Volume) bool {
	return v.Status == resource.VolumeAttaching || v.Status == resource.VolumeAttached ||
		v.Status == resource.VolumeDetaching
}

// Delete returns the next step to delete a volume. The error is FailedPrecondition for a volume that a machine has, or
// that is protected from deletion.
func Delete(v resource.Volume) (Step, error) {
	held, inUse := v.InUse()
	switch {
	case v.Deleting():
		return Done, nil
	case inUse:
		return Done, status.Errorf(codes.FailedPrecondition, "volume %s is attached to machine %s; it can be deleted "+
			"after it was detached", v.ID, held.Machine)
	case v.DeleteProtection:
		return Done, status.Errorf(codes.FailedPrecondition, "volume %s is protected from deletion; turn the "+
			"protection off in the cloud, or keep the volume by the reclaim policy Retain", v.ID)
	case len(v.Attachments) > 0, inTransition(v), v.Status == resource.VolumeCreating:
		return Wait, nil
	}
	return Write, nil
}

// newFor is how long after its creation a failed volume is taken as one that was never available.
const newFor = time.Hour

// Ready returns Done once a new volume can be attached, and Write if its creation failed, so that it has to be deleted.
// The error is Unavailable if it is being deleted. It is FailedPrecondition for a failed volume that may have been
// used: a claim whose PersistentVolume is lost asks for its volume again.
func Ready(v resource.Volume, now time.Time) (Step, error) {
	switch {
	case v.Status == resource.VolumeCreating:
		return Wait, nil
	case v.Status == resource.VolumeFailed &&
		(len(v.Attachments) > 0 || v.DeleteProtection || now.Sub(v.CreatedAt) > newFor):
		return Done, status.Errorf(codes.FailedPrecondition, "volume %s (%s) has the status %q in the cloud, and may "+
			"contain data, because it was created at %s; ask the cloud's support, or delete it in the cloud to get an "+
			"empty one", v.ID, v.Name, v.Status, v.CreatedAt.UTC().Format(time.RFC3339))
	case v.Status == resource.VolumeFailed:
		return Write, nil
	case v.Deleting():
		return Done, status.Errorf(codes.Unavailable, "volume %s (%s) is being deleted in the cloud; another one is "+
			"created when the request is retried", v.ID, v.Name)
	}
	return Done, nil
}

// Expand returns the next step to make a volume at least as large as size, in GiB. resizable is whether its type can be
// resized. The error is FailedPrecondition for a volume that failed, and InvalidArgument for a type that cannot be
// resized.
func Expand(v resource.Volume, size int64, resizable bool) (Step, error) {
	switch {
	case v.Deleting():
		return Done, status.Errorf(codes.NotFound, "volume %s is being deleted", v.ID)
	case v.Size >= size:
		return Done, nil
	case v.Status == resource.VolumeFailed:
		return Done, failed(v)
	case !resizable:
		return Done, status.Errorf(codes.InvalidArgument, "volume %s cannot be resized, because its volume type %s "+
			"does not allow it", v.ID, v.Type)
	case v.Status == resource.VolumeAvailable, v.Status == resource.VolumeAttached:
		return Write, nil
	}
	return Wait, nil
}

func failed(v resource.Volume) error {
	return status.Errorf(codes.FailedPrecondition, "volume %s has the status %q in the cloud; ask the cloud's support",
		v.ID, v.Status)
}
