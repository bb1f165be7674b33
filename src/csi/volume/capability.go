package volume

import (
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// AccessModes are the access modes that volumes have: one machine at a time.
func AccessModes() []csi.VolumeCapability_AccessMode_Mode {
	return []csi.VolumeCapability_AccessMode_Mode{
		csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
	}
}

// CheckCapabilities returns an InvalidArgument error if a capability is missing or cannot be served.
func CheckCapabilities(capabilities []*csi.VolumeCapability) error {
	if len(capabilities) == 0 {
		return status.Error(codes.InvalidArgument, "volume capabilities are missing")
	}
	for _, one := range capabilities {
		if err := CheckCapability(one); err != nil {
			return err
		}
	}
	return nil
}

// CheckCapability is CheckCapabilities for one capability.
func CheckCapability(one *csi.VolumeCapability) error {
	switch {
	case one == nil:
		return CheckCapabilities(nil)
	case one.GetAccessMode() == nil:
		return status.Error(codes.InvalidArgument, "the access mode of a volume capability is missing")
	case !slices.Contains(AccessModes(), one.GetAccessMode().GetMode()):
		return status.Errorf(codes.InvalidArgument, "access mode %s is not supported, because a volume can be "+
			"attached to one machine at a time; use the access mode ReadWriteOnce or ReadWriteOncePod",
			one.GetAccessMode().GetMode())
	case one.GetMount() == nil && one.GetBlock() == nil:
		return status.Error(codes.InvalidArgument, "the access type of a volume capability is missing: want mount or "+
			"block")
	}
	return nil
}
