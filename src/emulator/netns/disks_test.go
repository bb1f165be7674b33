//go:build linux

package netns

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// volume makes a volume, from a snapshot if there is one.
func (c *cloud) volume(name, snapshot string) *iaas.Volume {
	c.t.Helper()
	v, err := c.api.CreateVolume(c.t.Context(), iaas.CreateVolume{Name: name, Size: 1, CloudRegionIdentity: "nl-01",
		VolumeTypeIdentity: "block", RestoreFromSnapshotId: &snapshot})
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// attach attaches a volume to a machine, and returns the link to its device.
func (c *cloud) attach(v *iaas.Volume, to *box) (link string) {
	c.t.Helper()
	if _, err := c.api.AttachVolume(c.t.Context(), v.Identity, iaas.AttachVolumeRequest{
		ResourceType: "cloud_virtual_machine", ResourceIdentity: to.identity}); err != nil {
		c.t.Fatal(err)
	}
	return filepath.Join(c.plane.disks.folder, "machines", to.Name(), "disk-by-id", diskLink+v.Identity)
}

func (c *cloud) detach(v *iaas.Volume, from *box) {
	c.t.Helper()
	if err := c.api.DetachVolume(c.t.Context(), v.Identity, iaas.DetachVolumeRequest{
		ResourceType: "cloud_virtual_machine", ResourceIdentity: from.identity}); err != nil {
		c.t.Fatal(err)
	}
}

// opened opens a block device; it is closed at the end of the test.
func (c *cloud) opened(link string) *os.File {
	c.t.Helper()
	device, err := os.OpenFile(link, os.O_RDWR|os.O_SYNC, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = device.Close() })
	return device
}

// write writes the start of a block device.
func (c *cloud) write(link, content string) {
	c.t.Helper()
	device := c.opened(link)
	if _, err := device.WriteString(content); err != nil {
		c.t.Fatal(err)
	}
	if err := device.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// holds checks the start and the size of a block device.
func (c *cloud) holds(link, content string, gibibytes int64) {
	c.t.Helper()
	device := c.opened(link)
	defer func() { _ = device.Close() }()
	start := make([]byte, len(content))
	if _, err := io.ReadFull(device, start); err != nil || string(start) != content {
		c.t.Errorf("%s starts with %q, %v, want %q", link, start, err, content)
	}
	if end, err := device.Seek(0, io.SeekEnd); err != nil || end != gibibytes<<30 {
		c.t.Errorf("%s has %d bytes, %v, want %d GiB", link, end, err, gibibytes)
	}
}

// serial checks that the serial number of a volume is where the kernel shows those of other disks.
func (c *cloud) serial(v *iaas.Volume, link string) {
	c.t.Helper()
	device, err := os.Readlink(link)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(filepath.Dir(link), filepath.Base(device), "serial"))
	if err != nil || string(got) != v.Identity {
		c.t.Errorf("serial number %q, %v, want %s", got, err, v.Identity)
	}
}

// devices are the block devices of all volumes of the plane.
func (c *cloud) devices() map[string]loopdevice.Device {
	c.t.Helper()
	devices, err := loopdevice.Below(c.plane.disks.folder)
	if err != nil {
		c.t.Fatal(err)
	}
	return devices
}

// waitFor waits for a condition.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeLimit); !condition(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not happen", what)
		}
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestVolumesAreBlockDevices(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		data := c.volume("data", "")
		link := c.attach(data, one)
		c.serial(data, link)
		c.write(link, "first")
		if _, err := c.api.CreateSnapshot(t.Context(), iaas.CreateSnapshotRequest{Name: "backup",
			VolumeIdentity: data.Identity}); err != nil {
			t.Fatal(err)
		}
		c.write(link, "other")
		restored := c.attach(c.volume("copy", "backup"), one)
		c.holds(restored, "first", 1)
		// It grows while it is open.
		user := c.opened(link)
		if _, err := c.api.UpdateVolume(t.Context(), data.Identity, iaas.UpdateVolume{Name: "data",
			Size: 3}); err != nil {
			t.Fatal(err)
		}
		if end, err := user.Seek(0, io.SeekEnd); err != nil || end != 3<<30 {
			t.Errorf("%d bytes, %v, want 3 GiB", end, err)
		}
		_ = user.Close()
		c.holds(link, "other", 3)
		c.detach(data, one)
		if left, err := os.ReadDir(filepath.Dir(link)); err != nil || len(left) != 2 || len(c.devices()) != 1 {
			t.Errorf("detached: the machine has %v (%v), devices %v, want the copy only", left, err, c.devices())
		}
		if err := c.api.DeleteVolume(t.Context(), data.Identity); err != nil {
			t.Fatal(err)
		}
		if there(c.plane.disks.volume(data.Identity)) {
			t.Error("the file of a deleted volume is there")
		}
		if err := c.DeleteMachine(one.identity); err != nil {
			t.Fatal(err)
		}
		if there(filepath.Dir(restored)) || len(c.devices()) > 0 {
			t.Errorf("after its machine was deleted: devices %v", c.devices())
		}
	})
}

