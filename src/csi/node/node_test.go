package node

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// rig is a node service whose mounts and programs are recorded. Devices are files.
type rig struct {
	testing.TB
	*Node
	folder  string
	mounter *mount.FakeMounter
	programs
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{TB: tb, folder: tb.TempDir(), mounter: mount.NewFakeMounter(nil)}
	r.ok(os.Mkdir(filepath.Join(r.folder, "sys"), 0o700))
	r.Node = New(Options{Name: "worker-1",
		Devices: Devices{Sys: filepath.Join(r.folder, "sys"), Nodes: r.folder,
			Serials: filepath.Join(r.folder, "serials")},
		Mounter: mount.NewSafeFormatAndMount(steps{r.mounter, &r.programs}, &r.programs),
		Place: func(context.Context) (Place, error) {
			return Place{Region: "nl-01", Zone: "nl-01a", Limit: 20}, nil
		}})
	return r
}

// programs records the programs that are run.
type programs struct {
	utilexec.Interface
	formatted string // filesystem of all devices; "" is none
	mu        sync.Mutex
	ran       []string
	// done is called after each mount, unmount and program, with its name; an error makes the step fail although it was
	// done. It may be nil.
	done func(step string) error
}

func (p *programs) finish(step string) error {
	if p.done == nil {
		return nil
	}
	return p.done(step)
}

// steps calls programs.done after each mount and unmount.
type steps struct {
	mount.Interface
	*programs
}

func (s steps) Mount(source, target, filesystem string, options []string) error {
	return cmp.Or(s.Interface.Mount(source, target, filesystem, options), s.finish("mount"))
}

func (s steps) MountSensitive(source, target, filesystem string, options, secret []string) error {
	return cmp.Or(s.Interface.MountSensitive(source, target, filesystem, options, secret), s.finish("mount"))
}

func (s steps) Unmount(target string) error {
	return cmp.Or(s.Interface.Unmount(target), s.finish("umount"))
}

// Command implements utilexec.Interface.
func (p *programs) Command(name string, args ...string) utilexec.Cmd {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran = append(p.ran, strings.Join(append([]string{name}, args...), " "))
	output, err := "0", error(nil)
	switch {
	case name == "blkid" && p.formatted == "":
		err = &testingexec.FakeExitError{Status: 2}
	case name == "blkid":
		output = "TYPE=" + p.formatted + "\n"
	case strings.HasPrefix(name, "mkfs."):
		p.formatted = strings.TrimPrefix(name, "mkfs.")
	}
	if err == nil {
		err = p.finish(name)
	}
	return &testingexec.FakeCmd{CombinedOutputScript: []testingexec.FakeAction{
		func() ([]byte, []byte, error) { return []byte(output), nil, err }}}
}

// count returns how often programs with the prefix were run.
func (p *programs) count(prefix string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.ran {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// device makes the device of a volume, of a number of bytes. It appears with its size.
func (r *rig) device(id string, size int64) string {
	r.Helper()
	path := filepath.Join(r.folder, "disk-"+id)
	made := filepath.Join(r.TempDir(), "device")
	r.ok(errors.Join(os.WriteFile(made, nil, 0o600), os.Truncate(made, size), os.Rename(made, path)))
	r.shows(path, "serial", id)
	return path
}

// shows makes the kernel describe a device: it has the value in a file of its folder.
func (r *rig) shows(device, file, value string) {
	r.Helper()
	path := filepath.Join(r.Devices.Sys, filepath.Base(device), file)
	made := filepath.Join(r.TempDir(), "value")
	r.ok(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(made, []byte(value), 0o600),
		os.Rename(made, path)))
}

// fails checks that an error has the code, and a message with all texts.
func (r *rig) fails(err error, code codes.Code, texts ...string) {
	r.Helper()
	missing := slices.IndexFunc(texts, func(text string) bool {
		return !strings.Contains(status.Convert(err).Message(), text)
	})
	if status.Code(err) != code || missing >= 0 {
		r.Errorf("error %v, want %s with %q", err, code, texts)
	}
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// options returns the options of the mount at a path, which is the only one.
func (r *rig) options(path string) (device, filesystem string, options []string) {
	r.Helper()
	found := -1
	for i, m := range r.mounter.MountPoints {
		if m.Path == path && found >= 0 {
			r.Errorf("%s has two mounts", path)
		}
		if m.Path == path {
			found = i
		}
	}
	if found < 0 {
		r.Fatalf("nothing is mounted at %s: %v", path, r.mounter.MountPoints)
	}
	m := r.mounter.MountPoints[found]
	return m.Device, m.Type, m.Opts
}

// capability is the capability of a volume with a filesystem.
func capability(filesystem string, flags ...string) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{
			Mount: &csi.VolumeCapability_MountVolume{FsType: filesystem, MountFlags: flags}},
	}
}

