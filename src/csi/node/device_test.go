package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

const (
	// identity is that of a volume, and vpd what precedes it in the vital product data of a SCSI disk.
	identity = "v-0123456789abcdefghij"
	vpd      = "\x00\x80\x00\x16"
)

// The kernel shows a serial number in a file that depends on the bus, and as much of it as the bus can have.
func TestDeviceOfASerialNumber(t *testing.T) {
	r := newRig(t)
	for _, shown := range []struct{ device, file, value string }{
		{"sda", "device/vpd_pg80", vpd + "v-other"}, {"vda", "serial", "v-0123456789abcdefgz"},
		{"nvme0n1", "device/serial", "v-other             \n"}, {"vda1", "partition", "1"}, {"loop7", "size", "8"},
		{"nvme1c0n1", "device/serial", "v-012345             \n"}, {"nvme1c0n1", "hidden", "1\n"},
		{"sdb", "device/vpd_pg80", vpd + identity}, {"vdb", "serial", "v-01234567"},
		{"vdc", "serial", "v-abcdefghijklmnopqr"}, {"nvme1n1", "device/serial", "v-012345             \n"},
		{"sdc", "device/vpd_pg80", vpd + "01234567-89ab-cdef-0123-456789abcdef"},
		{"sdd", "device/vpd_pg80", vpd + "v-short "},
	} {
		r.shows(shown.device, shown.file, shown.value)
	}
	for serial, want := range map[string]string{identity: "sdb", "v-01234567": "vdb", "v-012345": "nvme1n1",
		"v-abcdefghijklmnopqrst": "vdc", "v-abcdefghijklmnopqr": "vdc", "v-short": "sdd",
		"01234567-89ab-cdef-0123-456789abcdef-2": "sdc"} {
		if got, err := r.Devices.Find(serial); err != nil || got != filepath.Join(r.folder, want) {
			t.Errorf("%s has the device %q, %v; want %s", serial, got, err, want)
		}
	}
	for _, serial := range []string{"v-0123456789", "v-0", "v-short-of-nothing"} {
		_, err := r.Devices.Find(serial)
		r.fails(err, codes.NotFound, "volume "+serial+" has no device on this machine", r.Devices.Sys,
			`no disk has the serial number "`+serial+`"`, `sdb with "`+identity+`"`)
	}
}

// A disk is not believed to be a volume if it may be another one.
func TestDeviceIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		shown [][3]string // device, file, value
		code  codes.Code
		texts []string
	}{
		"no serial number": {[][3]string{{"sdb", "device/vpd_pg83", "x"}}, codes.NotFound,
			[]string{"has no device", "the disks are: sdb without a serial number", "is not used", "kernel log"}},
		"only a part of the vital product data": {[][3]string{{"sdb", "device/vpd_pg80", vpd[:2]}}, codes.NotFound,
			[]string{"the disks are: sdb without a serial number", "is not used"}},
		"an empty one": {[][3]string{{"vdb", "serial", ""}, {"vdb", "device/driver", "x"}}, codes.NotFound,
			[]string{"the disks are: vdb without a serial number", "is not used"}},
		"one that cannot be read": {[][3]string{{"vdb", "serial/folder", ""}}, codes.NotFound,
			[]string{"the disks are: vdb, whose serial number cannot be read (", "is a directory", "kernel log"}},
		"no disk": {nil, codes.NotFound, []string{"the disks are: none"}},
		"two with the beginning": {[][3]string{{"vdb", "serial", identity[:20]}, {"vdc", "serial", identity[:20]}},
			codes.Unavailable, []string{"may have several devices", `vdb with "` + identity[:20] + `", vdc with`,
				"none is used", "move the pods"}},
		"the whole one and the beginning": {[][3]string{{"sdb", "device/vpd_pg80", vpd + identity},
			{"vdb", "serial", identity[:20]}}, codes.Unavailable, []string{"may have several devices"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for _, shown := range c.shown {
				r.shows(shown[0], shown[1], shown[2])
			}
			_, err := r.Devices.Find(identity)
			r.fails(err, c.code, append(c.texts, "volume "+identity)...)
		})
	}
	r := newRig(t)
	r.ok(r.Devices.remember(identity, map[string]string{volume.WholeSerialKey: "true"}))
	r.shows("vdb", "serial", identity[:20])
	_, err := r.Devices.Find(identity)
	r.fails(err, codes.NotFound, "a disk with the beginning of the number is not used", "use a clone", "vdb with")
	r.shows("sdb", "device/vpd_pg80", vpd+identity)
	if device, err := r.Devices.Find(identity); err != nil || filepath.Base(device) != "sdb" {
		t.Errorf("%s, %v; want the device with the whole number", device, err)
	}
	r.Devices.Sys += "/none"
	_, err = r.Devices.Find(identity)
	r.fails(err, codes.Unavailable, "looking up the device of volume "+identity, "no such file")
}

