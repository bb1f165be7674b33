package node

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

// diskSize is that of new disks. XFS needs 300 MB.
const diskSize = 320 << 20

// disks is a node service whose devices are block devices, and whose mounts are real.
type disks struct {
	*rig
	files map[string]string            // contents of the disks, by volume
	loops map[string]loopdevice.Device // by volume
}

func newDisks(t *testing.T) disks {
	t.Helper()
	roottest.Need(t, "blkid", "mkfs.ext2", "mkfs.ext4", "mkfs.xfs", "xfs_growfs", "e2fsck", "resize2fs", "mount", "cp")
	d := disks{newRig(t), map[string]string{}, map[string]loopdevice.Device{}}
	d.Devices.Nodes = DefaultNodes
	d.Mounter = mount.NewSafeFormatAndMount(steps{mount.New(""), &d.programs}, utilexec.New())
	return d
}

// attach makes the device of a volume from a file.
func (d disks) attach(id, file string) {
	d.Helper()
	device, err := loopdevice.Attach(file)
	d.ok(err)
	d.files[id], d.loops[id] = file, device
	d.Cleanup(func() { d.ok(errors.Join(d.unstageVolume(id), device.Detach())) })
	if d.Devices.Nodes != DefaultNodes {
		d.node(device.Path)
	}
	// Loop devices have no serial number.
	d.shows(device.Path, "serial", id)
}

// detach takes the device of a volume from the machine.
func (d disks) detach(id string) {
	d.Helper()
	d.ok(os.RemoveAll(filepath.Join(d.Devices.Sys, filepath.Base(d.loops[id].Path))))
}

// add makes a volume with an empty disk.
func (d disks) add(id string) {
	d.Helper()
	file := filepath.Join(d.folder, "disk-"+id)
	d.ok(errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, diskSize)))
	d.attach(id, file)
}

// restore makes a volume with the content of another one.
func (d disks) restore(id, from string) {
	d.Helper()
	file := filepath.Join(d.folder, "disk-"+id)
	output, err := exec.CommandContext(d.Context(), "cp", "--sparse=always", d.files[from], file).CombinedOutput()
	if err != nil {
		d.Fatalf("%v: %s", err, output)
	}
	d.attach(id, file)
}

// growDisk makes the device of a volume larger.
func (d disks) growDisk(id string, size int64) {
	d.Helper()
	d.ok(os.Truncate(d.files[id], size))
	d.ok(d.loops[id].Resize())
}

// use stages and publishes a volume for a pod, until the test ends.
func (d disks) use(id, pod string, c *csi.VolumeCapability) (path string) {
	d.Helper()
	d.ok(d.stageVolume(id, c))
	d.ok(d.publishVolume(id, pod, c, false))
	d.Cleanup(func() { d.ok(d.unpublishVolume(id, pod)) })
	return d.target(pod)
}

// end takes a volume from its pod and from the machine.
func (d disks) end(id, pod string) {
	d.Helper()
	d.ok(errors.Join(d.unpublishVolume(id, pod), d.unstageVolume(id)))
}

// capacity is the size of the filesystem at a path, as programs see it.
func (d disks) capacity(path string) int64 {
	d.Helper()
	var found unix.Statfs_t
	d.ok(unix.Statfs(path, &found))
	return int64(found.Blocks) * found.Bsize
}

// content checks the content of a file.
func (d disks) content(path, want string) {
	d.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		d.Errorf("%s contains %q, %v; want %q", path, got, err, want)
	}
}