// block is the capability of a volume that is used as a block device.
func block() *csi.VolumeCapability {
	c := capability("")
	c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	return c
}

// staging and target are paths of a volume.
func (r *rig) staging(id string) string { return filepath.Join(r.folder, "staging", id) }

func (r *rig) target(pod string) string { return filepath.Join(r.folder, "pods", pod, "mount") }

// stageVolume stages a volume that the driver created empty a day ago.
func (r *rig) stageVolume(id string, c *csi.VolumeCapability) error {
	return r.stageWith(id, c, emptyFor(24*time.Hour))
}

func (r *rig) stageWith(id string, c *csi.VolumeCapability, volumeContext map[string]string) error {
	_, err := r.NodeStageVolume(r.Context(), &csi.NodeStageVolumeRequest{VolumeId: id,
		StagingTargetPath: r.staging(id), VolumeCapability: c, VolumeContext: volumeContext})
	return err
}

// emptyFor is the context of a volume of that age that was created empty.
func emptyFor(age time.Duration) map[string]string {
	return provisioned(map[string]string{volume.CreatedEmpty: time.Now().Add(-age).Format(time.RFC3339)})
}

func (r *rig) publishVolume(id, pod string, c *csi.VolumeCapability, readonly bool) error {
	_, err := r.NodePublishVolume(r.Context(), &csi.NodePublishVolumeRequest{VolumeId: id, Readonly: readonly,
		StagingTargetPath: r.staging(id), TargetPath: r.target(pod), VolumeCapability: c})
	return err
}

func (r *rig) unstageVolume(id string) error {
	_, err := r.NodeUnstageVolume(r.Context(),
		&csi.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: r.staging(id)})
	return err
}

func (r *rig) unpublishVolume(id, pod string) error {
	_, err := r.NodeUnpublishVolume(r.Context(),
		&csi.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: r.target(pod)})
	return err
}

// An empty device is formatted once, and each step can be repeated.
func TestVolumeOfAPod(t *testing.T) {
	r := newRig(t)
	device := r.device("v-1", 1<<20)
	for range 2 {
		r.ok(r.stageVolume("v-1", capability("", "noatime")))
	}
	if found, filesystem, options := r.options(r.staging("v-1")); found != device || filesystem != "ext4" ||
		!slices.Contains(options, "noatime") || r.count("mkfs.ext4 -F -m0 "+device) != 1 {
		t.Errorf("mounted %s as %s with %v after %v; want %s formatted once", found, filesystem, options, r.ran, device)
	}
	for range 2 {
		r.ok(r.publishVolume("v-1", "pod-1", capability(""), false))
	}
	r.ok(r.publishVolume("v-1", "pod-2", capability(""), true))
	if _, _, options := r.options(r.target("pod-1")); !slices.Equal(options, []string{"bind"}) {
		t.Errorf("options %v, want bind", options)
	}
	if _, _, options := r.options(r.target("pod-2")); !slices.Equal(options, []string{"bind", "ro"}) {
		t.Errorf("options %v, want bind and ro", options)
	}
	for range 2 {
		r.ok(errors.Join(r.unpublishVolume("v-1", "pod-1"), r.unpublishVolume("v-1", "pod-2"), r.unstageVolume("v-1")))
	}
	if len(r.mounter.MountPoints) != 0 {
		t.Errorf("mounts %v remain", r.mounter.MountPoints)
	}
	r.ok(r.unstageVolume("v-0"))
	if _, err := os.Stat(r.staging("v-1")); !os.IsNotExist(err) {
		t.Errorf("the staging path remains: %v", err)
	}
}

