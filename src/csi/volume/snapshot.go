package volume

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Restorable returns an error if a volume cannot be restored from a snapshot: Unavailable while it is being created,
// NotFound if it is being deleted, and FailedPrecondition if it failed.
func Restorable(s resource.Snapshot) error {
	switch {
	case s.Status == resource.VolumeAvailable:
		return nil
	case s.Deleting():
		return status.Errorf(codes.NotFound, "snapshot %s is being deleted", s.ID)
	case s.Status == resource.VolumeFailed:
		return status.Errorf(codes.FailedPrecondition, "snapshot %s of volume %s failed in the cloud; delete the "+
			"VolumeSnapshot, and create another one", s.ID, s.Volume)
	}
	return status.Errorf(codes.Unavailable, "snapshot %s is not ready yet: its status is %q; it is "+
		"retried", s.ID, s.Status)
}

// ChooseSnapshot is Choose for snapshots.
func ChooseSnapshot(owner Owner, named []resource.Snapshot) (s resource.Snapshot, found bool, err error) {
	return choose(owner, "snapshot", named, func(s resource.Snapshot) candidate {
		return candidate{s.ID, s.Labels, s.CreatedAt, s.Deleting()}
	})
}