// A volume keeps its data, grows while it is mounted, and is mounted beside its copy.
func TestFilesystemsOnDisks(t *testing.T) {
	for _, filesystem := range []string{"ext4", "ext3", "xfs"} {
		t.Run(filesystem, func(t *testing.T) {
			d := newDisks(t)
			d.add("v-1")
			c := capability(filesystem)
			path := d.use("v-1", "pod-1", c)
			file := filepath.Join(path, "file")
			d.ok(os.WriteFile(file, []byte("data"), 0o600))
			d.end("v-1", "pod-1")
			d.use("v-1", "pod-2", c)
			d.content(filepath.Join(d.target("pod-2"), "file"), "data")
			unix.Sync()
			d.restore("v-2", "v-1")
			copied := d.use("v-2", "pod-3", c)
			d.content(filepath.Join(copied, "file"), "data")
			d.ok(os.WriteFile(filepath.Join(copied, "file"), []byte("other"), 0o600))
			d.content(filepath.Join(d.target("pod-2"), "file"), "data")
			d.expandsOnline("v-1", c, d.target("pod-2"))
			d.content(filepath.Join(d.target("pod-2"), "file"), "data")
		})
	}
}

// expandsOnline makes a disk twice as large while it is in use.
func (d disks) expandsOnline(id string, c *csi.VolumeCapability, path string) {
	d.Helper()
	request := &csi.NodeExpandVolumeRequest{VolumeId: id, VolumePath: path, VolumeCapability: c,
		StagingTargetPath: d.staging(id), CapacityRange: &csi.CapacityRange{RequiredBytes: 2 * diskSize}}
	before := d.capacity(path)
	_, err := d.NodeExpandVolume(d.Context(), request)
	d.fails(err, codes.Unavailable, "the machine has not noticed the new size yet")
	d.growDisk(id, 2*diskSize)
	if c.GetMount().GetFsType() != "xfs" && !d.mayResize() {
		_, err = d.NodeExpandVolume(d.Context(), request)
		d.fails(err, codes.Internal, "resizing the filesystem of volume "+id, "Permission denied to resize filesystem")
		d.resizeUnmounted(id, c)
	}
	for range 2 {
		_, err = d.NodeExpandVolume(d.Context(), request)
		d.ok(err)
	}
	stats, err := d.NodeGetVolumeStats(d.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: id, VolumePath: path})
	d.ok(err)
	if after := d.capacity(path); after < before*3/2 || stats.GetUsage()[0].GetTotal() != after {
		d.Errorf("the filesystem has %d bytes, before %d, and the statistics %v; want twice as many", after, before,
			stats)
	}
}

// resizeUnmounted resizes the ext4 or ext3 filesystem of a volume while pod-2 does not have it, with the programs that
// the driver uses while it is mounted. A pod that has the volume afterwards, has all of it.
func (d disks) resizeUnmounted(id string, c *csi.VolumeCapability) {
	d.Helper()
	d.Log("NOT PROVED: a filesystem of ext4 or ext3 is resized while it is mounted. Linux requires CAP_SYS_RESOURCE " +
		"for that, which root lacks on this machine.")
	d.end(id, "pod-2")
	device, err := d.Devices.Find(id)
	d.ok(err)
	for _, command := range [][]string{{"e2fsck", "-f", "-p", device}, {"resize2fs", device}} {
		if output, err := exec.CommandContext(d.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			d.Fatalf("%q: %v: %s", command, err, output)
		}
	}
	d.use(id, "pod-2", c)
}

// mayResize reports whether root may resize an ext4 filesystem that is mounted: in some containers it may not.
func (d disks) mayResize() bool {
	d.Helper()
	has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	d.ok(err)
	return has == 1
}

// A restored volume that is larger than its snapshot gets a larger filesystem when it is mounted.
func TestLargerCopyOfADisk(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	before := d.capacity(d.use("v-1", "pod-1", capability("xfs")))
	d.end("v-1", "pod-1")
	d.restore("v-2", "v-1")
	d.growDisk("v-2", 2*diskSize)
	if after := d.capacity(d.use("v-2", "pod-2", capability("xfs"))); after < before*3/2 {
		t.Errorf("the filesystem has %d bytes, want twice the %d of the snapshot", after, before)
	}
}

