package node

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
)

// NodeGetVolumeStats returns how much of a volume is used.
func (n *Node) NodeGetVolumeStats(_ context.Context,
	r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	id, path := r.GetVolumeId(), r.GetVolumePath()
	if err := cmp.Or(request.Required("volume ID", id), request.Required("volume path", path)); err != nil {
		return nil, err
	}
	mode, err := modeOf(id, path)
	if err != nil {
		return nil, err
	}
	if mode&fs.ModeDevice != 0 {
		size, err := sizeOf(path)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "volume %s: %v", id, err)
		}
		return &csi.NodeGetVolumeStatsResponse{
			Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: size}}}, nil
	}
	if found, err := n.mountAt(path); err != nil || found == nil {
		return nil, notMounted(err, id, path)
	}
	var found unix.Statfs_t
	if err := unix.Statfs(path, &found); err != nil {
		return nil, status.Errorf(codes.Internal, "reading the usage of volume %s at %s: %v", id, path, err)
	}
	block := found.Bsize
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: int64(found.Blocks) * block, Available: int64(found.Bavail) * block,
			Used: int64(found.Blocks-found.Bfree) * block},
		{Unit: csi.VolumeUsage_INODES, Total: int64(found.Files), Available: int64(found.Ffree),
			Used: int64(found.Files - found.Ffree)},
	}}, nil
}

// modeOf returns the mode of the path of a volume. The error is NotFound if it does not exist.
func modeOf(id, path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, status.Errorf(codes.NotFound, "volume %s: %s does not exist", id, path)
	case err != nil:
		return 0, status.Errorf(codes.Internal, "reading the state of volume %s at %s: %v", id, path, err)
	}
	return info.Mode(), nil
}
