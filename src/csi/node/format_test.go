package node

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// formatCase is a volume on whose device blkid finds nothing.
type formatCase struct {
	volumeContext, publishContext map[string]string
	nonzero                       int64         // offset of the byte that is not zero; 0: all are zeros
	within                        time.Duration // Options.FormatNonzeroWithin
	refused                       string        // part of the error; "": the volume is formatted
}

func TestWhatIsFormatted(t *testing.T) {
	empty, former, static := emptyFor(5*time.Minute), provisioned(nil), map[string]string{"a": "b"}
	forbidden := map[string]string{volume.NoFormat: "true"}
	for name, test := range map[string]formatCase{
		"created empty":   {volumeContext: empty},
		"data":            {volumeContext: empty, nonzero: 1080, refused: "that is not zero is at offset 1080;"},
		"data at the end": {volumeContext: empty, nonzero: 1<<20 - 1, refused: "at offset 1048575;"},
		"new":             {volumeContext: empty, nonzero: 1, within: 10 * time.Minute},
		"old":             {volumeContext: empty, nonzero: 1, within: 4 * time.Minute, refused: "at offset 1;"},
		"clock is wrong":  {volumeContext: emptyFor(-time.Hour), nonzero: 1, within: time.Minute, refused: "offset 1;"},
		"no time": {volumeContext: map[string]string{volume.CreatedEmpty: ""}, nonzero: 1, within: time.Hour,
			refused: "at offset 1;"},
		"another machine had it": {volumeContext: empty, nonzero: 1, within: time.Hour, refused: "at offset 1;",
			publishContext: map[string]string{volume.AttachedBefore: "true"}},
		"former driver":       {volumeContext: former},
		"former driver, data": {volumeContext: former, nonzero: 1, within: time.Hour, refused: "at offset 1;"},
		"former driver, restored": {volumeContext: former, publishContext: forbidden,
			refused: "it was restored, cloned or existed before;"},
		"static":        {volumeContext: static, refused: "was made for a volume that existed before"},
		"no attributes": {refused: "was made for a volume that existed before"},
		"restored":      {volumeContext: provisioned(forbidden), refused: "it was restored, cloned or existed before"},
		"forbidden": {volumeContext: marked(empty, "yes"), within: time.Hour,
			refused: volume.NoFormat + " of its PersistentVolume was set to forbid it"},
		"forbidden by the key": {volumeContext: marked(empty, ""), refused: volume.NoFormat},
		"not forbidden":        {volumeContext: marked(empty, "false")},
	} {
		t.Run(name, func(t *testing.T) { test.run(newRig(t)) })
	}
}

// provisioned returns the attributes of a volume that csi-provisioner has made a PersistentVolume for.
func provisioned(volumeContext map[string]string) map[string]string {
	all := map[string]string{volume.Provisioner: "1-2-csi.test"}
	maps.Copy(all, volumeContext)
	return all
}

// marked returns a volume context in which volume.NoFormat has the value.
func marked(volumeContext map[string]string, value string) map[string]string {
	all := maps.Clone(volumeContext)
	all[volume.NoFormat] = value
	return all
}

// A volume that was mounted has lost its filesystem since, and one that was a block device may contain anything.
func TestStagedVolumeIsNotNew(t *testing.T) {
	mounted := func(r *rig) {
		for range 2 {
			r.ok(r.stageWith("v-1", capability(""), emptyFor(time.Minute)))
			r.ok(r.unstageVolume("v-1"))
		}
	}
	for name, before := range map[string]func(r *rig){
		"mounted":      mounted,
		"restarted":    func(r *rig) { mounted(r); r.Node = New(r.Options) },
		"block device": func(r *rig) { r.ok(r.stageWith("v-1", block(), emptyFor(time.Minute))) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.write(r.device("v-1", 1<<20), 1)
			r.FormatNonzeroWithin, r.started = time.Hour, time.Now().Add(-time.Hour)
			before(r)
			formatted := r.count("mkfs")
			r.formatted = ""
			r.fails(r.stageWith("v-1", capability(""), emptyFor(time.Minute)), codes.FailedPrecondition, "at offset 1;")
			if r.count("mkfs") != formatted || formatted > 1 {
				t.Errorf("formatted again: %v", r.ran)
			}
		})
	}
}

// Linux gives the name of a disk to no other one while it is open, so that what was checked is what is formatted.
func TestFormattedDeviceStaysOpen(t *testing.T) {
	r := newRig(t)
	device, steps := r.device("v-1", 1<<20), map[string]bool{}
	r.done = func(step string) error {
		steps[step] = r.hasOpen(device)
		return nil
	}
	r.ok(r.stageVolume("v-1", capability("")))
	if !steps["mkfs.ext4"] || !steps["mount"] || r.hasOpen(device) {
		t.Errorf("the device is open in %v, want it to be open until the end of the mount", steps)
	}
}

// hasOpen reports whether this process has a file open.
func (r *rig) hasOpen(path string) bool {
	r.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	r.ok(err)
	return slices.ContainsFunc(open, func(link string) bool {
		file, err := os.Readlink(link)
		return err == nil && file == path
	})
}

// write writes a byte to a device.
func (r *rig) write(device string, offset int64) {
	r.Helper()
	file, err := os.OpenFile(device, os.O_WRONLY, 0)
	r.ok(err)
	_, err = file.WriteAt([]byte{1}, offset)
	r.ok(errors.Join(err, file.Close()))
}

func (test formatCase) run(r *rig) {
	r.Helper()
	device := r.device("v-1", 1<<20)
	if test.nonzero > 0 {
		r.write(device, test.nonzero)
	}
	r.FormatNonzeroWithin, r.started = test.within, time.Now().Add(-time.Hour)
	_, err := r.NodeStageVolume(r.Context(), &csi.NodeStageVolumeRequest{VolumeId: "v-1",
		StagingTargetPath: r.staging("v-1"), VolumeCapability: capability(""), VolumeContext: test.volumeContext,
		PublishContext: test.publishContext})
	want := 1
	if test.refused != "" {
		want = 0
		r.fails(err, codes.FailedPrecondition, test.refused, "volume v-1 ("+device+")", "repair its filesystem",
			"use it as a block volume", "yourself if it contains nothing that is needed")
	} else {
		r.ok(err)
	}
	if r.count("mkfs") != want || len(r.mounter.MountPoints) != want {
		r.Errorf("mounts %v after %v, want %d of each", r.mounter.MountPoints, r.ran, want)
	}
}
