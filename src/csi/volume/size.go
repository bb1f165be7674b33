package volume

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Sizes of volumes in GiB, as in the CSI driver that this one replaces.
const (
	MinSize     = 1
	DefaultSize = 16
	MaxSize     = 16 << 10
)

// Size returns the size in GiB for a range of bytes: what is required, rounded up, and at least atLeast GiB, which is
// the size of what the volume is made from. Without a requirement it is DefaultSize, or less if the limit says so. The
// error is OutOfRange if there is no such size.
func Size(capacity *csi.CapacityRange, atLeast int64) (int64, error) {
	required, limit := capacity.GetRequiredBytes(), capacity.GetLimitBytes()
	if required < 0 || limit < 0 || limit > 0 && required > limit {
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d bytes are required and %d are the limit; want a "+
			"requirement that is not above the limit", required, limit)
	}
	size := roundUp(required)
	if required == 0 {
		size = DefaultSize
		if limit > 0 {
			size = min(size, limit/resource.GiB)
		}
	}
	size = max(size, MinSize)
	if size < atLeast {
		if required > 0 {
			return 0, status.Errorf(codes.OutOfRange, "capacity range: %d bytes are required, which is less than the "+
				"%d GiB of the source; request at least %dGi", required, atLeast, atLeast)
		}
		size = atLeast
	}
	switch {
	case limit > 0 && size*resource.GiB > limit:
		return 0, status.Errorf(codes.OutOfRange, "capacity range: the limit is %d bytes, and the smallest volume "+
			"that satisfies the request has %d GiB; sizes are whole GiB", limit, size)
	case size > MaxSize:
		return 0, status.Errorf(codes.OutOfRange, "capacity range: %d GiB are required, and volumes have at most "+
			"%d GiB", size, MaxSize)
	}
	return size, nil
}

// roundUp returns bytes in GiB, rounded up.
func roundUp(bytes int64) int64 { return (bytes-1)/resource.GiB + min(bytes, 1) }
