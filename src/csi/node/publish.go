package node

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// NodePublishVolume makes a staged volume available to a pod, as a directory or as a block device.
func (n *Node) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error) {
	id, target, staging := r.GetVolumeId(), r.GetTargetPath(), r.GetStagingTargetPath()
	err := cmp.Or(request.Required("volume ID", id), request.Required("target path", target),
		request.Required("staging target path", staging))
	if err != nil {
		return nil, err
	}
	if err := volume.CheckCapability(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	return &csi.NodePublishVolumeResponse{}, n.mounting(target, func() error { return n.mountTarget(r) })
}

// mountTarget mounts the volume at the target path, unless it is.
func (n *Node) mountTarget(r *csi.NodePublishVolumeRequest) error {
	id, staging := r.GetVolumeId(), r.GetStagingTargetPath()
	device, err := n.Devices.Find(id)
	if err != nil {
		return err
	}
	source, wantReadOnly := device, wantsReadOnly(r)
	if r.GetVolumeCapability().GetBlock() == nil {
		staged, err := n.mountedAt(id, staging, device)
		if err != nil || staged == nil {
			return unstaged(err, id, staging)
		}
		source, wantReadOnly = staged.Path, wantReadOnly || slices.Contains(staged.Opts, readOnly)
	}
	if published, err := n.published(r, device, wantReadOnly); err != nil || published {
		return err
	}
	return n.publish(r, source, device)
}

// published reports whether the device is mounted at the target path, read-only or not. It is an error if it is
// read-only and should not be.
func (n *Node) published(r *csi.NodePublishVolumeRequest, device string, wantReadOnly bool) (bool, error) {
	id, target := r.GetVolumeId(), r.GetTargetPath()
	found, err := n.mountedAt(id, target, device)
	if err != nil || found == nil {
		return false, err
	}
	switch isReadOnly := slices.Contains(found.Opts, readOnly); {
	case isReadOnly == wantReadOnly:
		return true, nil
	case isReadOnly:
		return false, status.Errorf(codes.Unavailable, "volume %s is mounted read-only at %s already, and is wanted "+
			"for writing; delete the pod", id, target)
	}
	// A mount becomes read-only in a second step, before which the plug-in ended.
	if err := n.Mounter.Unmount(target); err != nil {
		return false, status.Errorf(codes.Unavailable, "unmounting volume %s from %s, where it is not read-only: %v",
			id, target, err)
	}
	return false, nil
}

// publish mounts the source, which is the staging path or the device, at the target path.
func (n *Node) publish(r *csi.NodePublishVolumeRequest, source, device string) error {
	id, target, block := r.GetVolumeId(), r.GetTargetPath(), r.GetVolumeCapability().GetBlock() != nil
	if r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER {
		if err := n.checkSingle(id, device, source); err != nil {
			return err
		}
	}
	if err := makeTarget(target, block); err != nil {
		return status.Errorf(codes.Internal, "making the target path of volume %s: %v", id, err)
	}
	options := append([]string{"bind"}, mountFlags(r.GetVolumeCapability(), wantsReadOnly(r))...)
	if err := n.Mounter.Mount(source, target, "", options); err != nil {
		return status.Errorf(codes.Internal, "mounting volume %s at %s: %v", id, target, err)
	}
	return nil
}

// checkSingle returns a FailedPrecondition error if the volume is mounted elsewhere than at the source of the mount.
func (n *Node) checkSingle(id, device, source string) error {
	mounts, err := n.Mounter.List()
	if err != nil {
		return status.Errorf(codes.Internal, "looking up where volume %s is mounted: %v", id, err)
	}
	for _, other := range mounts {
		if other.Path != source && isOf(&other, device) {
			return status.Errorf(codes.FailedPrecondition, "volume %s can be used by one pod at a time, and is "+
				"mounted at %s already; delete the other pod", id, other.Path)
		}
	}
	return nil
}

// unstaged returns err, or a FailedPrecondition error if the volume is not staged.
func unstaged(err error, id, staging string) error {
	if err != nil {
		return err
	}
	return status.Errorf(codes.FailedPrecondition, "volume %s is not mounted at its staging path %s", id, staging)
}

// makeTarget makes the mount point: a file for a block device, otherwise a directory.
func makeTarget(target string, block bool) error {
	if !block {
		return os.MkdirAll(target, directoryMode)
	}
	if err := os.MkdirAll(filepath.Dir(target), directoryMode); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return file.Close()
}

// wantsReadOnly reports whether the pod must not write to the volume.
func wantsReadOnly(r *csi.NodePublishVolumeRequest) bool {
	return r.GetReadonly() || isReadOnly(r.GetVolumeCapability()) ||
		r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
}

// NodeUnpublishVolume takes a volume from a pod.
func (n *Node) NodeUnpublishVolume(_ context.Context,
	r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	id, target := r.GetVolumeId(), r.GetTargetPath()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("target path", target)); err != nil {
		return nil, err
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	return &csi.NodeUnpublishVolumeResponse{}, n.unmount(id, target)
}