func TestXFSIsMountedBesideItsCopy(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.ok(r.stageVolume("v-1", capability("xfs")))
	_, filesystem, options := r.options(r.staging("v-1"))
	if filesystem != "xfs" || !slices.Contains(options, "nouuid") {
		t.Errorf("mounted as %s with %v, want xfs with nouuid", filesystem, options)
	}
}

func TestDeviceAppearsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		staged := make(chan error, 1)
		go func() { staged <- r.stageVolume("v-1", capability("")) }()
		<-time.After(5 * time.Second)
		r.fails(r.stageVolume("v-1", capability("")), codes.Aborted, "another request for volume v-1")
		r.device("v-1", 1<<20)
		r.ok(<-staged)
		began := time.Now()
		r.fails(r.stageVolume("v-2", block()), codes.Unavailable, "its device has not appeared",
			`the serial number "v-2"`)
		if took := time.Since(began); took != maxLook {
			t.Errorf("the answer came after %s, want %s", took, maxLook)
		}
	})
}

func TestBlockVolume(t *testing.T) {
	r := newRig(t)
	device := r.device("v-1", 1<<20)
	r.ok(r.stageVolume("v-1", block()))
	for range 2 {
		r.ok(r.publishVolume("v-1", "pod-1", block(), false))
		r.ok(r.publishVolume("v-1", "pod-2", block(), true))
	}
	if _, _, options := r.options(r.target("pod-2")); !slices.Equal(options, []string{"bind", "ro"}) {
		t.Errorf("options %v, want bind and ro", options)
	}
	found, _, options := r.options(r.target("pod-1"))
	info, err := os.Stat(r.target("pod-1"))
	if err != nil || info.IsDir() || found != device || !slices.Equal(options, []string{"bind"}) || len(r.ran) != 0 {
		t.Errorf("%s at %v (%v) with %v after %v, want the device at a file", found, info, err, options, r.ran)
	}
	r.ok(errors.Join(r.unpublishVolume("v-1", "pod-1"), r.unpublishVolume("v-1", "pod-2"), r.unstageVolume("v-1")))
	r.fails(r.publishVolume("v-2", "pod-1", block(), false), codes.NotFound, "volume v-2 has no device")
}

// A volume with ReadWriteOncePod is used by one pod.
func TestSingleWriter(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	single := capability("")
	single.AccessMode.Mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	r.ok(r.stageVolume("v-1", single))
	for range 2 {
		r.ok(r.publishVolume("v-1", "pod-1", single, false))
	}
	r.fails(r.publishVolume("v-1", "pod-2", single, false), codes.FailedPrecondition, r.target("pod-1"),
		"delete the other pod")
	r.ok(r.unpublishVolume("v-1", "pod-1"))
	r.ok(r.publishVolume("v-1", "pod-2", single, false))
}

