package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// The tests in this file have the numbers of the defects of the CSI driver that this one replaces.

func TestDefect01_LostAnswerMakesNoSecondVolume(t *testing.T) {
	withRig(t, slow(5*time.Second), func(r *rig) {
		r.disturb("POST /v1/volumes", 1, fault.Effect{Kind: fault.Drop})
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.Unavailable, "creating volume pvc-1")
		retried(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.counts(1, 0)
	})
}

func TestDefect02_RetryWithAnUnroundedSizeIsTheSameAnswer(t *testing.T) {
	withRig(t, slow(5*time.Second), func(r *rig) {
		request := fromSnapshot("pvc-1", r.snapshot("snapshot-1", r.create("pvc-0")))
		request.CapacityRange.RequiredBytes = 12*resource.GiB + 1
		request.AccessibilityRequirements = &csi.TopologyRequirement{Requisite: []*csi.Topology{
			{Segments: topology.OfNode(emulator.DefaultRegion, "nl-01a", emulator.DefaultRegion)}}}
		first := retried(r, r.CreateVolume, request)
		again := retried(r, r.CreateVolume, request)
		if !proto.Equal(first, again) || len(again.GetVolume().GetAccessibleTopology()) == 0 ||
			again.GetVolume().GetContentSource().GetSnapshot() == nil {
			t.Errorf("first %v, then %v; want the same, with topology and source", first, again)
		}
	})
}

func TestDefect03_SizeIsRoundedUp(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		made := retried(r, r.CreateVolume, wanted("pvc-1", 2*resource.GiB+1)).GetVolume()
		if v := r.only(); v.Size != 3 || made.GetCapacityBytes() != 3*resource.GiB {
			t.Errorf("the volume has %d GiB, and the answer says %d bytes; want 3 GiB", v.Size, made.GetCapacityBytes())
		}
		request := wanted("pvc-2", 2*resource.GiB+1)
		request.CapacityRange.LimitBytes = 3*resource.GiB - 1
		_, err := sidecar(r, r.CreateVolume, request)
		r.fails(err, codes.OutOfRange, "sizes are whole GiB")
	})
}

func TestDefect04_NewVolumeIsAvailable(t *testing.T) {
	withRig(t, slow(30*time.Second), func(r *rig) {
		if _, err := sidecar(r, r.CreateVolume, wanted("pvc-1", 1)); err != nil {
			t.Fatal(err)
		}
		if v := r.only(); v.Status != resource.VolumeAvailable {
			t.Errorf("the volume is %s after it was created, want available", v.Status)
		}
	})
}

func TestDefect05_RestoreChecksTheSnapshot(t *testing.T) {
	withRig(t, slow(30*time.Second), func(r *rig) {
		source := r.create("pvc-0")
		made := retried(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: source})
		id := made.GetSnapshot().GetSnapshotId()
		_, err := sidecar(r, r.CreateVolume, fromSnapshot("pvc-1", id))
		r.fails(err, codes.Unavailable, id, "not ready yet")
		<-time.After(time.Minute)
		small := fromSnapshot("pvc-1", id)
		small.CapacityRange.RequiredBytes = 9 * resource.GiB
		_, err = sidecar(r, r.CreateVolume, small)
		r.fails(err, codes.OutOfRange, "request at least 10Gi")
		small.CapacityRange = nil
		if got := retried(r, r.CreateVolume, small).GetVolume().GetCapacityBytes(); got != 16*resource.GiB {
			t.Errorf("without a size the volume has %d bytes, want the default", got)
		}
		r.ok(r.emulator.SetSnapshotStatus(id, "Failed"))
		<-time.After(2 * time.Second)
		_, err = sidecar(r, r.CreateVolume, fromSnapshot("pvc-2", id))
		r.fails(err, codes.FailedPrecondition, "create another one")
	})
}

func TestDefect06_PublishedNodesAreNodeNames(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		r.publishedAt(id, "worker-1")
		r.removeNode("worker-1")
		r.publishedAt(id)
	})
}