// The serial number that the cloud names counts in all requests, also in those that do not have it, and after a
// restart.
func TestSerialNumberOfTheCloud(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	device := r.device("serial-1", 1<<20)
	_, err := r.NodeStageVolume(t.Context(), &csi.NodeStageVolumeRequest{VolumeId: "v-1",
		StagingTargetPath: r.staging("v-1"), VolumeCapability: capability(""),
		VolumeContext:  map[string]string{volume.CreatedEmpty: ""},
		PublishContext: map[string]string{volume.SerialKey: "serial-1"}})
	r.ok(err)
	if found, _, _ := r.options(r.staging("v-1")); found != device {
		t.Errorf("%s is mounted, want %s", found, device)
	}
	r.Node = New(r.Options)
	r.ok(r.publishVolume("v-1", "pod-1", capability(""), false))
	r.ok(r.expandVolume("v-1"))
	if got := r.health("v-1", "pod-1"); got != "" {
		t.Errorf("health %q, want nothing", got)
	}
	r.ok(r.unpublishVolume("v-1", "pod-1"))
	r.ok(r.unstageVolume("v-1"))
	if left, err := os.ReadDir(r.Devices.Serials); err != nil || len(left) > 0 {
		t.Errorf("the records %v are left, %v", left, err)
	}
	r.ok(r.stageVolume("v-1", capability("")))
	if found, _, _ := r.options(r.staging("v-1")); found != filepath.Join(r.folder, "disk-v-1") {
		t.Errorf("%s is mounted, want the device with the identity of the volume", found)
	}
}

// Nobody knows yet that the serial number that the real cloud names is the one that its machines show.
func TestIdentityIsTheSerialNumber(t *testing.T) {
	for shown, whole := range map[string]string{identity: "true", identity[:20]: ""} {
		r := newRig(t)
		r.shows("vdb", "serial", shown)
		r.ok(r.Devices.remember(identity,
			map[string]string{volume.SerialKey: "serial-1", volume.WholeSerialKey: whole}))
		if found, err := r.Devices.Find(identity); err != nil || filepath.Base(found) != "vdb" {
			t.Errorf("the device is %q, %v; want the one with the identity of the volume", found, err)
		}
	}
	r := newRig(t)
	r.shows("vdb", "serial", identity[:20])
	r.ok(r.Devices.remember(identity, map[string]string{volume.SerialKey: "serial-1", volume.WholeSerialKey: "true"}))
	_, err := r.Devices.Find(identity)
	r.fails(err, codes.NotFound, "a disk with the beginning of the number is not used")
}

// Linux may miss that a SCSI disk has grown. It reads the size again if that is written into a file.
func TestMissedGrowth(t *testing.T) {
	r := newRig(t)
	// This disk has no bytes until its size is read again, and one byte after that.
	device := r.device("v-1", 0)
	rescan := filepath.Join(r.Devices.Sys, filepath.Base(device), "device", "rescan")
	r.shows(device, "device/vpd_pg80", vpd+"v-1")
	r.ok(os.Symlink(device, rescan))
	request := &csi.NodeExpandVolumeRequest{VolumeId: "v-1", VolumePath: r.staging("v-1"), VolumeCapability: block(),
		CapacityRange: &csi.CapacityRange{RequiredBytes: 1}}
	expanded, err := r.NodeExpandVolume(t.Context(), request)
	if err != nil || expanded.GetCapacityBytes() != 1 {
		t.Errorf("%v, %v; want one byte", expanded, err)
	}
	request.CapacityRange.RequiredBytes = 2
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.Unavailable, "has 1 bytes on this machine, and 2 are required")

	r.ok(os.Truncate(device, 0))
	r.ok(r.stageVolume("v-1", block()))
	if size, err := sizeOf(device); err != nil || size != 1 {
		t.Errorf("a staged disk has %d bytes, %v; want one, because its size was read again", size, err)
	}
	r.ok(os.Remove(rescan))
	r.ok(os.Mkdir(rescan, 0o700))
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.Internal, "reading the size of "+device+" from the disk again")
	r.ok(r.stageVolume("v-1", block()))
}
