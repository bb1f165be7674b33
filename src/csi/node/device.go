package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Devices is the directory of the links to the disks of the machine by their serial numbers.
type Devices string

// DefaultDevices is the directory in which udev makes the links.
const DefaultDevices Devices = "/dev/disk/by-id"

// linkPrefix begins the names of the links; the identity of the volume, which is its serial number, follows.
const linkPrefix = "scsi-0QEMU_QEMU_HARDDISK_"

const (
	// sysBlock has a folder for each block device.
	sysBlock = "/sys/class/block"
	// serialHeader is the length of what precedes the serial number in the vital product data of SCSI devices.
	serialHeader = 4
	// checkedSize is how much of a device must be readable. It has the signatures of filesystems and partitions.
	checkedSize = 1 << 20
	// lookInterval is the time between two looks for a device that was attached just now.
	lookInterval = 200 * time.Millisecond
	// maxLook is how long a request waits for a device.
	maxLook = 30 * time.Second
)

// Find returns the path of the device of a volume, without links. The error is NotFound if there is none.
func (d Devices) Find(id string) (string, error) {
	link := d.link(id)
	device, err := filepath.EvalSymlinks(link)
	if errors.Is(err, fs.ErrNotExist) {
		return "", status.Errorf(codes.NotFound, "volume %s has no device on this machine: %s does not exist", id, link)
	}
	if err != nil {
		return "", status.Errorf(codes.Internal, "looking up the device of volume %s: %v", id, err)
	}
	if !hasSerial(sysBlock, device, id) {
		return "", status.Errorf(codes.NotFound, "volume %s has no device on this machine: %s refers to %s, which has "+
			"another serial number", id, link, device)
	}
	return device, nil
}

// hasSerial reports whether the kernel knows no serial number of a device, or the identity is that number. The link of
// a volume that was attached before may still refer to its former device, which another volume may have now. sys has a
// folder for each block device.
func hasSerial(sys, device, id string) bool {
	block := filepath.Join(sys, filepath.Base(device))
	if page, err := os.ReadFile(filepath.Join(block, "device/vpd_pg80")); err == nil { // SCSI
		return len(page) >= serialHeader && trimmed(page[serialHeader:]) == id
	}
	if serial, err := os.ReadFile(filepath.Join(block, "serial")); err == nil { // virtio
		return trimmed(serial) == id
	}
	return true
}

// trimmed returns a serial number without what devices fill it up with.
func trimmed(serial []byte) string { return string(bytes.Trim(serial, " \n\x00")) }

// check returns an error unless the volume still has the device, and its beginning can be read. Mounting formats a
// device on which blkid finds nothing, and blkid finds nothing on one that has disappeared or cannot be read.
func (d Devices) check(id, device string) error {
	file, err := os.Open(device)
	if err == nil {
		_, err = io.CopyN(io.Discard, file, checkedSize)
		_ = file.Close()
	}
	if err != nil {
		return status.Errorf(codes.Internal, "reading the beginning of the device %s of volume %s: %v; it is not "+
			"formatted; it is retried", device, id, err)
	}
	if found, err := d.Find(id); err != nil || found != device {
		return status.Errorf(codes.Unavailable, "volume %s had the device %s, and has %q now (%v); it is not "+
			"formatted; it is retried", id, device, found, err)
	}
	return nil
}

func (d Devices) link(id string) string {
	return filepath.Join(string(d), linkPrefix+filepath.Base(id))
}

// Wait is Find for a volume whose device may appear only in a moment. The error is Unavailable if it does not.
func (d Devices) Wait(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	for {
		device, err := d.Find(id)
		if status.Code(err) != codes.NotFound {
			return device, err
		}
		select {
		case <-time.After(lookInterval):
		case <-ctx.Done():
			return "", status.Errorf(codes.Unavailable, "volume %s is attached, and its device has not appeared: %s; "+
				"it is retried; if the problem persists, restart the machine", id, status.Convert(err).Message())
		}
	}
}

// sizeOf returns the size of a block device, or of a file, in bytes.
func sizeOf(device string) (int64, error) {
	file, err := os.Open(device)
	if err != nil {
		return 0, fmt.Errorf("opening the device: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, 2)
	if err != nil {
		return 0, fmt.Errorf("reading the size of %s: %w", device, err)
	}
	return size, nil
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
