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
	if err := checkRange(capacity); err != nil {
		return 0, err
	}
	required, limit := capacity.GetRequiredBytes(), capacity.GetLimitBytes()
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
	if err := checkSize(size, limit); err != nil {
		return 0, err
	}
	return size, nil
}

// ExpandedSize returns the size in GiB that a volume of present GiB has after an expansion to a range of bytes. Without
// a requirement, that is the present size. The error is OutOfRange if the volume is larger than the limit already, or
// if there is no such size.
func ExpandedSize(capacity *csi.CapacityRange, present int64) (int64, error) {
	if err := CheckLimit(capacity, present*resource.GiB); err != nil {
		return 0, err
	}
	size := roundUp(capacity.GetRequiredBytes())
	if size <= present {
		return present, nil
	}
	if err := checkSize(size, capacity.GetLimitBytes()); err != nil {
		return 0, err
	}
	return size, nil
}

// CheckLimit returns an OutOfRange error if a volume of a number of bytes is larger than the limit of the range, or if
// no volume could have a size in the range.
func CheckLimit(capacity *csi.CapacityRange, present int64) error {
	if err := checkRange(capacity); err != nil {
		return err
	}
	if limit := capacity.GetLimitBytes(); limit > 0 && present > limit {
		return status.Errorf(codes.OutOfRange, "capacity range: the limit is %d bytes, and the volume has %d already; "+
			"volumes do not become smaller", limit, present)
	}
	return nil
}

// checkRange returns an OutOfRange error for a range without any size.
func checkRange(capacity *csi.CapacityRange) error {
	required, limit := capacity.GetRequiredBytes(), capacity.GetLimitBytes()
	if required < 0 || limit < 0 || limit > 0 && required > limit {
		return status.Errorf(codes.OutOfRange, "capacity range: %d bytes are required and %d are the limit; want a "+
			"requirement that is not above the limit", required, limit)
	}
	return nil
}

// checkSize returns an OutOfRange error for a size in GiB above the limit in bytes, or above that of any volume.
func checkSize(size, limit int64) error {
	switch {
	case limit > 0 && size*resource.GiB > limit:
		return status.Errorf(codes.OutOfRange, "capacity range: the limit is %d bytes, and the smallest volume "+
			"that satisfies the request has %d GiB; sizes are whole GiB", limit, size)
	case size > MaxSize:
		return status.Errorf(codes.OutOfRange, "capacity range: %d GiB are required, and volumes have at most "+
			"%d GiB", size, MaxSize)
	}
	return nil
}

// roundUp returns bytes in GiB, rounded up.
func roundUp(bytes int64) int64 { return (bytes-1)/resource.GiB + min(bytes, 1) }
