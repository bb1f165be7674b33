package node

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

// failing makes steps fail with "broken" after they were done.
func (r *rig) failing(failing ...string) {
	r.done = func(step string) error {
		if slices.Contains(failing, step) {
			return errors.New("broken")
		}
		return nil
	}
}

// wantMounts checks how many mounts there are.
func (r *rig) wantMounts(want int) {
	r.Helper()
	if got := len(r.mounter.MountPoints); got != want {
		r.Errorf("mounts %v, want %d", r.mounter.MountPoints, want)
	}
}

// The kubelet takes an Internal error for a volume that is not mounted, and never unstages it.
func TestStageFailsAfterTheMount(t *testing.T) {
	for _, failing := range []string{"mount", "resize2fs"} {
		t.Run(failing, func(t *testing.T) {
			r := newRig(t)
			r.device("v-1", 1<<20)
			r.failing(failing)
			r.fails(r.stageVolume("v-1", capability("")), codes.Internal, "broken")
			r.wantMounts(0)
			r.failing()
			r.ok(r.stageVolume("v-1", capability("")))
			r.wantMounts(1)
		})
	}
}

func TestStageFailsAndCannotUnmount(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.failing("resize2fs")
	busy := true
	r.mounter.UnmountFunc = func(string) error {
		if busy {
			return errors.New("target is busy")
		}
		return nil
	}
	// The second request finds the mount of the first.
	for _, text := range []string{"target is busy", "resizing the filesystem"} {
		r.fails(r.stageVolume("v-1", capability("")), codes.Unavailable, "broken", text)
		r.wantMounts(1)
	}
	busy = false
	r.ok(r.unstageVolume("v-1"))
	r.wantMounts(0)
}

// A bind mount is made in two steps, of which the second makes it read-only.
func TestPublishFailsAfterTheMount(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.ok(r.stageVolume("v-1", capability("")))
	r.failing("mount")
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), true), codes.Internal, "broken", r.target("pod-1"))
	r.wantMounts(1)
	r.failing("mount", "umount")
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), true), codes.Unavailable, "broken", r.target("pod-1"))
}

// A mount that the plug-in made before it ended becomes read-only if that is wanted.
func TestPublishedOtherwise(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.ok(r.stageVolume("v-1", capability("")))
	r.ok(r.publishVolume("v-1", "pod-1", capability(""), false))
	r.ok(r.publishVolume("v-1", "pod-1", capability(""), true))
	if _, _, options := r.options(r.target("pod-1")); !slices.Equal(options, []string{"bind", "ro"}) {
		t.Errorf("options %v, want bind and ro", options)
	}
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), false), codes.Unavailable, "read-only", "delete the pod")
	r.ok(r.publishVolume("v-1", "pod-1", capability("", "noatime,ro"), false))
	r.failing("umount")
	r.ok(r.publishVolume("v-1", "pod-2", capability(""), false))
	r.fails(r.publishVolume("v-1", "pod-2", capability(""), true), codes.Unavailable, "where it is not read-only")
}

// endsAfter sends a request to a plug-in that ends after a number of steps, and reports whether it ended.
func (r *rig) endsAfter(count int, request func() error) (ended bool) {
	r.Helper()
	r.done = func(string) error {
		if count--; count < 0 {
			runtime.Goexit()
		}
		return nil
	}
	answer := make(chan error, 1)
	go func() {
		defer close(answer)
		answer <- request()
	}()
	err, answered := <-answer
	r.ok(err)
	r.failing()
	r.Node = New(r.Options)
	return !answered
}

// The plug-in ends after each step of each request, and the next process completes the request.
func TestPluginEndsInARequest(t *testing.T) {
	for step := 0; ; step++ {
		r, ended := newRig(t), 0
		r.device("v-1", 1<<20)
		for _, request := range []func() error{
			func() error { return r.stageVolume("v-1", capability("")) },
			func() error { return r.publishVolume("v-1", "pod-1", capability(""), true) },
			func() error { return r.unpublishVolume("v-1", "pod-1") },
			func() error { return r.unstageVolume("v-1") },
		} {
			if r.endsAfter(step, request) {
				ended++
				r.ok(request())
			}
			for _, m := range r.mounter.MountPoints {
				r.options(m.Path) // is the only one there
			}
		}
		r.wantMounts(0)
		if n := r.count("mkfs"); n != 1 {
			t.Errorf("step %d: formatted %d times, want once", step, n)
		}
		if step == 0 && ended != 4 {
			t.Errorf("%d requests had a step, want 4", ended)
		}
		if ended == 0 {
			return
		}
	}
}

// The driver mounts filesystems that only volumes of the former driver have, and neither formats nor resizes them.
func TestFormerFilesystem(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.fails(r.stageVolume("v-1", capability("ext2")), codes.FailedPrecondition, "volumes are not formatted with ext2")
	r.formatted = "ext2"
	r.ok(r.stageVolume("v-1", capability("ext2")))
	_, filesystem, _ := r.options(r.staging("v-1"))
	if filesystem != "ext2" || r.count("mkfs")+r.count("resize2fs") != 0 {
		t.Errorf("mounted as %s after %v, want ext2 and neither format nor resize", filesystem, r.ran)
	}
}

func TestReadOnlyMountIsNotResized(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.formatted = "ext4"
	for _, c := range []*csi.VolumeCapability{capability("", "ro"), capability("", "noatime,ro")} {
		r.ok(r.stageVolume("v-1", c))
		_, err := r.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: "v-1",
			VolumePath: r.staging("v-1"), VolumeCapability: c})
		if err != nil || r.count("resize2fs") != 0 {
			t.Errorf("%v after %v, want no resize", err, r.ran)
		}
	}
}

// blkid finds nothing on a device that cannot be read, as on one that is empty.
func TestUnreadableDeviceIsNotFormatted(t *testing.T) {
	r := newRig(t)
	device := r.device("v-1", 1<<19)
	r.fails(r.stageVolume("v-1", capability("")), codes.Internal, "reading the beginning of the device "+device,
		"not formatted")
	if n := r.count("mkfs"); n != 0 {
		t.Errorf("programs %v, want no format", r.ran)
	}
	other, err := os.Open(r.device("v-2", 1<<20))
	r.ok(err)
	defer other.Close()
	_, err = r.Devices.check("v-1", other)
	r.fails(err, codes.Unavailable, "had the device "+other.Name(), "not formatted")
}
