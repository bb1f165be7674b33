package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Devices are the disks of the machine. A volume has the one with its serial number.
type Devices struct {
	Sys     string // has a folder for each block device, with its serial number
	Nodes   string // has the device nodes
	Serials string // has a file for each staged volume whose serial number is not its identity
}

const (
	// DefaultSys is where the kernel describes block devices.
	DefaultSys = "/sys/class/block"
	// DefaultNodes is where the device nodes are.
	DefaultNodes = "/dev"
)

const (
	// recordMode is the mode of the files in Devices.Serials.
	recordMode = 0o640
	// checkedSize is how much of a device must be readable. It has the signatures of filesystems and partitions.
	checkedSize = 1 << 20
	// lookInterval is the time between two looks for a device that was attached just now.
	lookInterval = 200 * time.Millisecond
	// maxLook is how long a request waits for a device.
	maxLook = 30 * time.Second
)

// Find returns the path of the device of a volume. The error is NotFound if there is none. Links by serial numbers are
// not used, because they may still refer to the former device of a volume, which another volume may have now. If no
// disk has the serial number that the cloud names, or its beginning, one with the identity of the volume is its device,
// as for the former driver.
func (d Devices) Find(id string) (string, error) {
	wanted, err := d.remembered(id)
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "reading the serial number of volume %s: %v; it is retried", id,
			err)
	}
	all, err := d.disks()
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "looking up the device of volume %s: %v; it is retried", id, err)
	}
	identity := serialNumber{id, wanted.Whole}
	fitting := those(all, wanted.fits)
	if len(fitting) == 0 {
		fitting = those(all, identity.fits)
	}
	switch len(fitting) {
	case 1:
		return filepath.Join(d.Nodes, fitting[0].name), nil
	case 0:
		return "", status.Errorf(codes.NotFound, "volume %s has no device on this machine: in %s, no disk has the "+
			"serial number %q; %sthe disks are: %s", id, d.Sys, wanted.Value, advice(all, wanted, identity), list(all))
	}
	return "", status.Errorf(codes.Unavailable, "volume %s may have several devices on this machine: in %s, more than "+
		"one disk fits the serial number %q: %s; it is not known which one is the volume, so none is used; move the "+
		"pods of the other volume to another Node; it is retried", id, d.Sys, wanted.Value, list(fitting))
}

// those returns the disks of which is is true.
func those(disks []disk, is func(disk) bool) []disk {
	return slices.DeleteFunc(slices.Clone(disks), func(f disk) bool { return !is(f) })
}

// list describes disks.
func list(disks []disk) string {
	var texts []string
	for _, f := range disks {
		texts = append(texts, f.String())
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// advice is what to do about disks that are not used, although one of them may be the volume.
func advice(disks []disk, wanted, identity serialNumber) string {
	switch {
	case slices.ContainsFunc(disks, func(f disk) bool {
		return wanted.beginsWith(f.serial) || identity.beginsWith(f.serial)
	}):
		return "a disk with the beginning of the number is not used, because it may be another volume whose number " +
			"begins in the same way: use a clone of this volume instead; "
	case slices.ContainsFunc(disks, func(f disk) bool { return f.serial == "" }):
		return "a disk without a serial number is not used, because it may be another volume: look for its errors in " +
			"the kernel log of the machine; "
	}
	return ""
}

// check returns the offset of the first byte in the beginning of the device that is not zero, and -1 if there is none.
// The error is about a volume that does not have the device any more, or whose beginning cannot be read: blkid finds
// nothing on a device that has disappeared or cannot be read.
func (d Devices) check(id string, device *os.File) (offset int, err error) {
	beginning := make([]byte, checkedSize)
	if _, err := device.ReadAt(beginning, 0); err != nil {
		return 0, status.Errorf(codes.Internal, "reading the beginning of the device %s of volume %s: %v; it is not "+
			"formatted; it is retried", device.Name(), id, err)
	}
	if found, err := d.Find(id); err != nil || found != device.Name() {
		return 0, status.Errorf(codes.Unavailable, "volume %s had the device %s, and has %q now (%v); it is not "+
			"formatted; it is retried", id, device.Name(), found, err)
	}
	return slices.IndexFunc(beginning, func(one byte) bool { return one != 0 }), nil
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
			return "", status.Errorf(codes.Unavailable, "volume %s is attached, and its device has not appeared; it "+
				"is retried; if the problem persists, restart the machine: %s", id, status.Convert(err).Message())
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

// sizeFor returns the size of a device. If it is less than wanted, Linux reads it from the disk again.
func (d Devices) sizeFor(device string, wanted int64) (int64, error) {
	size, err := sizeOf(device)
	if err != nil || size >= wanted {
		return size, err
	}
	if err := d.rescan(device); err != nil {
		return 0, err
	}
	return sizeOf(device)
}

// rescan makes Linux read the size of a SCSI disk, whose growth it may have missed. Disks of other buses announce it,
// and have no such file.
func (d Devices) rescan(device string) error {
	file, err := os.OpenFile(filepath.Join(d.Sys, filepath.Base(device), "device", "rescan"), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = file.WriteString("1")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("reading the size of %s from the disk again: %w", device, err)
	}
	return nil
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
