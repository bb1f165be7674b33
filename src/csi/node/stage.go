package node

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	mount "k8s.io/mount-utils"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

const (
	// defaultFilesystem is that of volumes for which nothing else was chosen.
	defaultFilesystem = "ext4"
	// directoryMode and fileMode are the modes of mount points.
	directoryMode = 0o750
	fileMode      = 0o660
)

// NodeStageVolume formats a volume that was created empty and still is, mounts it at the staging path, and resizes its
// filesystem if the volume has become larger. A volume that is used as a block device only has to have a device.
func (n *Node) NodeStageVolume(ctx context.Context,
	r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	id, staging, capability := r.GetVolumeId(), r.GetStagingTargetPath(), r.GetVolumeCapability()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("staging target path", staging)); err != nil {
		return nil, err
	}
	err := cmp.Or(volume.CheckCapability(capability), checkFilesystem(capability.GetMount().GetFsType()))
	if err != nil {
		return nil, err
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	device, err := n.attached(ctx, id, r.GetPublishContext())
	if err != nil {
		return nil, err
	}
	if capability.GetBlock() != nil {
		n.staged.Store(id, nil)
		return &csi.NodeStageVolumeResponse{}, nil
	}
	return &csi.NodeStageVolumeResponse{}, n.mounting(staging, func() error { return n.mountStaging(r, device) })
}

// attached returns the device of a volume that is attached, which has the serial number in the publish context.
func (n *Node) attached(ctx context.Context, id string, publishContext map[string]string) (device string, err error) {
	if err := n.Devices.remember(id, publishContext); err != nil {
		return "", status.Errorf(codes.Unavailable, "keeping the serial number of volume %s: %v; it is retried", id,
			err)
	}
	device, err = n.Devices.Wait(ctx, id)
	if err != nil {
		return "", err
	}
	// The required size is not known here. The volume can be used with the size that Linux knows.
	if err := n.Devices.rescan(device); err != nil {
		klog.ErrorS(err, "The growth of a volume may not be noticed", "volume", id)
	}
	return device, nil
}

// mountStaging mounts the device at the staging path, and resizes its filesystem.
func (n *Node) mountStaging(r *csi.NodeStageVolumeRequest, device string) error {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	if err := n.removeLost(id, staging, device); err != nil {
		return err
	}
	found, err := n.mountedAt(id, staging, device)
	if err != nil {
		return err
	}
	if found == nil {
		if err := n.stage(r, device); err != nil {
			return err
		}
	}
	n.staged.Store(id, nil)
	return n.grow(id, device, staging, r.GetVolumeCapability())
}

// stage mounts the device at the staging path, and formats it first if blkid finds nothing and mayFormat permits it.
func (n *Node) stage(r *csi.NodeStageVolumeRequest, device string) error {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	filesystem := cmp.Or(r.GetVolumeCapability().GetMount().GetFsType(), defaultFilesystem)
	options := mountFlags(r.GetVolumeCapability(), isReadOnly(r.GetVolumeCapability()))
	if filesystem == "xfs" {
		// A volume and its restored snapshot have the same UUID, and XFS refuses to mount both.
		options = append(options, "nouuid")
	}
	if err := os.MkdirAll(staging, directoryMode); err != nil {
		return status.Errorf(codes.Internal, "making the staging path of volume %s: %v", id, err)
	}
	opened, err := os.Open(device) // Linux gives its name to no other disk meanwhile.
	if err != nil {
		return status.Errorf(codes.Internal, "opening the device of volume %s: %v; it is retried", id, err)
	}
	defer opened.Close()
	guarded := &formatter{Interface: n.Mounter.Exec, permit: func() error { return n.mayFormat(r, opened, filesystem) }}
	err = mount.NewSafeFormatAndMount(n.Mounter.Interface, guarded).FormatAndMountSensitiveWithFormatOptions(device,
		staging, filesystem, options, nil, formatOptions(filesystem))
	if guarded.refusal != nil {
		return guarded.refusal
	}
	if err != nil {
		return status.Errorf(codes.Internal, "mounting volume %s (%s) with filesystem %s: %v", id, device, filesystem,
			err)
	}
	klog.InfoS("Mounted volume", "volume", id, "device", device, "path", staging, "filesystem", filesystem)
	return nil
}

// formerFilesystems are those that are only mounted: volumes of the former driver may have them.
func formerFilesystems() []string { return []string{"ext2", "btrfs"} }

// checkFilesystem returns an InvalidArgument error for a filesystem that is not mounted; "" is the default. The name
// becomes part of the name of a program, and a mount of tmpfs or proc would not be one of the volume.
func checkFilesystem(name string) error {
	if slices.Contains(formerFilesystems(), name) {
		return nil
	}
	return volume.CheckFilesystem(name)
}

// formatOptions are options for mkfs. Without them, mkfs.xfs 6.5 and later makes filesystems that Linux before 5.19,
// which Ubuntu 22.04 has, does not mount.
func formatOptions(filesystem string) []string {
	if filesystem == "xfs" {
		return []string{"-i", "nrext64=0"}
	}
	return nil
}

// NodeUnstageVolume unmounts a volume from the staging path.
func (n *Node) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error) {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("staging target path", staging)); err != nil {
		return nil, err
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := n.unmount(id, staging); err != nil {
		return nil, err
	}
	if err := n.Devices.remember(id, nil); err != nil {
		return nil, status.Errorf(codes.Internal, "removing the serial number of volume %s: %v", id, err)
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}