// A pod that must only read a volume cannot write to it, whatever the mount options are.
func TestReaderOnly(t *testing.T) {
	reader := csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
	writer := csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	for name, test := range map[string]struct {
		mode     csi.VolumeCapability_AccessMode_Mode
		readonly bool
		flags    []string
		want     string
	}{
		"access mode":        {reader, false, []string{"ro", "noexec"}, "bind,noexec,ro"},
		"readonly":           {writer, true, []string{"noexec", "rw"}, "bind,noexec,ro"},
		"both":               {reader, true, []string{"rw"}, "bind,ro"},
		"a list":             {writer, true, []string{"noatime,rw"}, "bind,noatime,ro"},
		"an argument":        {writer, true, []string{"rw=recursive"}, "bind,ro"},
		"another mount":      {writer, true, []string{"remount", "remount,rw", "bind", "rbind"}, "bind,ro"},
		"contradiction":      {writer, false, []string{"ro", "rw"}, "bind,ro"},
		"contradictory list": {writer, false, []string{"ro,rw"}, "bind,ro"},
		"quoted": {
			writer, false, []string{`rw,context="u:r:t:s0:c1,c2",ro`, "rw"}, `bind,context="u:r:t:s0:c1,c2",ro`,
		},
		"writer": {writer, false, []string{"rw", "noatime,", "noatime"}, "bind,rw,noatime"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.device("v-1", 1<<20)
			c := capability("", test.flags...)
			c.AccessMode.Mode = test.mode
			r.ok(r.stageVolume("v-1", capability("")))
			for range 2 {
				r.ok(r.publishVolume("v-1", "pod-1", c, test.readonly))
			}
			if _, _, options := r.options(r.target("pod-1")); strings.Join(options, ",") != test.want {
				t.Errorf("options %v, want %s", options, test.want)
			}
		})
	}
}

// A volume whose mount options contradict each other is staged read-only, as it is published.
func TestStagedReadOnly(t *testing.T) {
	r := newRig(t)
	r.device("v-1", 1<<20)
	r.formatted = "ext4"
	r.ok(r.stageVolume("v-1", capability("", "ro", "remount,rw")))
	if _, _, options := r.options(r.staging("v-1")); !slices.Equal(options, []string{"ro", "defaults"}) {
		t.Errorf("options %v, want ro, and what the mounter adds", options)
	}
}

func TestExpand(t *testing.T) {
	r := newRig(t)
	device := r.device("v-1", 1<<20)
	request := &csi.NodeExpandVolumeRequest{VolumeId: "v-1", VolumePath: r.staging("v-1"),
		VolumeCapability: capability(""), CapacityRange: &csi.CapacityRange{RequiredBytes: 2 << 20}}
	_, err := r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.Unavailable, "has 1048576 bytes on this machine, and 2097152 are required", "it is retried")
	r.device("v-1", 2<<20)
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.NotFound, "is not mounted at "+r.staging("v-1"))
	r.ok(r.stageVolume("v-1", capability("")))
	before := r.count("resize2fs")
	expanded, err := r.NodeExpandVolume(t.Context(), request)
	if err != nil || expanded.GetCapacityBytes() != 2<<20 || r.count("resize2fs "+device) != before+1 {
		t.Errorf("%v, %v after %v; want 2 MiB, and one more resize2fs", expanded, err, r.ran)
	}
	request.CapacityRange.LimitBytes = 2<<20 - 1
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.OutOfRange, "not above the limit")
	request.CapacityRange.RequiredBytes = 0
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.OutOfRange, "the volume has 2097152 already")
	request.CapacityRange = nil
	request.VolumeCapability = block()
	if _, err := r.NodeExpandVolume(t.Context(), request); err != nil || r.count("resize2fs") != before+1 {
		t.Errorf("block device: %v after %v, want no further program", err, r.ran)
	}
	request.VolumeId = "v-2"
	_, err = r.NodeExpandVolume(t.Context(), request)
	r.fails(err, codes.NotFound, "volume v-2 has no device")
}