// publishedAt checks on which Nodes the driver says that the volume is.
func (r *rig) publishedAt(id string, nodes ...string) {
	r.Helper()
	<-time.After(2 * listAge)
	var listed []string
	for _, entry := range retried(r, r.ListVolumes, &csi.ListVolumesRequest{}).GetEntries() {
		if entry.GetVolume().GetVolumeId() == id {
			listed = entry.GetStatus().GetPublishedNodeIds()
		}
	}
	got := retried(r, r.ControllerGetVolume, &csi.ControllerGetVolumeRequest{VolumeId: id}).GetStatus()
	if !slices.Equal(listed, nodes) || !slices.Equal(got.GetPublishedNodeIds(), nodes) {
		r.Errorf("volume %s is published at %v and %v, want %v", id, listed, got.GetPublishedNodeIds(), nodes)
	}
}

func TestDefect07_AttachingIsNotAttached(t *testing.T) {
	withRig(t, slow(90*time.Second), func(r *rig) {
		id := r.create("pvc-1")
		for range 2 {
			_, err := within(r, 20*time.Second, r.ControllerPublishVolume, publish(id, "worker-1"))
			r.fails(err, codes.DeadlineExceeded, `"attaching"`)
		}
		<-time.After(time.Minute)
		retried(r, r.ControllerPublishVolume, publish(id, "worker-1"))
		_, err := within(r, 20*time.Second, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.fails(err, codes.DeadlineExceeded, `"detaching"`)
		_, err = within(r, 20*time.Second, r.ControllerPublishVolume, publish(id, "worker-1"))
		r.fails(err, codes.DeadlineExceeded, `"detaching"`)
		if n := r.written("POST /v1/volumes/{id}/attach"); n != 1 {
			t.Errorf("%d attach calls, want 1", n)
		}
	})
}

func TestDefect08_FailureEndsTheWait(t *testing.T) {
	withRig(t, slow(time.Minute), func(r *rig) {
		id := r.create("pvc-1")
		began := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := within(r, 3*time.Minute, r.ControllerPublishVolume, publish(id, "worker-1"))
			ended <- err
		}()
		<-time.After(10 * time.Second)
		r.ok(r.emulator.SetVolumeStatus(id, "Failed"))
		r.fails(<-ended, codes.FailedPrecondition, `status "failed"`, "ask the cloud's support")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the answer came after %s, want it soon after the failure", took)
		}
		r.ok(r.emulator.SetVolumeStatus(id, ""))
		<-time.After(2 * time.Minute)
		began = time.Now()
		_, err := within(r, 3*time.Minute, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		if took := time.Since(began); took > DefaultMaxWait {
			t.Errorf("the answer came after %s (%v), want at most %s", took, err, DefaultMaxWait)
		}
	})
}

func TestDefect09_DetachWithoutNodeOrMachine(t *testing.T) {
	config := slow(time.Second)
	config.Switches.KeepAttachedVolumes = true
	withRig(t, config, func(r *rig) {
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, ""))
		r.attached("")
		r.attach(id, "worker-1") // the machine is deleted, its Node is still there
		r.ok(r.emulator.DeleteMachine(r.machines["worker-1"]))
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.attached("")
		r.attach(id, "worker-2") // Node and machine are deleted
		r.ok(r.emulator.DeleteMachine(r.machines["worker-2"]))
		r.removeNode("worker-2")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-2"))
		r.attached("")
	})
}

func TestDefect10_CodesSayWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		effect fault.Effect
		code   codes.Code
		text   string
	}{
		"quota": {
			fault.Effect{Kind: fault.Quota}, codes.ResourceExhausted, "ask the cloud's support for a higher quota",
		},
		"throttled": {fault.Effect{Kind: fault.Refuse, Status: 429}, codes.Unavailable, "throttled"},
		"outage":    {fault.Effect{Kind: fault.Refuse, Status: 503}, codes.Unavailable, "unavailable"},
		"reset":     {fault.Effect{Kind: fault.Reset}, codes.Unavailable, "check endpoint"},
		"proxy":     {fault.Effect{Kind: fault.NotJSON}, codes.Unavailable, "check that endpoint"},
		"conflict":  {fault.Effect{Kind: fault.Refuse, Status: 409}, codes.Aborted, "retried automatically"},
		"forbidden": {fault.Effect{Kind: fault.Forbidden}, codes.PermissionDenied, "check cloudCredentials"},
		"expired":   {fault.Effect{Kind: fault.Unauthorised}, codes.PermissionDenied, "check cloudCredentials"},
		"refused":   {fault.Effect{Kind: fault.Refuse, Status: 422}, codes.InvalidArgument, "refused by the cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) { r.refusedWrites(test.effect, test.code, test.text) })
		})
	}
}

