package controller

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// reconcile does what csi-attacher does for a VolumeAttachment each minute: a volume that ListVolumes lacks, or has at
// no Node, is published again.
func (r *rig) reconcile(id, node string) {
	r.Helper()
	<-time.After(2 * listAge)
	for _, entry := range retried(r, r.ListVolumes, &csi.ListVolumesRequest{}).GetEntries() {
		nodes := entry.GetStatus().GetPublishedNodeIds()
		if entry.GetVolume().GetVolumeId() == id && len(nodes) == 1 && nodes[0] == node {
			return
		}
	}
	r.attach(id, node)
}

// Lists are filtered by the label of the cluster. The attachments of volumes without this label are listed all the
// same: always, and after a restart of the process as soon as csi-attacher has asked for them.
func TestAttachmentsOfVolumesWithoutLabel(t *testing.T) {
	for name, labels := range map[string]resource.Labels{
		"of a person": nil, "of the former driver": {label.CSIDriver: "true", label.CSIDriverName: "csi.test"},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				id := r.foreign("data", labels)
				r.foreign("others", resource.Labels{label.CSICluster: "k8s-other", label.CSIDriverName: "csi.test"})
				r.attach(id, "worker-1")
				r.publishedAt(id, "worker-1")
				<-time.After(24 * time.Hour)
				r.publishedAt(id, "worker-1")

				r.restart()
				r.emulator.ResetCounters()
				r.reconcile(id, "worker-1")
				r.publishedAt(id, "worker-1")
				if _, writes := r.calls(); writes > 0 {
					t.Errorf("%v, want no write for a volume that is attached", r.emulator.Counters())
				}
				v, _, err := r.Storage.ReadVolume(r.Context(), id)
				r.ok(err)
				r.ok(r.observer().DetachVolume(r.Context(), v, r.machines["worker-1"]))
				r.publishedAt(id)
				r.reconcile(id, "worker-1")
				r.publishedAt(id, "worker-1")
				retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				r.publishedAt(id)
			})
		})
	}
}

// The volumes that others have attached to the machine of a Node count, also if lists lack them.
func TestMachineIsFullOfOthersVolumes(t *testing.T) {
	config := slow(time.Second)
	config.Switches.VolumesPerMachine = 1
	withRig(t, config, func(r *rig) {
		r.foreign("theirs", resource.Labels{label.CSICluster: "k8s-other"})
		r.ok(r.observer().AttachVolume(r.Context(), r.only(), r.machines["worker-1"], "by hand"))
		r.Controller.Kubernetes = &kubernetes{limits: map[string]int{"worker-1": 1}}
		<-time.After(2 * time.Minute)
		id := r.create("pvc-1")
		_, err := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
		r.fails(err, codes.ResourceExhausted, "has 1 volumes", "the limit of the Node is 1")
	})
}

// A claim and a VolumeSnapshot may be older than the process, and an object with their name may exist that lists never
// contain: there is no second one.
func TestNoSecondObjectThatListsLack(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		former := r.foreign("pvc-1", resource.Labels{label.CSIDriver: "true", label.CSIDriverName: "csi.test"})
		taken := must[resource.Snapshot](r)(r.observer().CreateSnapshot(r.Context(),
			resource.Snapshot{Name: "snapshot-1", Volume: former}, ""))
		<-time.After(time.Minute)
		r.restart()
		r.Controller.Kubernetes = &kubernetes{}
		<-time.After(time.Hour)
		for range 2 {
			_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
			r.fails(err, codes.AlreadyExists, former, "add the labels if it belongs to this cluster")
			_, err = sidecar(r, r.CreateSnapshot,
				&csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: former})
			r.fails(err, codes.AlreadyExists, taken.ID, "add the labels if it belongs to this cluster")
		}
		r.counts(1, 1)
	})
}

// The cloud may find new labels late. A volume and a snapshot that an earlier process created are used, and there is no
// second one.
func TestNoSecondObjectWhileLabelsAreNotFound(t *testing.T) {
	config := slow(time.Second)
	config.Delays.LabelFilters = 2 * time.Hour
	withRig(t, config, func(r *rig) {
		id := r.create("pvc-1")
		taken := r.snapshot("snapshot-1", id)
		r.restart()
		r.Controller.Kubernetes = &kubernetes{}
		<-time.After(time.Hour)
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", 10*resource.GiB))
		r.fails(err, codes.Aborted, "volume "+id+" exists already", "it is used when the request is retried")
		if again, snapshot := r.create("pvc-1"), r.snapshot("snapshot-1", id); again != id || snapshot != taken {
			t.Errorf("volume %s and snapshot %s, want %s and %s", again, snapshot, id, taken)
		}
		r.counts(1, 1)
	})
}

// The same, if the answer to the process that has created the object is lost.
func TestLostAnswersWhileLabelsAreNotFound(t *testing.T) {
	config := slow(time.Second)
	config.Delays.LabelFilters = 2 * time.Hour
	withRig(t, config, func(r *rig) {
		<-time.After(time.Hour)
		r.disturb("POST /v1/volumes", 1, fault.Effect{Kind: fault.Drop})
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", 10*resource.GiB))
		r.fails(err, codes.Unavailable)
		<-time.After(2 * time.Minute)
		id := r.create("pvc-1")
		r.disturb("POST /v1/snapshots", 1, fault.Effect{Kind: fault.Drop})
		request := &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id}
		_, err = sidecar(r, r.CreateSnapshot, request)
		r.fails(err, codes.Unavailable)
		<-time.After(2 * time.Minute)
		_, err = sidecar(r, r.CreateSnapshot, request)
		r.ok(err)
		r.counts(1, 1)
	})
}

// A snapshot without the label is used by its identity, as VolumeSnapshotContents that a person makes do.
func TestSnapshotWithoutLabel(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		source := r.create("pvc-1")
		taken := must[resource.Snapshot](r)(r.observer().CreateSnapshot(r.Context(),
			resource.Snapshot{Name: "by hand", Volume: source}, ""))
		<-time.After(time.Minute)
		r.restart()
		listed := retried(r, r.ListSnapshots, &csi.ListSnapshotsRequest{SnapshotId: taken.ID}).GetEntries()
		if len(listed) != 1 || !listed[0].GetSnapshot().GetReadyToUse() {
			t.Errorf("%v, want snapshot %s", listed, taken.ID)
		}
		retried(r, r.CreateVolume, fromSnapshot("pvc-2", taken.ID))
		_, err := sidecar(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: taken.ID})
		r.fails(err, codes.FailedPrecondition, taken.ID)
	})
}
