package node

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// NodeExpandVolume resizes the filesystem of a volume that has become larger. A block device needs nothing.
func (n *Node) NodeExpandVolume(_ context.Context,
	r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	id, path := r.GetVolumeId(), r.GetVolumePath()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("volume path", path)); err != nil {
		return nil, err
	}
	if r.GetVolumeCapability() != nil {
		if err := volume.CheckCapability(r.GetVolumeCapability()); err != nil {
			return nil, err
		}
	}
	end, err := n.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	device, err := n.Devices.Find(id)
	if err != nil {
		return nil, err
	}
	wanted := r.GetCapacityRange().GetRequiredBytes()
	size, err := n.Devices.sizeFor(device, wanted)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "volume %s: %v", id, err)
	}
	if size < wanted {
		return nil, status.Errorf(codes.Unavailable, "the device of volume %s has %d bytes on this machine, and %d "+
			"are required; the machine has not noticed the new size yet; it is retried", id, size, wanted)
	}
	if err := volume.CheckLimit(r.GetCapacityRange(), size); err != nil {
		return nil, err
	}
	block, err := n.isBlock(r, path)
	if err != nil {
		return nil, err
	}
	if !block {
		if found, err := n.mountedAt(id, path, device); err != nil || found == nil {
			return nil, notMounted(err, id, path)
		}
		if err := n.grow(id, device, path, r.GetVolumeCapability()); err != nil {
			return nil, err
		}
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: size}, nil
}

// isBlock reports whether the volume is used as a block device at the path.
func (n *Node) isBlock(r *csi.NodeExpandVolumeRequest, path string) (bool, error) {
	if r.GetVolumeCapability() != nil {
		return r.GetVolumeCapability().GetBlock() != nil, nil
	}
	mode, err := modeOf(r.GetVolumeId(), path)
	return mode&fs.ModeDevice != 0, err
}

// grow resizes the filesystem of a device, if it is smaller than the device. A filesystem that is mounted read-only
// keeps its size, and one that volumes are not formatted with, because there is no program that resizes it.
func (n *Node) grow(id, device, path string, c *csi.VolumeCapability) error {
	if isReadOnly(c) {
		return nil
	}
	resizer := mount.NewResizeFs(n.Mounter.Exec)
	format, err := n.Mounter.GetDiskFormat(device)
	needed := err == nil && slices.Contains(volume.Filesystems(), format)
	if needed {
		needed, err = resizer.NeedResize(device, path)
	}
	if err == nil && needed {
		_, err = resizer.Resize(device, path)
	}
	if err != nil {
		return status.Errorf(codes.Internal, "resizing the filesystem of volume %s: %v", id, err)
	}
	return nil
}

// notMounted returns err, or a NotFound error for a path at which nothing is mounted.
func notMounted(err error, id, path string) error {
	if err != nil {
		return err
	}
	return status.Errorf(codes.NotFound, "volume %s is not mounted at %s", id, path)
}