// A volume moves once nobody has it open where it was.
func TestVolumeInUseMoves(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		v := c.volume("data", "")
		before := c.attach(v, one)
		c.write(before, "kept")
		user := c.opened(before)
		c.detach(v, one)
		after := c.attach(v, two)
		if there(before) || there(after) || c.State().Network.Problem == "" {
			t.Errorf("open on one: links %t and %t, problem %q", there(before), there(after),
				c.State().Network.Problem)
		}
		if err := user.Close(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the device of two", func() bool { return there(after) })
		c.holds(after, "kept", 1)
		waitFor(t, "the end of the problem", func() bool { return c.State().Network.Problem == "" })
	})
}

// A device is there from Attached on, without another request.
func TestVolumeDelays(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		v := c.volume("data", "")
		link := c.attach(v, one)
		if there(link) {
			t.Error("a device is there while the volume is attaching")
		}
		waitFor(t, "the device", func() bool { return there(link) })
		c.detach(v, one)
		waitFor(t, "its end", func() bool { return !there(link) })
	}, func(cfg *emulator.Config, _ *Options) {
		cfg.Delays.VolumeAttach, cfg.Delays.VolumeDetach = 300*time.Millisecond, 100*time.Millisecond
	})
}

// What a run left that was killed is removed.
func TestCleanRemovesVolumes(t *testing.T) {
	roottest.Need(t)
	dead, err := begin(runs, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDisks(dead)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dead.removeDisks() })
	links, err := d.addMachine("one")
	if err != nil {
		t.Fatal(err)
	}
	description := traffic.Network{Volumes: []traffic.Volume{{Identity: "v", Size: 1 << 20, Machine: "vm"}}}
	if err := d.wire(description, func(string) string { return links }); err != nil {
		t.Fatal(err)
	}
	if devices, err := loopdevice.Below(d.folder); err != nil || len(devices) != 1 {
		t.Errorf("devices %v, %v", devices, err)
	}
	// Its file is gone, too, as after a restart of the machine.
	if err := dead.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(); err != nil {
		t.Error(err)
	}
	// Another test may be the one that cleans up.
	waitFor(t, "the removal of everything", func() bool {
		devices, err := loopdevice.Below(d.folder)
		return err == nil && len(devices) == 0 && !there(d.folder) && !there(dead.lock.Name())
	})
}

// A copy has the content and none of the holes of a file.
func TestCopyIsSparse(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	if err := makeFile(from, "", 1<<30); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{0, 100 << 20, 1<<30 - 5} {
		if _, err := file.WriteAt([]byte("here!"), offset); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := makeFile(to, from, 1<<30+1); err != nil {
		t.Fatal(err)
	}
	if file, err = os.Open(to); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, offset := range []int64{0, 100 << 20, 1<<30 - 5} {
		got := make([]byte, 5)
		if _, err := file.ReadAt(got, offset); err != nil || string(got) != "here!" {
			t.Errorf("at %d: %q, %v", offset, got, err)
		}
	}
	if data, err := file.Seek(1<<20, 3); err != nil || data < 90<<20 {
		t.Errorf("there is content at %d, %v, where the file has a hole", data, err)
	}
	if err := makeFile(to, filepath.Join(folder, "none"), 1); err == nil {
		t.Error("a copy of no file")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v, want the two files", entries, err)
	}
}
