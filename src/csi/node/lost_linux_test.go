package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"
)

// shutDown is the request that ends a filesystem as the loss of its device does: FS_IOC_SHUTDOWN of ext4 and XFS.
const shutDown = 0x8004587d

// lose ends the filesystem at a path.
func (d disks) lose(path string) {
	d.Helper()
	folder, err := os.Open(path)
	d.ok(err)
	d.ok(errors.Join(unix.IoctlSetPointerInt(int(folder.Fd()), shutDown, 1), folder.Close())) // 1: without the journal
}

// rename gives the device of a volume a node of its own, which can disappear as that of a disk does.
func (d disks) rename(id string) (node string) {
	d.Helper()
	device, err := d.Devices.Find(id)
	d.ok(err)
	d.Devices.Nodes = d.folder
	return d.node(device)
}

// node makes a device node like another one.
func (d disks) node(device string) (made string) {
	d.Helper()
	number, err := deviceNumber(device)
	d.ok(err)
	made = filepath.Join(d.Devices.Nodes, filepath.Base(device))
	d.ok(unix.Mknod(made, unix.S_IFBLK|0o600, int(number)))
	return made
}

// A volume is detached while it is mounted, and attached again as another device.
func TestLostDisk(t *testing.T) {
	for _, filesystem := range []string{"ext4", "xfs"} {
		t.Run(filesystem, func(t *testing.T) {
			d, c := newDisks(t), capability(filesystem)
			d.add("v-1")
			former := d.rename("v-1")
			d.ok(os.WriteFile(filepath.Join(d.use("v-1", "pod-1", c), "file"), []byte("data"), 0o600))
			unix.Sync()
			if got := d.health("v-1", "pod-1"); got != "" {
				t.Errorf("health %q, want nothing", got)
			}
			t.Cleanup(func() { d.ok(d.unpublishVolume("v-1", "pod-2")) })
			d.lose(d.staging("v-1"))
			d.fails(d.publishVolume("v-1", "pod-2", c, false), codes.FailedPrecondition, "has ended", "delete all pods")
			if got := d.health("v-1", "pod-1"); !strings.HasPrefix(got, "INACCESSIBLE DeadMount the filesystem") {
				t.Errorf("health %q, want a dead mount", got)
			}
			d.ok(os.Remove(former))
			d.detach("v-1")
			d.attach("v-1", d.files["v-1"])
			d.fails(d.publishVolume("v-1", "pod-2", c, false), codes.FailedPrecondition, former+" is mounted at")
			d.ok(d.stageVolume("v-1", c))
			d.ok(d.publishVolume("v-1", "pod-2", c, false))
			d.content(filepath.Join(d.target("pod-2"), "file"), "data")
			d.fails(d.publishVolume("v-1", "pod-1", c, false), codes.Unavailable, former+" is mounted at")
			d.ok(d.unpublishVolume("v-1", "pod-1"))
			d.end("v-1", "pod-2")
		})
	}
}

// The target path of a block device still has the node of its former device.
func TestLostBlockDevice(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	d.use("v-1", "pod-1", block())
	d.ok(d.publishVolume("v-1", "pod-1", block(), false))
	d.detach("v-1")
	d.attach("v-1", d.files["v-1"])
	d.fails(d.publishVolume("v-1", "pod-1", block(), false), codes.Unavailable, "delete all pods")
	if got := d.health("v-1", "pod-1"); !strings.HasPrefix(got, "INACCESSIBLE DeadMount") {
		t.Errorf("health %q, want a dead mount", got)
	}
}

// A volume whose device is lost is taken from its pod and from the machine.
func TestLostDiskIsUnmounted(t *testing.T) {
	for _, filesystem := range []string{"ext4", "xfs"} {
		t.Run(filesystem, func(t *testing.T) {
			d := newDisks(t)
			d.add("v-1")
			former := d.rename("v-1")
			d.use("v-1", "pod-1", capability(filesystem))
			d.lose(d.staging("v-1"))
			d.ok(os.Remove(former))
			d.detach("v-1")
			d.end("v-1", "pod-1")
			d.wantNoMounts()
		})
	}
}

// wantNoMounts checks that nothing is mounted in the folder of the test.
func (d disks) wantNoMounts() {
	d.Helper()
	mounts, err := d.Mounter.List()
	d.ok(err)
	for _, m := range mounts {
		if strings.HasPrefix(m.Path, d.folder) {
			d.Errorf("%s is mounted at %s", m.Device, m.Path)
		}
	}
}

