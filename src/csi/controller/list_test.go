package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

func itself(text string) string { return text }

// Objects that are created or deleted between two pages move no others to another page.
func TestPagesAreStable(t *testing.T) {
	first, token, err := paginate([]string{"b", "d", "f", "h"}, itself, "", 2)
	if err != nil || !slices.Equal(first, []string{"b", "d"}) {
		t.Fatal(first, err)
	}
	for name, test := range map[string]struct{ now, want []string }{
		"unchanged":                 {[]string{"b", "d", "f", "h"}, []string{"f", "h"}},
		"one before is created":     {[]string{"a", "b", "d", "f", "h"}, []string{"f", "h"}},
		"one before is deleted":     {[]string{"d", "f", "h"}, []string{"f", "h"}},
		"that of the token is gone": {[]string{"b", "f", "h"}, []string{"f", "h"}},
		"all others are gone":       {nil, nil},
	} {
		second, next, err := paginate(test.now, itself, token, 2)
		if !slices.Equal(second, test.want) || next != "" || err != nil {
			t.Errorf("%s: %v, next %q, %v; want %v", name, second, next, err, test.want)
		}
	}
}

// Whatever the token is: the page is a part of the list in its order, at most as long as asked for, or the error has a
// code of the specification. Following the tokens leads to all objects, each once.
func FuzzPaginate(f *testing.F) {
	f.Add("", int32(1), 5)
	f.Add("after:003", int32(2), 7)
	f.Add("3", int32(-1), 0)
	f.Add("after:", int32(0), 3)
	f.Fuzz(func(t *testing.T, token string, limit int32, size int) {
		var all []string
		for i := range size & 63 {
			all = append(all, fmt.Sprintf("%03d", i))
		}
		page, _, err := paginate(all, itself, token, limit)
		if code := status.Code(err); code != codes.OK && code != codes.Aborted && code != codes.InvalidArgument {
			t.Errorf("token %q: %v", token, err)
		}
		if !slices.IsSorted(page) || limit > 0 && len(page) > int(limit) {
			t.Errorf("token %q, at most %d: %v", token, limit, page)
		}
		if limit <= 0 {
			return
		}
		var found []string
		for next, pages := "", 0; ; pages++ {
			page, next, err = paginate(all, itself, next, limit)
			if err != nil || pages > len(all) {
				t.Fatalf("page %d: %v", pages, err)
			}
			if found = append(found, page...); next == "" {
				break
			}
		}
		if !slices.Equal(found, all) {
			t.Errorf("the pages are %v, want %v", found, all)
		}
	})
}

func TestListVolumesInPages(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		var want []string
		for i := range 5 {
			want = append(want, r.create(fmt.Sprintf("pvc-%d", i)))
		}
		slices.Sort(want)
		request := &csi.ListVolumesRequest{MaxEntries: 2}
		response := retried(r, r.ListVolumes, request)
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: want[1]})
		r.create("pvc-new")
		for request.StartingToken = response.GetNextToken(); request.GetStartingToken() != ""; {
			page := retried(r, r.ListVolumes, request)
			response.Entries = append(response.Entries, page.GetEntries()...)
			request.StartingToken = page.GetNextToken()
		}
		for _, id := range want {
			n := 0
			for _, entry := range response.GetEntries() {
				if entry.GetVolume().GetVolumeId() == id {
					n++
				}
			}
			if n != 1 {
				t.Errorf("volume %s is in %d entries, want 1", id, n)
			}
		}
		_, err := sidecar(r, r.ListVolumes, &csi.ListVolumesRequest{StartingToken: "3"})
		r.fails(err, codes.Aborted, "list from the beginning")
		_, err = sidecar(r, r.ListVolumes, &csi.ListVolumesRequest{MaxEntries: -1})
		r.fails(err, codes.InvalidArgument, "want 0 or more")
	})
}

func TestVolumeHealth(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		good, bad := r.create("pvc-1"), r.create("pvc-2")
		r.ok(r.emulator.SetVolumeStatus(bad, "Failed"))
		<-time.After(2 * listAge)
		for id, want := range map[string]int{good: 0, bad: 1} {
			health := retried(r, r.ControllerGetVolumeHealth, &csi.ControllerGetVolumeHealthRequest{VolumeId: id})
			if got := health.GetVolumeHealth().GetHealthStatuses(); len(got) != want {
				t.Errorf("volume %s: %v, want %d statuses", id, got, want)
			}
		}
		all := retried(r, r.ControllerListVolumeHealth, &csi.ControllerListVolumeHealthRequest{}).GetEntries()
		if len(all) != 1 || all[0].GetVolumeId() != bad {
			t.Errorf("%v, want volume %s", all, bad)
		}
		_, err := sidecar(r, r.ControllerGetVolumeHealth, &csi.ControllerGetVolumeHealthRequest{VolumeId: "v-0"})
		r.fails(err, codes.NotFound)
	})
}

func TestValidateCapabilities(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		request := &csi.ValidateVolumeCapabilitiesRequest{VolumeId: r.create("pvc-1"),
			VolumeCapabilities: []*csi.VolumeCapability{mounted()}}
		if retried(r, r.ValidateVolumeCapabilities, request).GetConfirmed() == nil {
			t.Error("a capability is not confirmed that the volume has")
		}
		request.VolumeCapabilities[0].AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
		got := retried(r, r.ValidateVolumeCapabilities, request)
		if got.GetConfirmed() != nil || got.GetMessage() == "" {
			t.Errorf("%v, want a message and no confirmation", got)
		}
		request.VolumeId = "v-0"
		_, err := sidecar(r, r.ValidateVolumeCapabilities, request)
		r.fails(err, codes.NotFound)
	})
}

