package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	mount "k8s.io/mount-utils"
)

// readOnly is the option of read-only mounts, and readWrite its opposite.
const (
	readOnly  = "ro"
	readWrite = "rw"
)

// mountAt returns what is mounted at the path, which need not exist, and nil if that is nothing. It does not use the
// filesystem there: its device may have disappeared.
func (n *Node) mountAt(path string) (*mount.MountPoint, error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing is mounted at a path that does not exist
	}
	mounts := []mount.MountPoint(nil)
	if err == nil {
		mounts, err = n.Mounter.List()
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "looking up what is mounted at %s: %v", path, err)
	}
	resolved := filepath.Join(folder, filepath.Base(path))
	for _, found := range slices.Backward(mounts) { // a later mount hides those before it
		if found.Path == resolved {
			return &found, nil
		}
	}
	return nil, nil // nothing is mounted
}

// mountedAt is mountAt for the device of a volume. The error is FailedPrecondition if another device is mounted, and if
// the filesystem can no longer be used.
func (n *Node) mountedAt(id, path, device string) (*mount.MountPoint, error) {
	found, err := n.mountAt(path)
	switch {
	case err != nil || found == nil:
		return nil, err
	case !isOf(found, device):
		return nil, status.Errorf(codes.FailedPrecondition, "%s is mounted at %s, and volume %s has the device %s "+
			"now; delete all pods with this volume on Node %s", found.Device, path, id, device, n.Name)
	case isDead(found):
		return nil, status.Errorf(codes.FailedPrecondition, "the filesystem of volume %s at %s has ended after an "+
			"error of its device %s; delete all pods with this volume on Node %s", id, path, device, n.Name)
	}
	return found, nil
}

// isDead reports whether a filesystem answers every use with an error. XFS answers so to Stat, and ext4 has an option.
func isDead(found *mount.MountPoint) bool {
	_, err := os.Stat(found.Path)
	return mount.IsCorruptedMnt(err) || slices.Contains(found.Opts, "shutdown")
}

// isOf reports whether a mount is of a device: of its filesystem, or of its node, which is in the filesystem of /dev.
func isOf(found *mount.MountPoint, device string) bool {
	if found.Type != "devtmpfs" && found.Type != "tmpfs" { // others have no device nodes, and may not answer
		return found.Device == device
	}
	wanted, err := deviceNumber(device)
	if err != nil {
		return false
	}
	number, err := deviceNumber(found.Path)
	return err == nil && number == wanted
}

// removeLost unmounts the path if the device that is mounted there has disappeared, because the volume was detached
// while it was mounted. Nothing can be written there any more.
func (n *Node) removeLost(id, path, device string) error {
	found, err := n.mountAt(path)
	if err != nil || found == nil || isOf(found, device) || !isGone(found.Device) {
		return err
	}
	if err := n.Mounter.Unmount(path); err != nil {
		return status.Errorf(codes.Internal, "unmounting %s, which has disappeared, from %s: %v", found.Device, path,
			err)
	}
	klog.InfoS("Unmounted a device that has disappeared", "volume", id, "device", found.Device, "path", path)
	return nil
}

// isGone reports whether a device node does not exist, or belongs to no device.
func isGone(device string) bool {
	if !filepath.IsAbs(device) {
		return false // it is the name of a filesystem without a device
	}
	file, err := os.Open(device)
	if err == nil {
		_ = file.Close()
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV)
}

// mounting calls a function that mounts something at the path. If the function fails, what it mounted is unmounted.
// While something is mounted at the path nevertheless, the code of the error is Unavailable: after most others, the
// kubelet takes the volume for not mounted, and it is detached without being unmounted.
func (n *Node) mounting(path string, mountIt func() error) error {
	before, err := n.mountAt(path)
	if err != nil {
		return unavailable(err)
	}
	cause := mountIt()
	if cause == nil {
		return nil
	}
	if before != nil {
		return unavailable(cause)
	}
	found, err := n.mountAt(path)
	if err == nil && found != nil {
		err = n.Mounter.Unmount(path)
	}
	if err != nil {
		return status.Errorf(codes.Unavailable, "%s; unmounting %s after that: %v; it is retried",
			status.Convert(cause).Message(), path, err)
	}
	return cause
}

// unavailable returns the error with another code.
func unavailable(err error) error {
	return status.Error(codes.Unavailable, status.Convert(err).Message())
}

// unmount unmounts the path and removes it. That nothing is mounted, and that the path does not exist, is a success.
func (n *Node) unmount(id, path string) error {
	if err := mount.CleanupMountPoint(path, n.Mounter, true); err != nil {
		return status.Errorf(codes.Internal, "unmounting volume %s from %s: %v", id, path, err)
	}
	return nil
}

// isReadOnly reports whether the flags of a capability make its mounts read-only. If "rw" is also among them, they do.
func isReadOnly(c *csi.VolumeCapability) bool {
	return slices.ContainsFunc(flagsOf(c), func(flag string) bool { return nameOf(flag) == readOnly })
}

// mountFlags returns the flags of a capability for a mount that is read-only or not. Of flags that contradict each
// other the last one counts, so that "ro" is the last one and there is no "rw". Flags that only a mount that exists can
// have are left out: they would change the one that they are given for.
func mountFlags(c *csi.VolumeCapability, wantReadOnly bool) []string {
	var flags []string
	for _, flag := range flagsOf(c) {
		switch name := nameOf(flag); {
		case name == "remount", name == "bind", name == "rbind":
		case name == readOnly, wantReadOnly && name == readWrite, slices.Contains(flags, flag):
		default:
			flags = append(flags, flag)
		}
	}
	if wantReadOnly {
		flags = append(flags, readOnly)
	}
	return flags
}

// flagPattern is one flag of a list. A comma in quotes does not end it.
var flagPattern = regexp.MustCompile(`([^,"]|"[^"]*"?)+`)

// flagsOf returns the flags of a capability one by one: a flag may be a list.
func flagsOf(c *csi.VolumeCapability) []string {
	return flagPattern.FindAllString(strings.Join(c.GetMount().GetMountFlags(), ","), -1)
}

// nameOf returns the name of a flag: "ro" of "ro=recursive".
func nameOf(flag string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(flag), "=")
	return name
}
