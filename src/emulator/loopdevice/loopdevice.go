//go:build linux

// Package loopdevice makes files block devices. It needs root and Linux 5.8.
package loopdevice

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attempts bounds how often another program may take the free device first.
const attempts = 100

// Device is a loop device of one file. Linux gives the name of a device whose file was taken away to the next file, and
// then the methods of the former Device leave the new one alone.
type Device struct {
	// Path is the device's name, like /dev/loop0.
	Path string
	// mark is what the program that attached the file has stored with it: Attach stores a random text, others the path
	// of the file. Device and inode of the file are not enough, because an inode is used again.
	mark [64]byte
}

// errGone means that a device no longer has its file.
var errGone = errors.New("it no longer has its file")

// Attach makes a file a block device.
func Attach(path string) (Device, error) {
	device, err := attach(path)
	if err != nil {
		return Device{}, fmt.Errorf("making %s a block device: %w", path, err)
	}
	return device, nil
}

func attach(path string) (device Device, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return device, err
	}
	defer func() { _ = file.Close() }()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return device, err
	}
	defer func() { _ = control.Close() }()
	config := &unix.LoopConfig{Fd: uint32(file.Fd())}
	copy(config.Info.File_name[:], rand.Text())
	for range attempts {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return device, fmt.Errorf("finding a free loop device: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", number)
		err = on(name, os.O_RDWR, func(loop int) error { return unix.IoctlLoopConfigure(loop, config) })
		if !errors.Is(err, unix.EBUSY) {
			return Device{name, config.Info.File_name}, err
		}
	}
	return device, errors.New("other programs take every free loop device")
}

// read is what an open loop device is now, and the number of the block device that it was made of, if any. The error
// wraps ENXIO if it has no file.
func read(name string, loop int) (device Device, below uint64, err error) {
	info, err := unix.IoctlLoopGetStatus64(loop)
	if err != nil {
		return device, 0, err
	}
	return Device{name, info.File_name}, info.Rdevice, nil
}

// on opens a device for a moment: for writing only to change it, because programs like udev take that for a change.
func on(name string, flags int, act func(loop int) error) error {
	loop, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	return errors.Join(act(int(loop.Fd())), loop.Close())
}

// use opens the device for a moment, or returns errGone. It keeps its file meanwhile, because it is open.
func (d Device) use(act func(loop int) error) error {
	return on(d.Path, os.O_RDWR, func(loop int) error {
		now, _, err := read(d.Path, loop)
		switch {
		case errors.Is(err, unix.ENXIO) || err == nil && now != d:
			return errGone
		case err != nil:
			return err
		}
		return act(loop)
	})
}

// Detach takes the file away from the device, if it still has it, and ends the devices that were made of it: a kubelet
// makes one of each raw block volume, and it outlives the machine of the kubelet, because all machines have the same
// kernel. A device that is open stays until the last user closes it.
func (d Device) Detach() error {
	err := d.use(func(loop int) error {
		above, err := madeOf(loop)
		failed := []error{err}
		for _, one := range above {
			failed = append(failed, one.Detach())
		}
		return errors.Join(append(failed, unix.IoctlSetInt(loop, unix.LOOP_CLR_FD, 0))...)
	})
	if err != nil && !errors.Is(err, errGone) {
		return fmt.Errorf("ending block device %s: %w", d.Path, err)
	}
	return nil
}

// madeOf are the loop devices whose file is this open loop device.
func madeOf(loop int) (above []Device, err error) {
	var below unix.Stat_t
	if err := unix.Fstat(loop, &below); err != nil {
		return nil, fmt.Errorf("looking for block devices that were made of it: %w", err)
	}
	all, err := backed()
	for _, one := range all {
		// One that cannot be read is of others, or has just lost its file.
		_ = on(one, os.O_RDONLY, func(loop int) error {
			device, number, err := read(one, loop)
			if err == nil && number == below.Rdev {
				above = append(above, device)
			}
			return err
		})
	}
	return above, err
}

// Resize makes a block device as large as its file is now. It may be open.
func (d Device) Resize() error {
	err := d.use(func(loop int) error { return unix.IoctlSetInt(loop, unix.LOOP_SET_CAPACITY, 0) })
	if err != nil {
		return fmt.Errorf("resizing block device %s: %w", d.Path, err)
	}
	return nil
}

// Below are the block devices of files in a folder, at any depth, by the path of the file.
func Below(folder string) (map[string]Device, error) {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		resolved = folder // it is gone, and devices of its files may be open
	}
	all, err := backed()
	if err != nil {
		return nil, err
	}
	devices := map[string]Device{}
	for _, name := range all {
		if _, ours := fileBelow(resolved, name); !ours {
			continue
		}
		err := on(name, os.O_RDONLY, func(loop int) error {
			device, _, err := read(name, loop)
			if file, ours := fileBelow(resolved, name); err == nil && ours { // it keeps its file while it is open
				devices[filepath.Join(folder, file)] = device
			}
			return err
		})
		if err != nil && !errors.Is(err, unix.ENXIO) { // it has lost its file
			return nil, fmt.Errorf("reading what block device %s is made of: %w", name, err)
		}
	}
	return devices, nil
}

// fileBelow is the file of a device, relative to a folder; false if it is not in the folder, or there is none.
func fileBelow(folder, device string) (string, bool) {
	content, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(string(content)), " (deleted)"), folder+"/")
}

// backed are the names of the loop devices that have a file, of this program or of others.
func backed() (names []string, err error) {
	all, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, fmt.Errorf("listing block devices: %w", err)
	}
	for _, folder := range all {
		names = append(names, "/dev/"+filepath.Base(filepath.Dir(folder)))
	}
	return names, nil
}
