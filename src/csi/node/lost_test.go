package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

// replace gives a volume another device, and keeps the former one.
func (r *rig) replace(id string) (former, device string) {
	r.Helper()
	former, device = r.device(id, 1<<20), r.device("later-"+id, 1<<20)
	r.ok(r.stageVolume(id, capability("")))
	r.ok(r.publishVolume(id, "pod-1", capability(""), false))
	r.shows(former, "serial", "another")
	r.shows(device, "serial", id)
	return former, device
}

// expandVolume resizes the filesystem at the staging path.
func (r *rig) expandVolume(id string) error {
	_, err := r.NodeExpandVolume(r.Context(), &csi.NodeExpandVolumeRequest{VolumeId: id, VolumePath: r.staging(id)})
	return err
}

// health returns what is wrong with a volume.
func (r *rig) health(id, pod string) string {
	r.Helper()
	response, err := r.NodeGetVolumeHealth(r.Context(), &csi.NodeGetVolumeHealthRequest{VolumeId: id,
		StagingTargetPath: r.staging(id), VolumePublishPath: r.target(pod)})
	r.ok(err)
	var found []string
	for _, entry := range response.GetVolumeHealth().GetHealthStatuses() {
		found = append(found, entry.GetStatus().String()+" "+entry.GetReason()+" "+entry.GetMessage())
	}
	return strings.Join(found, "\n")
}

// A volume that was detached while it was mounted has another device when it is attached again.
func TestLostDevice(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	former, device := r.replace("v-1")
	texts := []string{former + " is mounted at", device, "delete all pods with this volume"}
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), false), codes.Unavailable, texts...) // pod-1 has a mount
	r.fails(r.publishVolume("v-1", "pod-2", capability(""), false), codes.FailedPrecondition, texts...)
	r.fails(r.expandVolume("v-1"), codes.FailedPrecondition, texts...)
	if got := r.health("v-1", "pod-1"); !strings.HasPrefix(got, "INACCESSIBLE DeadMount "+former) {
		t.Errorf("health %q, want a dead mount", got)
	}
	r.fails(r.stageVolume("v-1", capability("")), codes.Unavailable, former+" is mounted at", "delete all pods")
	r.ok(os.Remove(former))
	r.ok(r.stageVolume("v-1", capability("")))
	if found, _, _ := r.options(r.staging("v-1")); found != device {
		t.Errorf("%s is mounted, want %s", found, device)
	}
	r.ok(r.publishVolume("v-1", "pod-2", capability(""), false))
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), false), codes.Unavailable, former)
	r.ok(errors.Join(r.unpublishVolume("v-1", "pod-1"), r.unpublishVolume("v-1", "pod-2"), r.unstageVolume("v-1")))
	r.wantMounts(0)
}

func TestLostDeviceCannotBeUnmounted(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	former, _ := r.replace("v-1")
	r.ok(os.Remove(former))
	r.failing("umount")
	r.fails(r.stageVolume("v-1", capability("")), codes.Unavailable, "unmounting "+former, "broken")
}

// A filesystem that has no device, like tmpfs, is not taken for one whose device has disappeared.
func TestOtherFilesystemAtTheStagingPath(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.ok(os.MkdirAll(filepath.Dir(r.staging("v-1")), 0o700))
	r.ok(r.mounter.Mount("tmpfs", r.staging("v-1"), "tmpfs", nil))
	r.fails(r.stageVolume("v-1", capability("")), codes.Unavailable, "tmpfs is mounted at "+r.staging("v-1"))
	r.wantMounts(1)
}
