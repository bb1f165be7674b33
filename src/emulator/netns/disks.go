//go:build linux

package netns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// diskFolder is where every run has a folder with its volumes. They may be large,
// so it is not in /run, which is in memory.
const diskFolder = "/var/lib/thalassa-emulator"

// diskLink is what the names of block devices in machines begin with. The serial
// number of the disk, which is the identity of the volume, follows.
const diskLink = "scsi-0QEMU_QEMU_HARDDISK_"

// disks are the volumes of a plane, as sparse files, and as block devices where
// they are attached to machines.
type disks struct {
	folder  string
	volumes map[string]*disk
	// snapshots are those that were copied.
	snapshots map[string]bool
}

// disk is a volume.
type disk struct {
	file   string
	size   int64
	link   string // to the device; empty if it is attached to no machine
	device loopdevice.Device
}

func newDisks(r *run) (*disks, error) {
	d := &disks{folder: filepath.Join(diskFolder, r.name), volumes: map[string]*disk{}, snapshots: map[string]bool{}}
	for _, part := range []string{d.volume(""), d.snapshot("")} {
		if err := os.MkdirAll(part, 0o755); err != nil {
			return nil, fmt.Errorf("making the folder of volumes: %w", err)
		}
	}
	return d, nil
}

func (d *disks) volume(identity string) string { return filepath.Join(d.folder, "volumes", identity) }
func (d *disks) snapshot(identity string) string {
	return filepath.Join(d.folder, "snapshots", identity)
}

// addMachine makes the folder with the links of a machine.
func (d *disks) addMachine(name string) (string, error) {
	path := filepath.Join(d.folder, "machines", name, "disk-by-id")
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fmt.Errorf("making the folder of block devices: %w", err)
	}
	return path, nil
}

// removeMachine removes that folder.
func (d *disks) removeMachine(path string) error { return os.RemoveAll(filepath.Dir(path)) }

// wire makes volumes and snapshots as described. Links finds the folder of a
// machine. What is copied is copied before anything is changed.
func (d *disks) wire(network traffic.Network, links func(machine string) string) error {
	var failed []error
	for _, v := range network.Volumes {
		if v.Snapshot == "" {
			failed = append(failed, d.makeVolume(v))
		}
	}
	for _, s := range network.Snapshots {
		failed = append(failed, d.takeSnapshot(s))
	}
	for _, v := range network.Volumes {
		failed = append(failed, d.makeVolume(v), d.grow(v), d.detach(v, links(v.Machine)))
	}
	failed = append(failed, d.drop(network))
	for _, v := range network.Volumes {
		failed = append(failed, d.attach(v, links(v.Machine)))
	}
	return errors.Join(failed...)
}

// makeVolume makes the file of a new volume.
func (d *disks) makeVolume(v traffic.Volume) error {
	if d.volumes[v.Identity] != nil {
		return nil
	}
	next := &disk{file: d.volume(v.Identity), size: v.Size}
	source := ""
	if v.Snapshot != "" {
		source = d.snapshot(v.Snapshot)
	}
	if err := makeFile(next.file, source, v.Size); err != nil {
		return fmt.Errorf("making volume %s: %w", v.Identity, err)
	}
	d.volumes[v.Identity] = next
	return nil
}

// takeSnapshot copies the file of a volume for a new snapshot.
func (d *disks) takeSnapshot(s traffic.Snapshot) error {
	if d.snapshots[s.Identity] {
		return nil
	}
	if err := makeFile(d.snapshot(s.Identity), d.volume(s.Volume), s.Size); err != nil {
		return fmt.Errorf("making snapshot %s: %w", s.Identity, err)
	}
	d.snapshots[s.Identity] = true
	return nil
}

// grow makes a volume larger.
func (d *disks) grow(v traffic.Volume) error {
	now := d.volumes[v.Identity]
	if now == nil || now.size >= v.Size {
		return nil
	}
	err := os.Truncate(now.file, v.Size)
	if err == nil && now.link != "" {
		err = now.device.Resize()
	}
	if err != nil {
		return fmt.Errorf("resizing volume %s: %w", v.Identity, err)
	}
	now.size = v.Size
	return nil
}

