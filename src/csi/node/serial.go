package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

const (
	// vpdHeader is the length of what precedes the serial number in the vital product data of SCSI devices.
	vpdHeader = 4
	// longCut is how many characters of a serial number the SCSI disks of QEMU have at most. The limit of other buses
	// is volume.SerialCut.
	longCut = 36
)

// serialNumber is that of a volume.
type serialNumber struct {
	Value string `json:"value"`
	// Whole requires a device with all of it, because the beginning may be that of another volume.
	Whole bool `json:"whole"`
}

// fits reports whether the disk has the serial number, or as much of it as its bus can have.
func (s serialNumber) fits(f disk) bool {
	return f.serial == s.Value || !s.Whole && s.beginsWith(f.serial)
}

// beginsWith reports whether a device may have the part of the serial number.
func (s serialNumber) beginsWith(part string) bool {
	return (len(part) == volume.SerialCut || len(part) == longCut) && strings.HasPrefix(s.Value, part)
}

// disk is a block device as the kernel describes it.
type disk struct {
	name   string
	serial string // empty if it has none
	err    error  // the reason why its serial number cannot be read
}

// disks returns the block devices of the machine that have a serial number, or should have one: those of hardware. That
// leaves out partitions, and what the kernel makes of other devices.
func (d Devices) disks() ([]disk, error) {
	entries, err := os.ReadDir(d.Sys)
	if err != nil {
		return nil, err
	}
	var found []disk
	for _, entry := range entries {
		folder := filepath.Join(d.Sys, entry.Name())
		// NVMe has a hidden device for each path to a disk, with the serial number of the disk.
		if hidden, err := os.ReadFile(filepath.Join(folder, "hidden")); err == nil && trimmed(hidden) == "1" {
			continue
		}
		serial, err := serialOf(folder)
		if _, missing := os.Stat(filepath.Join(folder, "device")); serial == "" && err == nil && missing != nil {
			continue
		}
		found = append(found, disk{entry.Name(), serial, err})
	}
	return found, nil
}

// serialOf returns the serial number in a block device's folder of sysfs; it is empty if there is none.
func serialOf(folder string) (string, error) {
	for _, file := range []struct {
		name   string
		header int
	}{{"device/vpd_pg80", vpdHeader}, {"serial", 0}, {"device/serial", 0}} { // SCSI and ATA, virtio, NVMe
		content, err := os.ReadFile(filepath.Join(folder, file.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if len(content) > file.header {
			return trimmed(content[file.header:]), nil
		}
	}
	return "", nil
}

// trimmed returns a value without what devices fill it up with.
func trimmed(value []byte) string { return string(bytes.Trim(value, " \n\x00")) }

// String describes the disk in errors.
func (f disk) String() string {
	switch {
	case f.err != nil:
		return fmt.Sprintf("%s, whose serial number cannot be read (%v)", f.name, f.err)
	case f.serial == "":
		return f.name + " without a serial number"
	}
	return fmt.Sprintf("%s with %q", f.name, f.serial)
}

// record returns the file with the serial number of a volume. Most requests after the one to stage it do not have the
// number.
func (d Devices) record(id string) string {
	return filepath.Join(d.Serials, url.PathEscape(id)+".serial")
}

// remember keeps the serial number in the publish context of a volume. Nothing is kept of one that is the identity of
// the volume, which it is without a context.
func (d Devices) remember(id string, publishContext map[string]string) error {
	given := serialNumber{cmp.Or(publishContext[volume.SerialKey], id), publishContext[volume.WholeSerialKey] == "true"}
	if given == (serialNumber{Value: id}) {
		if err := os.Remove(d.record(id)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	content, err := json.Marshal(given)
	return cmp.Or(err, os.MkdirAll(d.Serials, directoryMode), os.WriteFile(d.record(id), content, recordMode))
}

// remembered returns the serial number of the device of a volume.
func (d Devices) remembered(id string) (kept serialNumber, err error) {
	content, err := os.ReadFile(d.record(id))
	if errors.Is(err, fs.ErrNotExist) {
		return serialNumber{Value: id}, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	return kept, err
}
