package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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

// hasSerial reports whether the kernel knows no serial number of a device, or the one that contains the identity. The
// link of a volume that was attached before may still refer to its former device, which another volume may have now.
// sys has a folder for each block device.
func hasSerial(sys, device, id string) bool {
	block := filepath.Join(sys, filepath.Base(device))
	for _, file := range []string{"device/vpd_pg80", "serial"} { // SCSI, virtio
		if serial, err := os.ReadFile(filepath.Join(block, file)); err == nil {
			return bytes.Contains(serial, []byte(id))
		}
	}
	return true
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