// Linux makes an ext4 filesystem read-only after an error.
func TestFilesystemBecomesReadOnly(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	d.use("v-1", "pod-1", capability("ext4", "errors=remount-ro"))
	d.ok(d.publishVolume("v-1", "pod-2", capability("ext4"), true))
	t.Cleanup(func() { d.ok(d.unpublishVolume("v-1", "pod-2")) })
	if got := d.health("v-1", "pod-2"); got != "" {
		t.Errorf("health %q of a volume that is published read-only, want nothing", got)
	}
	device, err := d.Devices.Find("v-1")
	d.ok(err)
	d.ok(os.WriteFile(fmt.Sprintf("/sys/fs/ext4/%s/trigger_fs_error", filepath.Base(device)), []byte("1"), 0))
	if got := d.health("v-1", "pod-1"); !strings.HasPrefix(got, "DEGRADED ReadOnly the filesystem of volume v-1") {
		t.Errorf("health %q, want that it is read-only", got)
	}
}

// The plug-in ends after the first of the two mounts that make a read-only mount. The next process makes the second.
func TestPluginEndsBeforeTheMountIsReadOnly(t *testing.T) {
	d, c := newDisks(t), capability("ext4")
	d.add("v-1")
	d.use("v-1", "pod-1", c)
	t.Cleanup(func() { d.ok(d.unpublishVolume("v-1", "pod-2")) })
	whole := d.Mounter
	d.Mounter = mount.NewSafeFormatAndMount(halfMounter{whole}, utilexec.New())
	if !d.endsAfter(0, func() error { return d.publishVolume("v-1", "pod-2", c, true) }) {
		t.Fatal("the plug-in did not end")
	}
	file := filepath.Join(d.target("pod-2"), "file")
	d.ok(os.WriteFile(file, nil, 0o600)) // the half mount is not read-only
	d.Mounter = whole
	d.ok(d.publishVolume("v-1", "pod-2", c, true))
	if err := os.WriteFile(file, nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing: %v, want a read-only filesystem", err)
	}
	d.ok(d.unpublishVolume("v-1", "pod-2"))
	if _, err := os.Stat(d.target("pod-2")); !os.IsNotExist(err) {
		t.Errorf("the target path remains, which had one mount: %v", err)
	}
}

// halfMounter makes bind mounts without the options of the second mount, and ends the process after that.
type halfMounter struct{ mount.Interface }

func (h halfMounter) Mount(source, target, filesystem string, options []string) error {
	if slices.Contains(options, "bind") {
		if err := h.Interface.Mount(source, target, filesystem, []string{"bind"}); err != nil {
			return err
		}
		runtime.Goexit()
	}
	return h.Interface.Mount(source, target, filesystem, options)
}

// mkfs.ext2 is not in the image, and mount-utils does not resize ext2.
func TestFormerFilesystemOnADisk(t *testing.T) {
	for _, named := range []string{"ext2", "ext4"} { // ext4 mounts it, too
		t.Run(named, func(t *testing.T) {
			d := newDisks(t)
			d.add("v-1")
			output, err := exec.CommandContext(t.Context(), "mkfs.ext2", "-q", "-F", d.files["v-1"]).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			path := d.use("v-1", "pod-1", capability(named))
			d.keepsItsSize("v-1", path, capability(named))
		})
	}
}

// keepsItsSize makes a disk twice as large, and its filesystem stays as it is.
func (d disks) keepsItsSize(id, path string, c *csi.VolumeCapability) {
	d.Helper()
	before := d.capacity(path)
	d.growDisk(id, 2*diskSize)
	_, err := d.NodeExpandVolume(d.Context(), &csi.NodeExpandVolumeRequest{VolumeId: id, VolumePath: path,
		VolumeCapability: c, CapacityRange: &csi.CapacityRange{RequiredBytes: 2 * diskSize}})
	d.ok(err)
	if after := d.capacity(path); after != before {
		d.Errorf("the filesystem has %d bytes, before %d", after, before)
	}
}

func TestReadOnlyMountOfADiskIsNotResized(t *testing.T) {
	d := newDisks(t)
	d.add("v-1")
	d.use("v-1", "pod-1", capability("xfs"))
	d.end("v-1", "pod-1")
	c := capability("xfs", "ro")
	d.keepsItsSize("v-1", d.use("v-1", "pod-2", c), c)
}