func TestSnapshotsOfTheSameName(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		first, second := r.create("pvc-1"), r.create("pvc-2")
		id := r.snapshot("snapshot-1", first)
		if r.snapshot("snapshot-1", first) != id {
			t.Error("a second request makes another snapshot")
		}
		_, err := sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: second})
		r.fails(err, codes.AlreadyExists, "is of volume "+first)
		_, err = sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-2", SourceVolumeId: "v-0"})
		r.fails(err, codes.NotFound, "volume v-0 does not exist")
		_, err = sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-2", SourceVolumeId: first,
			Parameters: map[string]string{"speed": "fast"}})
		r.fails(err, codes.InvalidArgument, `"speed"`, "there are no parameters")
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: first}) // its snapshot remains
		restored := retried(r, r.CreateVolume, fromSnapshot("pvc-3", id)).GetVolume()
		if restored.GetCapacityBytes() != 10*resource.GiB {
			t.Errorf("the restored volume is %v, want 10 GiB", restored)
		}
		retried(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: id})
		retried(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: id})
		r.counts(2, 0)
	})
}

// A clone needs a snapshot. If it cannot be created, the snapshot is removed, and the request is repeated until it is.
func TestCloneThatFails(t *testing.T) {
	withRig(t, slow(5*time.Second), func(r *rig) {
		source := r.create("pvc-source")
		r.ok(r.emulator.SetQuota("", "volumes", 1))
		r.disturb("DELETE /v1/snapshots/{id}", 0, fault.Effect{Kind: fault.Refuse, Status: 503})
		_, err := sidecar(r, r.CreateVolume, fromVolume("pvc-1", source))
		r.fails(err, codes.Unavailable, "quota", "its snapshot is still to be deleted", "it is retried")
		r.counts(1, 1)
		_, err = sidecar(r, r.CreateVolume, fromVolume("pvc-1", source))
		r.fails(err, codes.ResourceExhausted, "quota")
		<-time.After(time.Minute)
		r.counts(1, 0)
		r.ok(r.emulator.SetQuota("", "volumes", 2))
		clone := retried(r, r.CreateVolume, fromVolume("pvc-1", source)).GetVolume()
		if clone.GetContentSource().GetVolume().GetVolumeId() != source {
			t.Errorf("content source %v, want volume %s", clone.GetContentSource(), source)
		}
		_, err = sidecar(r, r.CreateVolume, wanted("pvc-1", 10*resource.GiB))
		r.fails(err, codes.AlreadyExists, "other content")
		r.counts(2, 0)
	})
}

// The snapshot of a clone that the cloud has refused to delete is deleted with the clone, also if the clone is gone at
// the next look.
func TestSnapshotOfAClone(t *testing.T) {
	withRig(t, slow(0), func(r *rig) {
		source := r.create("pvc-source")
		r.disturb("DELETE /v1/snapshots/{id}", 1, fault.Effect{Kind: fault.Refuse, Status: 409})
		clone := retried(r, r.CreateVolume, fromVolume("pvc-1", source)).GetVolume().GetVolumeId()
		r.counts(2, 1)
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: clone})
		r.counts(1, 0)
	})
}

// TestAbandonedCloneSnapshot: the cloud refuses to delete the snapshot of a clone. It is deleted with another volume,
// after an hour.
func TestAbandonedCloneSnapshot(t *testing.T) {
	for status := range conflicts() {
		withRig(t, slow(5*time.Second), func(r *rig) {
			source := r.create("pvc-source")
			r.disturb("DELETE /v1/snapshots/{id}", 1000, fault.Effect{Kind: fault.Refuse, Status: status})
			clone := retried(r, r.CreateVolume, fromVolume("pvc-clone", source)).GetVolume().GetVolumeId()
			retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: clone})
			r.emulator.ClearFaults()
			r.restart()
			retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: r.create("pvc-2")})
			r.counts(1, 1)
			<-time.After(abandonedAfter)
			retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: r.create("pvc-3")})
			<-time.After(time.Minute)
			r.counts(1, 0)
		})
	}
}

// The cloud makes no snapshots of volumes that are attached: the error says what to do, and the requests succeed when
// it was done.
func TestSnapshotOfAnAttachedVolume(t *testing.T) {
	config := slow(5 * time.Second)
	config.Switches.StrictSnapshots = true
	withConflicts(t, config, func(r *rig, unknown codes.Code) {
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		taken := &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id}
		_, taking := sidecar(r, r.CreateSnapshot, taken)
		_, cloning := sidecar(r, r.CreateVolume, fromVolume("pvc-clone", id))
		for _, err := range []error{taking, cloning} {
			r.fails(err, codes.FailedPrecondition, "of volume "+id, "attached to machine "+r.machines["worker-1"],
				"are Available", "stop the pods that use it")
		}
		_, err := within(r, 2500*time.Millisecond, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.fails(err, codes.DeadlineExceeded)
		_, err = sidecar(r, r.CreateSnapshot, taken)
		r.fails(err, unknown, "are Available")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		retried(r, r.CreateSnapshot, taken)
		retried(r, r.CreateVolume, fromVolume("pvc-clone", id))
		r.counts(2, 1)
	})
}