// The number of volumes and the topology are those of the Node.
func TestDefect15_NodeHasZoneAndLimit(t *testing.T) {
	r := newRig(t)
	info, err := r.NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
	if err != nil || info.GetNodeId() != "worker-1" || info.GetMaxVolumesPerNode() != 20 ||
		topology.Zone(info.GetAccessibleTopology().GetSegments()) != "nl-01a" ||
		info.GetAccessibleTopology().GetSegments()[topology.LegacyRegion] != "nl-01" {
		t.Errorf("%v, %v, want the name, the limit, and the region by both keys", info, err)
	}
	r.Place = func(context.Context) (Place, error) { return Place{}, errors.New("no label") }
	_, err = r.NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
	r.fails(err, codes.Unavailable, "looking up region and zone of Node worker-1: no label")
}

func TestHealthAndStats(t *testing.T) {
	r := newRig(t)
	health := func() []*csi.VolumeHealth_VolumeHealthEntry {
		response, err := r.NodeGetVolumeHealth(t.Context(), &csi.NodeGetVolumeHealthRequest{VolumeId: "v-1"})
		r.ok(err)
		return response.GetVolumeHealth().GetHealthStatuses()
	}
	if got := health(); len(got) != 1 || !strings.Contains(got[0].GetMessage(), "has no device on this machine") {
		t.Errorf("health %v, want that there is no device", got)
	}
	r.device("v-1", 1<<20)
	if got := health(); len(got) != 0 {
		t.Errorf("health %v, want nothing", got)
	}
	request := &csi.NodeGetVolumeStatsRequest{VolumeId: "v-1", VolumePath: r.staging("v-1")}
	_, err := r.NodeGetVolumeStats(t.Context(), request)
	r.fails(err, codes.NotFound, "does not exist")
	r.ok(os.MkdirAll(r.staging("v-1"), 0o700))
	_, err = r.NodeGetVolumeStats(t.Context(), request)
	r.fails(err, codes.NotFound, "is not mounted at")
	r.ok(r.stageVolume("v-1", capability("")))
	if stats, err := r.NodeGetVolumeStats(t.Context(), request); err != nil || len(stats.GetUsage()) != 2 {
		t.Errorf("stats %v, %v, want bytes and inodes", stats, err)
	}
}

func TestWrongRequests(t *testing.T) {
	r := newRig(t)
	shared := capability("")
	shared.AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	r.fails(r.stageVolume("", capability("")), codes.InvalidArgument, "volume ID is missing")
	r.fails(r.stageVolume("v-1", nil), codes.InvalidArgument, "capabilities are missing")
	r.fails(r.stageVolume("v-1", shared), codes.InvalidArgument, "use the access mode ReadWriteOnce")
	r.fails(r.stageVolume("v-1", capability("../ext4")), codes.InvalidArgument, "use one of ext4")
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), false), codes.NotFound, "volume v-1 has no device")
	r.device("v-1", 1<<20)
	r.fails(r.publishVolume("v-1", "pod-1", capability(""), false), codes.FailedPrecondition,
		"not mounted at its staging path")
	for _, filesystem := range []string{"tmpfs", "proc", "bind"} {
		r.fails(r.stageVolume("v-1", capability(filesystem)), codes.InvalidArgument, "use one of ext4")
	}
	r.fails(r.publishVolume("v-1", "pod-1", shared, false), codes.InvalidArgument)
	_, err := r.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: "v-1", TargetPath: "/t"})
	r.fails(err, codes.InvalidArgument, "staging target path is missing")
	_, err = r.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "v-1"})
	r.fails(err, codes.InvalidArgument, "target path is missing")
	_, err = r.NodeUnstageVolume(t.Context(), &csi.NodeUnstageVolumeRequest{VolumeId: "v-1"})
	r.fails(err, codes.InvalidArgument, "staging target path is missing")
	_, err = r.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: "v-1"})
	r.fails(err, codes.InvalidArgument, "volume path is missing")
	_, err = r.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: "v-1"})
	r.fails(err, codes.InvalidArgument, "volume path is missing")
	_, err = r.NodeGetVolumeHealth(t.Context(), &csi.NodeGetVolumeHealthRequest{})
	r.fails(err, codes.InvalidArgument, "volume ID is missing")
}
