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

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

const (
	// defaultFilesystem is that of volumes for which nothing else was chosen.
	defaultFilesystem = "ext4"
	// noFormat is the key of the volume context that forbids to format an empty volume, as in the CSI driver that this
	// one replaces. Any value but "false" forbids it, because for the former driver the key was enough.
	noFormat = "csi.k8s.thalassa.cloud/noformat"
	// directoryMode and fileMode are the modes of mount points.
	directoryMode = 0o750
	fileMode      = 0o660
)

// NodeStageVolume formats a volume that is empty, mounts it at the staging path, and resizes its filesystem if the
// volume has become larger. A volume that is used as a block device only has to have a device.
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
	device, err := n.Devices.Wait(ctx, id)
	if err != nil {
		return nil, err
	}
	if capability.GetBlock() != nil {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	return &csi.NodeStageVolumeResponse{}, n.mounting(staging, func() error { return n.mountStaging(r, device) })
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
	return n.grow(id, device, staging, r.GetVolumeCapability())
}

// stage mounts the device at the staging path, and formats it first if it is empty.
func (n *Node) stage(r *csi.NodeStageVolumeRequest, device string) error {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	filesystem := cmp.Or(r.GetVolumeCapability().GetMount().GetFsType(), defaultFilesystem)
	options := slices.Clone(r.GetVolumeCapability().GetMount().GetMountFlags())
	if filesystem == "xfs" {
		// A volume and its restored snapshot have the same UUID, and XFS refuses to mount both.
		options = append(options, "nouuid")
	}
	if err := os.MkdirAll(staging, directoryMode); err != nil {
		return status.Errorf(codes.Internal, "making the staging path of volume %s: %v", id, err)
	}
	var err error
	if mayFormat(r.GetVolumeContext(), filesystem) {
		if err := n.Devices.check(id, device); err != nil {
			return err
		}
		err = n.Mounter.FormatAndMountSensitiveWithFormatOptions(device, staging, filesystem, options, nil,
			formatOptions(filesystem))
	} else {
		err = n.Mounter.Mount(device, staging, filesystem, options)
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

// mayFormat reports whether a volume may be formatted if it is empty.
func mayFormat(volumeContext map[string]string, filesystem string) bool {
	value, forbidden := volumeContext[noFormat]
	return (!forbidden || value == "false") && slices.Contains(volume.Filesystems(), filesystem)
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
	return &csi.NodeUnstageVolumeResponse{}, n.unmount(id, staging)
}
