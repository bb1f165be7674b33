//go:build linux

// Package loopdevice makes files block devices. It needs root and Linux 5.8.
package loopdevice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attempts bounds how often another program may take the free device first.
const attempts = 100

// Attach makes a file a block device, and returns the device's path.
func Attach(path string) (device string, err error) {
	if device, err = attach(path); err != nil {
		return "", fmt.Errorf("making %s a block device: %w", path, err)
	}
	return device, nil
}

func attach(path string) (device string, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = control.Close() }()
	for range attempts {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("finding a free loop device: %w", err)
		}
		device = fmt.Sprintf("/dev/loop%d", number)
		err = on(device, func(loop int) error {
			return unix.IoctlLoopConfigure(loop, &unix.LoopConfig{Fd: uint32(file.Fd())})
		})
		if !errors.Is(err, unix.EBUSY) {
			return device, err
		}
	}
	return "", errors.New("other programs take every free loop device")
}

// Detach ends a block device, and those that were made of it: a kubelet makes one of each raw block volume, and it
// outlives the machine of the kubelet, because all machines have the same kernel. A device that is open stays until
// the last user closes it.
func Detach(device string) error {
	above, err := madeOf(device)
	failed := []error{err}
	for _, one := range append(above, device) {
		failed = append(failed, detach(one))
	}
	return errors.Join(failed...)
}

func detach(device string) error {
	err := on(device, func(loop int) error { return unix.IoctlSetInt(loop, unix.LOOP_CLR_FD, 0) })
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("ending block device %s: %w", device, err)
	}
	return nil
}

// madeOf are the block devices whose file is a block device.
func madeOf(device string) (above []string, err error) {
	var below unix.Stat_t
	if err := unix.Stat(device, &below); err != nil {
		return nil, fmt.Errorf("looking for block devices made of %s: %w", device, err)
	}
	all, err := backed()
	for _, one := range all {
		info, err := statusOf(one)
		if err == nil && info.Rdevice == below.Rdev { // a device without a status has just ended
			above = append(above, one)
		}
	}
	return above, err
}

// statusOf does not open the device for writing, which programs like udev take for a change.
func statusOf(device string) (*unix.LoopInfo64, error) {
	loop, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer func() { _ = loop.Close() }()
	return unix.IoctlLoopGetStatus64(int(loop.Fd()))
}

// Resize makes a block device as large as its file is now. It may be open.
func Resize(device string) error {
	err := on(device, func(loop int) error { return unix.IoctlSetInt(loop, unix.LOOP_SET_CAPACITY, 0) })
	if err != nil {
		return fmt.Errorf("resizing block device %s: %w", device, err)
	}
	return nil
}

// on opens a device for a moment.
func on(device string, act func(loop int) error) error {
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(act(int(loop.Fd())), loop.Close())
}

// Below are the block devices of files in a folder, at any depth, by the path of the file.
func Below(folder string) (map[string]string, error) {
	all, err := backed()
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		resolved = folder // it is gone, and devices of its files may be open
	}
	devices := map[string]string{}
	for _, device := range all {
		content, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
		if err != nil {
			continue // it has just ended
		}
		file := strings.TrimSuffix(strings.TrimSpace(string(content)), " (deleted)")
		if below, found := strings.CutPrefix(file, resolved+"/"); found {
			devices[filepath.Join(folder, below)] = device
		}
	}
	return devices, nil
}

// backed are the loop devices that have a file.
func backed() (devices []string, err error) {
	all, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, fmt.Errorf("listing block devices: %w", err)
	}
	for _, name := range all {
		devices = append(devices, "/dev/"+filepath.Base(filepath.Dir(name)))
	}
	return devices, nil
}