// refusedWrites checks the errors of requests whose write is refused.
func (r *rig) refusedWrites(effect fault.Effect, code codes.Code, text string) {
	r.Helper()
	id := r.create("pvc-1")
	snapshot := r.snapshot("snapshot-1", id)
	for _, operation := range []string{"POST *", "PUT *", "DELETE *"} {
		r.disturb(operation, 0, effect)
	}
	_, err := sidecar(r, r.CreateVolume, wanted("pvc-2", 1))
	r.fails(err, code, "creating volume pvc-2", text)
	_, err = sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-2", SourceVolumeId: id})
	r.fails(err, code, "creating snapshot snapshot-2 of volume "+id, text)
	if effect.Kind == fault.Quota {
		return // it is for what creates objects
	}
	_, err = sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
	r.fails(err, code, "attaching volume "+id+" to Node worker-1", text)
	_, err = sidecar(r, r.ControllerExpandVolume, expand(id, 20))
	r.fails(err, code, "expanding volume "+id, text)
	_, err = sidecar(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: snapshot})
	r.fails(err, code, "deleting snapshot "+snapshot, text)
	_, err = sidecar(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
	r.fails(err, code, "deleting volume "+id, text)
}

func TestDefect11_AttachingReadsNoMachines(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		r.attach(r.create("pvc-1"), "worker-1")
		if n := r.written("GET /v1/machines"); n != 0 {
			t.Errorf("%d lists of machines, want none, because Nodes name their machines", n)
		}
	})
}

func TestDefect12_UnknownSnapshotIsAnEmptyList(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		source := r.create("pvc-1")
		id := r.snapshot("snapshot-1", source)
		for _, test := range []struct {
			snapshot, source string
			want             int
		}{
			{"snap-0", "", 0}, {id, "", 1}, {id, source, 1}, {id, "v-0", 0},
			{"", source, 1}, {"", "v-0", 0}, {"", "", 1},
		} {
			response := retried(r, r.ListSnapshots,
				&csi.ListSnapshotsRequest{SnapshotId: test.snapshot, SourceVolumeId: test.source})
			if got := len(response.GetEntries()); got != test.want {
				t.Errorf("snapshot %q of volume %q: %d entries, want %d", test.snapshot, test.source, got, test.want)
			}
		}
	})
}

func TestDefect13_SnapshotIsAnsweredBeforeItIsReady(t *testing.T) {
	withRig(t, slow(5*time.Minute), func(r *rig) {
		source := r.create("pvc-1")
		request, began := &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: source}, time.Now()
		made := retried(r, r.CreateSnapshot, request).GetSnapshot()
		took := time.Since(began)
		if took > time.Second || made.GetReadyToUse() || made.GetSizeBytes() != 10*resource.GiB {
			t.Errorf("after %s: %v, want an answer at once that it is not ready, with its size", took, made)
		}
		<-time.After(6 * time.Minute)
		if !retried(r, r.CreateSnapshot, request).GetSnapshot().GetReadyToUse() {
			t.Error("the snapshot does not become ready")
		}
		r.ok(r.emulator.SetSnapshotStatus(made.GetSnapshotId(), "Failed"))
		<-time.After(2 * time.Minute)
		_, err := sidecar(r, r.GetSnapshot, &csi.GetSnapshotRequest{SnapshotId: made.GetSnapshotId()})
		r.fails(err, codes.FailedPrecondition, "failed in the cloud", "create another one")
		_, err = sidecar(r, r.CreateSnapshot, request)
		r.fails(err, codes.Aborted, "it was deleted; another one is created")
	})
}

func TestDefect14_ExpansionIsAnsweredWhenItIsDone(t *testing.T) {
	withRig(t, slow(30*time.Second), func(r *rig) {
		id := r.create("pvc-1")
		request := expand(id, 20)
		request.CapacityRange.RequiredBytes++
		done := retried(r, r.ControllerExpandVolume, request)
		v := r.only()
		if v.Size != 21 || done.GetCapacityBytes() != 21*resource.GiB || !done.GetNodeExpansionRequired() {
			t.Errorf("the volume has %d GiB, answer %v; want 21 GiB", v.Size, done)
		}
		block := expand(id, 15)
		block.VolumeCapability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		done = retried(r, r.ControllerExpandVolume, block)
		if done.GetCapacityBytes() != 21*resource.GiB || done.GetNodeExpansionRequired() {
			t.Errorf("answer %v, want the size that it has, and nothing to do on the Node", done)
		}
	})
}
