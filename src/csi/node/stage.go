package node

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

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
	if err := mountable(capability); err != nil {
		return nil, err
	}
	if name := capability.GetMount().GetFsType(); !filesystemPattern().MatchString(name) {
		return nil, status.Errorf(codes.InvalidArgument, "filesystem %q is not supported; use one of %s", name,
			strings.Join(volume.Filesystems(), ", "))
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
	mounted, err := n.mountedAt(staging, device)
	if err != nil {
		return nil, err
	}
	if !mounted {
		if err := n.stage(r, device); err != nil {
			return nil, err
		}
	}
	if slices.Contains(capability.GetMount().GetMountFlags(), "ro") {
		return &csi.NodeStageVolumeResponse{}, nil // it cannot be resized
	}
	return &csi.NodeStageVolumeResponse{}, n.grow(id, device, staging)
}

// stage mounts the device at the staging path, and formats it first if it is empty.
func (n *Node) stage(r *csi.NodeStageVolumeRequest, device string) error {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	filesystem := r.GetVolumeCapability().GetMount().GetFsType()
	if filesystem == "" {
		filesystem = defaultFilesystem
	}
	options := slices.Clone(r.GetVolumeCapability().GetMount().GetMountFlags())
	if filesystem == "xfs" {
		// A volume and its restored snapshot have the same UUID, and XFS refuses to mount both.
		options = append(options, "nouuid")
	}
	if err := os.MkdirAll(staging, directoryMode); err != nil {
		return status.Errorf(codes.Internal, "making the staging path of volume %s: %v", id, err)
	}
	var err error
	if value, forbidden := r.GetVolumeContext()[noFormat]; forbidden && value != "false" {
		err = n.Mounter.Mount(device, staging, filesystem, options)
	} else {
		err = n.Mounter.FormatAndMountSensitiveWithFormatOptions(device, staging, filesystem, options, nil,
			formatOptions(filesystem))
	}
	if err != nil {
		return status.Errorf(codes.Internal, "mounting volume %s (%s) with filesystem %s: "+
			"%v", id, device, filesystem, err)
	}
	klog.InfoS("Mounted volume", "volume", id, "device", device, "path", staging, "filesystem", filesystem)
	return nil
}

// filesystemPattern is the form of the names of filesystems, which become part of the name of a program. Volumes of the
// former driver may have others than volume.Filesystems.
func filesystemPattern() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]*$`) }

// formatOptions are options for mkfs. Without them, mkfs.xfs 6.5 and later makes filesystems that Linux before 5.19,
// which Ubuntu 22.04 has, does not mount.
func formatOptions(filesystem string) []string {
	if filesystem == "xfs" {
		return []string{"-i", "nrext64=0"}
	}
	return nil
}

// mountedAt reports whether the device is mounted at the path. The error is Internal if another device is.
func (n *Node) mountedAt(path, device string) (bool, error) {
	mounted, err := n.isMountPoint(path)
	if err != nil || !mounted {
		return false, err
	}
	found, _, err := mount.GetDeviceNameFromMount(n.Mounter, path)
	if err != nil {
		return false, status.Errorf(codes.Internal, "looking up what is mounted at %s: %v", path, err)
	}
	if found != device {
		return false, status.Errorf(codes.Internal, "%s is mounted at %s, where %s is wanted; unmount it", found, path,
			device)
	}
	return true, nil
}

// isMountPoint reports whether something is mounted at the path, which need not exist. A mount whose device has
// disappeared counts.
func (n *Node) isMountPoint(path string) (bool, error) {
	mounted, err := n.Mounter.IsMountPoint(path)
	switch {
	case err == nil:
		return mounted, nil
	case os.IsNotExist(err):
		return false, nil
	case mount.IsCorruptedMnt(err):
		return true, nil
	}
	return false, status.Errorf(codes.Internal, "looking up what is mounted at %s: %v", path, err)
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

// unmount unmounts the path and removes it. That nothing is mounted, and that the path does not exist, is a success.
func (n *Node) unmount(id, path string) error {
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return err
	}
	defer end()
	if err := mount.CleanupMountPoint(path, n.Mounter, true); err != nil {
		return status.Errorf(codes.Internal, "unmounting volume %s from %s: %v", id, path, err)
	}
	return nil
}
