package node

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
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
	if err := mountable(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	source := staging
	if r.GetVolumeCapability().GetBlock() != nil {
		if source, err = n.Devices.Find(id); err != nil {
			return nil, err
		}
	} else if staged, err := n.isMountPoint(staging); err != nil || !staged {
		return nil, unstaged(err, id, staging)
	}
	if published, err := n.isMountPoint(target); err != nil || published {
		return &csi.NodePublishVolumeResponse{}, err
	}
	if r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER {
		if err := n.checkSingle(id, source, staging); err != nil {
			return nil, err
		}
	}
	if err := makeTarget(target, r.GetVolumeCapability().GetBlock() != nil); err != nil {
		return nil, status.Errorf(codes.Internal, "making the target path of volume %s: %v", id, err)
	}
	if err := n.Mounter.Mount(source, target, "", bindOptions(r)); err != nil {
		return nil, status.Errorf(codes.Internal, "mounting volume %s at %s: %v", id, target, err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// checkSingle returns a FailedPrecondition error if the volume is published already. source is its staging path, or its
// device.
func (n *Node) checkSingle(id, source, staging string) error {
	lookUp := n.Mounter.GetMountRefs
	if source != staging {
		lookUp = n.mountsOfDevice
	}
	paths, err := lookUp(source)
	if err != nil {
		return status.Errorf(codes.Internal, "looking up where volume %s is mounted: %v", id, err)
	}
	for _, other := range paths {
		if other != staging {
			return status.Errorf(codes.FailedPrecondition, "volume %s can be used by one pod at a time, and is "+
				"mounted at "+
				"%s already; delete the other pod", id, other)
		}
	}
	return nil
}

// mountsOfDevice returns the paths at which a device node is mounted. They are mounts of the filesystem that has the
// node.
func (n *Node) mountsOfDevice(device string) ([]string, error) {
	wanted, err := deviceNumber(device)
	if err != nil {
		return nil, err
	}
	mounts, err := n.Mounter.List()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, m := range mounts {
		if m.Type != "devtmpfs" && m.Type != "tmpfs" {
			continue // others have no device nodes, and may not answer
		}
		if number, err := deviceNumber(m.Path); err == nil && number == wanted {
			paths = append(paths, m.Path)
		}
	}
	return paths, nil
}

// deviceNumber returns the number of the device that a device node is for.
func deviceNumber(path string) (uint64, error) {
	var found unix.Stat_t
	if err := unix.Stat(path, &found); err != nil {
		return 0, fmt.Errorf("reading the state of %s: %w", path, err)
	}
	if found.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, fmt.Errorf("%s is not a block device", path)
	}
	return found.Rdev, nil
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

// bindOptions are the options of the mount at the target path.
func bindOptions(r *csi.NodePublishVolumeRequest) []string {
	options := []string{"bind"}
	if r.GetReadonly() || r.GetVolumeCapability().GetAccessMode().GetMode() ==
		csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY {
		options = append(options, "ro")
	}
	for _, flag := range r.GetVolumeCapability().GetMount().GetMountFlags() {
		if !slices.Contains(options, flag) {
			options = append(options, flag)
		}
	}
	return options
}

// NodeUnpublishVolume takes a volume from a pod.
func (n *Node) NodeUnpublishVolume(_ context.Context,
	r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	id, target := r.GetVolumeId(), r.GetTargetPath()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("target path", target)); err != nil {
		return nil, err
	}
	return &csi.NodeUnpublishVolumeResponse{}, n.unmount(id, target)
}
