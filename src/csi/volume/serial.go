package volume

import (
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const (
	// SerialKey is the key in the publish context of the serial number that the device of an attached volume has in the
	// machine. It is missing if the cloud names none, and for volumes that an earlier driver attached: then the serial
	// number is the identity of the volume.
	SerialKey = "csi.k8s.thalassa.cloud/serial"
	// WholeSerialKey is the key in the publish context that requires a device with the whole serial number, because the
	// beginning may be that of another volume.
	WholeSerialKey = "csi.k8s.thalassa.cloud/whole-serial"
	// SerialCut is how many characters of a serial number a device has at least, if it is longer: that is the limit of
	// virtio, NVMe and ATA.
	SerialCut = 20
)

// SimilarSerials reports whether the devices of two volumes may have the same serial number, because it is cut.
func SimilarSerials(a, b resource.Volume) bool {
	return slices.ContainsFunc(serials(a), func(serial string) bool {
		return len(serial) >= SerialCut && BeginsSerial(serial[:SerialCut], b)
	})
}

// BeginsSerial reports whether a serial number that the device of a volume may have begins with a text.
func BeginsSerial(beginning string, v resource.Volume) bool {
	return slices.ContainsFunc(serials(v), func(serial string) bool { return strings.HasPrefix(serial, beginning) })
}

// serials returns the serial numbers that the device of a volume may have.
func serials(v resource.Volume) []string {
	all := []string{v.ID}
	for _, a := range v.Attachments {
		if a.Serial != "" {
			all = append(all, a.Serial)
		}
	}
	return all
}