// A disk without a filesystem is not formatted if that is forbidden, and one with data is never formatted: neither with
// another filesystem, nor if it has lost what blkid looks for, nor if it was a block volume.
func TestDisksAreNotFormatted(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	d.fails(d.stageWith("v-1", capability("ext4"), map[string]string{volume.NoFormat: "true"}),
		codes.FailedPrecondition, "volume v-1", volume.NoFormat)
	for filesystem, offset := range map[string]int64{"ext4": 1080, "xfs": 0} { // of what blkid looks for
		id, first, second, c := "v-"+filesystem, "first-"+filesystem, "second-"+filesystem, capability(filesystem)
		d.add(id)
		d.ok(os.WriteFile(filepath.Join(d.use(id, first, c), "file"), []byte("data"), 0o600))
		d.end(id, first)
		d.fails(d.stageVolume(id, capability("ext3")), codes.Internal, "with filesystem ext3")
		lost := d.overwrite(id, offset, make([]byte, 4))
		d.fails(d.stageVolume(id, c), codes.FailedPrecondition, d.loops[id].Path, "that is not zero is at offset")
		d.overwrite(id, offset, lost)
		d.content(filepath.Join(d.use(id, second, c), "file"), "data")
	}
	d.add("v-raw")
	d.overwrite("v-raw", 1<<20-1, []byte("x"))
	d.fails(d.stageVolume("v-raw", capability("ext4")), codes.FailedPrecondition, "at offset 1048575;")
}

// overwrite writes to the device of a volume, and returns what was there.
func (d disks) overwrite(id string, offset int64, content []byte) []byte {
	d.Helper()
	device, err := os.OpenFile(d.loops[id].Path, os.O_RDWR|unix.O_SYNC, 0)
	d.ok(err)
	before := make([]byte, len(content))
	_, reading := device.ReadAt(before, offset)
	_, writing := device.WriteAt(content, offset)
	d.ok(errors.Join(reading, writing, device.Close()))
	return before
}

func TestBlockDeviceOfADisk(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	single := block()
	single.AccessMode.Mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	path := d.use("v-1", "pod-1", single)
	device, err := os.OpenFile(path, os.O_RDWR|unix.O_SYNC, 0)
	d.ok(err)
	_, err = device.WriteString("raw data")
	d.ok(errors.Join(err, device.Close()))
	disk, err := os.ReadFile(d.files["v-1"])
	if err != nil || !bytes.HasPrefix(disk, []byte("raw data")) {
		t.Errorf("the disk begins with %q, %v", disk[:8], err)
	}
	d.growDisk("v-1", 2*diskSize)
	stats, err := d.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: "v-1", VolumePath: path})
	if err != nil || stats.GetUsage()[0].GetTotal() != 2*diskSize {
		t.Errorf("statistics %v, %v, want the size of the device", stats, err)
	}
	d.fails(d.publishVolume("v-1", "pod-2", single, false), codes.FailedPrecondition,
		"can be used by one pod at a time")
}

// A volume that is published read-only cannot be written to, and a pod with ReadWriteOncePod has it alone.
func TestReadOnlyAndSingleMounts(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	single := capability("ext4")
	single.AccessMode.Mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	d.use("v-1", "pod-1", single)
	d.fails(d.publishVolume("v-1", "pod-2", single, false), codes.FailedPrecondition, d.target("pod-1"))
	d.ok(d.publishVolume("v-1", "pod-3", capability("ext4", "noatime,rw", "remount,rw"), true))
	t.Cleanup(func() { d.ok(d.unpublishVolume("v-1", "pod-3")) })
	if err := os.WriteFile(filepath.Join(d.target("pod-3"), "file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing: %v, want a read-only filesystem", err)
	}
	mounts, err := d.Mounter.List()
	d.ok(err)
	ours := slices.DeleteFunc(mounts, func(m mount.MountPoint) bool { return !strings.HasPrefix(m.Path, d.folder) })
	if len(ours) != 3 {
		t.Errorf("mounts %v, want the staging path and two pods", ours)
	}
}
