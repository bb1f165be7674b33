package node

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	utilexec "k8s.io/utils/exec"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// formatter starts programs, and mkfs only if permit returns no error. SafeFormatAndMount starts mkfs whenever blkid
// finds nothing, and a device with data may have lost what blkid looks for.
type formatter struct {
	utilexec.Interface
	permit  func() error
	refusal error // of permit
}

// Command implements utilexec.Interface.
func (f *formatter) Command(name string, args ...string) utilexec.Cmd {
	if strings.HasPrefix(name, "mkfs.") {
		if f.refusal = f.permit(); f.refusal != nil {
			return refused{err: f.refusal}
		}
	}
	return f.Interface.Command(name, args...)
}

// refused is a program that is not started. SafeFormatAndMount calls no other method of mkfs.
type refused struct {
	utilexec.Cmd
	err error
}

// CombinedOutput implements utilexec.Cmd.
func (r refused) CombinedOutput() ([]byte, error) { return nil, r.err }

// mayFormat returns an error unless a device on which blkid finds nothing may be formatted.
func (n *Node) mayFormat(r *csi.NodeStageVolumeRequest, device *os.File, filesystem string) error {
	id := r.GetVolumeId()
	const refusal = "blkid finds no filesystem on volume %s (%s), and the volume is not formatted, because %s; " +
		"repair its filesystem, use it as a block volume (volumeMode: Block), or %s yourself if it contains nothing " +
		"that is needed"
	if reason := notFormatted(r, filesystem); reason != "" {
		return status.Errorf(codes.FailedPrecondition, refusal, id, device.Name(), reason, "make a filesystem on it")
	}
	offset, err := n.Devices.check(id, device)
	if err != nil || offset < 0 {
		return err
	}
	if n.isNew(r) {
		klog.InfoS("Formatting a new volume whose beginning is not all zeros", "volume", id, "device", device.Name(),
			"offset", offset)
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, refusal, id, device.Name(), fmt.Sprintf("it may contain data: the "+
		"first byte that is not zero is at offset %d", offset), fmt.Sprintf("write zeros to its first %d bytes",
		checkedSize))
}

// notFormatted returns the reason why a volume is not formatted, whatever its device contains; "" is none.
func notFormatted(r *csi.NodeStageVolumeRequest, filesystem string) string {
	attributes := r.GetVolumeContext()
	_, created := attributes[volume.CreatedEmpty]
	_, provisioned := attributes[volume.Provisioner]
	switch {
	case !slices.Contains(volume.Filesystems(), filesystem):
		return "volumes are not formatted with " + filesystem
	case forbids(r.GetPublishContext()):
		return "it was restored, cloned or existed before"
	case forbids(attributes):
		return "it was restored, cloned or existed before, or the attribute " + volume.NoFormat + " of its " +
			"PersistentVolume was set to forbid it"
	case !created && !provisioned:
		return "its PersistentVolume was made for a volume that existed before"
	}
	return ""
}

// forbids reports whether a volume context or publish context forbids to format the volume.
func forbids(attributes map[string]string) bool {
	value, found := attributes[volume.NoFormat]
	return found && value != "false"
}

// isNew reports whether the driver created a volume so recently that it is formatted whatever its device contains, and
// no machine has used it: another one has not, this process has not, and an earlier one could not. A volume is not new
// if the clock of this machine is wrong.
func (n *Node) isNew(r *csi.NodeStageVolumeRequest) bool {
	created, err := time.Parse(time.RFC3339, r.GetVolumeContext()[volume.CreatedEmpty])
	_, staged := n.staged.Load(r.GetVolumeId())
	_, elsewhere := r.GetPublishContext()[volume.AttachedBefore]
	return err == nil && !staged && !elsewhere && created.After(n.started) &&
		time.Since(created).Abs() < n.FormatNonzeroWithin
}