// detach takes the device of a volume away from a machine, unless it is to have it.
func (d *disks) detach(v traffic.Volume, folder string) error {
	now := d.volumes[v.Identity]
	if now == nil || now.link == "" || folder != "" && filepath.Dir(now.link) == folder {
		return nil
	}
	return now.release()
}

// release removes the link and the device. A device that is open stays until it is closed.
func (d *disk) release() error {
	if d.link == "" {
		return nil
	}
	if err := errors.Join(os.RemoveAll(d.description()), os.RemoveAll(d.link)); err != nil {
		return fmt.Errorf("removing the link to a block device: %w", err)
	}
	if err := d.device.Detach(); err != nil {
		return err
	}
	d.link = ""
	return nil
}

// attach gives a machine the device of a volume, once nobody else has it open.
func (d *disks) attach(v traffic.Volume, folder string) error {
	now := d.volumes[v.Identity]
	if now == nil || folder == "" || now.link != "" {
		return nil
	}
	devices, err := loopdevice.Below(d.folder)
	if err != nil {
		return err
	}
	if device, open := devices[now.file]; open {
		return fmt.Errorf("attaching volume %s: its device %s is still open where it was attached before; close it",
			v.Identity, device.Path)
	}
	device, err := loopdevice.Attach(now.file)
	if err != nil {
		return fmt.Errorf("attaching volume %s: %w", v.Identity, err)
	}
	now.device, now.link = device, filepath.Join(folder, diskLink+v.Identity)
	err = errors.Join(os.Mkdir(now.description(), 0o755),
		os.WriteFile(filepath.Join(now.description(), "serial"), []byte(v.Identity), 0o644),
		os.Symlink(device.Path, now.link))
	if err != nil {
		return errors.Join(fmt.Errorf("attaching volume %s: %w", v.Identity, err), now.release())
	}
	return nil
}

// description is the folder with the serial number of an attached volume's device, as in /sys/class/block: loop devices
// have none there.
func (d *disk) description() string {
	return filepath.Join(filepath.Dir(d.link), filepath.Base(d.device.Path))
}

// drop removes the volumes and snapshots that are no longer described.
func (d *disks) drop(network traffic.Network) error {
	var failed []error
	for identity, gone := range d.volumes {
		if slices.ContainsFunc(network.Volumes, func(v traffic.Volume) bool { return v.Identity == identity }) {
			continue
		}
		err := gone.release()
		if err == nil {
			err = os.Remove(gone.file)
		}
		if err == nil {
			delete(d.volumes, identity)
		}
		failed = append(failed, err)
	}
	for identity := range d.snapshots {
		if slices.ContainsFunc(network.Snapshots, func(s traffic.Snapshot) bool { return s.Identity == identity }) {
			continue
		}
		err := os.Remove(d.snapshot(identity))
		if err == nil {
			delete(d.snapshots, identity)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// removeDisks removes all that a run has of volumes. A device that is open stays
// until it is closed, and its file with it.
func (r *run) removeDisks() error {
	folder := filepath.Join(diskFolder, r.name)
	devices, err := loopdevice.Below(folder)
	failed := []error{err}
	for _, device := range devices {
		failed = append(failed, device.Detach())
	}
	return errors.Join(append(failed, os.RemoveAll(folder))...)
}

// makeFile makes a sparse file with the content of another one, if any, and a
// size. A file that could not be made is not there.
func makeFile(path, source string, size int64) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	if source != "" {
		err = copyFile(file, source)
	}
	if err == nil {
		err = file.Truncate(size)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// copyFile copies a file without its holes; where the file system can, both
// share their content until one of them is written.
func copyFile(to *os.File, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil {
		return nil
	}
	for hole := int64(0); ; {
		data, err := from.Seek(hole, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole follows
		}
		if err == nil {
			hole, err = from.Seek(data, unix.SEEK_HOLE)
		}
		if err != nil {
			return err
		}
		if err := copyPart(to, from, data, hole-data); err != nil {
			return err
		}
	}
}

func copyPart(to, from *os.File, offset, length int64) error {
	for _, file := range []*os.File{from, to} {
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			return err
		}
	}
	_, err := io.CopyN(to, from, length)
	return err
}
