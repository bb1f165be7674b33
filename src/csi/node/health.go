package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
)

// mountTable has the mounts with the options of their filesystems, which Mounter.List lacks.
const mountTable = "/proc/self/mountinfo"

// NodeGetVolumeHealth returns what is wrong with a volume on this machine.
func (n *Node) NodeGetVolumeHealth(_ context.Context,
	r *csi.NodeGetVolumeHealthRequest) (*csi.NodeGetVolumeHealthResponse, error) {
	id := r.GetVolumeId()
	if err := request.Required("volume ID", id); err != nil {
		return nil, err
	}
	problem, err := n.problem(id, r.GetStagingTargetPath(), r.GetVolumePublishPath())
	if err != nil {
		return nil, err
	}
	health := &csi.VolumeHealth{VolumeId: id}
	if problem != nil {
		health.HealthStatuses = []*csi.VolumeHealth_VolumeHealthEntry{problem}
	}
	return &csi.NodeGetVolumeHealthResponse{VolumeHealth: health}, nil
}

// problem returns the worst that is wrong with a volume, which may be mounted at the paths, or nil.
func (n *Node) problem(id string, paths ...string) (*csi.VolumeHealth_VolumeHealthEntry, error) {
	device, err := n.Devices.Find(id)
	if err != nil {
		return inaccessible("NoDevice", err), nil
	}
	for _, path := range slices.DeleteFunc(paths, func(path string) bool { return path == "" }) {
		if _, err := n.mountedAt(id, path, device); status.Code(err) == codes.FailedPrecondition {
			return inaccessible("DeadMount", err), nil
		} else if err != nil {
			return nil, err
		}
	}
	mounts, err := mount.ParseMountInfo(mountTable)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "looking up where volume %s is mounted: %v", id, err)
	}
	if !slices.ContainsFunc(mounts, func(m mount.MountInfo) bool { return m.Source == device && becameReadOnly(m) }) {
		return nil, nil // nothing is wrong
	}
	return &csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_DEGRADED, Reason: "ReadOnly",
		Message: fmt.Sprintf("the filesystem of volume %s has become read-only after an error; delete all pods with "+
			"this volume on Node %s: it is checked before it is mounted again", id, n.Name)}, nil
}

// becameReadOnly reports whether Linux made a filesystem read-only, and left the mount as it was. A mount that was
// made read-only has the option as well as its filesystem.
func becameReadOnly(m mount.MountInfo) bool {
	return slices.Contains(m.SuperOptions, "emergency_ro") ||
		slices.Contains(m.SuperOptions, readOnly) && !slices.Contains(m.MountOptions, readOnly)
}

// inaccessible is the health of a volume that cannot be used on this machine.
func inaccessible(reason string, err error) *csi.VolumeHealth_VolumeHealthEntry {
	return &csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_INACCESSIBLE, Reason: reason,
		Message: status.Convert(err).Message()}
}
