package controller

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// UIDs of two clusters with one name.
const (
	blueUID  = "0a1b2c3d-0000-4000-8000-00000000b1e0"
	greenUID = "0a1b2c3d-0000-4000-8000-0000000009ee"
)

// restartIn starts a process of the cluster with the UID.
func (r *rig) restartIn(uid types.UID, former string) {
	r.Helper()
	r.uid = cloud.NewClusterUID(former)
	r.uid.Set(uid)
	r.restart()
}

// Volumes and snapshots have the UID of their cluster. Those of another cluster with the same name are neither used nor
// deleted, unless the other cluster is a former one: then the next write contains the new UID.
func TestVolumesOfTwoClustersWithOneName(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		r.restartIn(blueUID, "")
		id := r.create("pvc-1")
		snapshot := r.snapshot("snapshot-0", id)
		for kind, annotations := range map[string]map[string]string{"volume": r.only().Annotations,
			"snapshot": r.snapshots()[0].Annotations} {
			if got := annotations[label.ClusterUID]; got != blueUID {
				t.Errorf("UID of the %s: %q", kind, got)
			}
		}
		r.restartIn(greenUID, "")
		_, err := sidecar(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
		r.fails(err, codes.FailedPrecondition, id, blueUID, "formerClusterUIDs")
		_, err = sidecar(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: snapshot})
		r.fails(err, codes.FailedPrecondition, snapshot, blueUID, "formerClusterUIDs")
		for _, err := range r.uses(id) {
			r.fails(err, status.Code(err), "volume "+id, blueUID, "formerClusterUIDs")
		}
		_, err = sidecar(r, r.CreateVolume, wanted("pvc-1", 10*resource.GiB))
		r.fails(err, codes.FailedPrecondition, id, blueUID, "formerClusterUIDs")
		_, err = sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-0", SourceVolumeId: id})
		r.fails(err, codes.FailedPrecondition, blueUID, "formerClusterUIDs")
		r.counts(1, 1)
		r.restartIn(greenUID, blueUID)
		for _, err := range r.uses(id) {
			r.ok(err)
		}
		for _, v := range r.volumes() {
			if v.ID == id && v.Annotations[label.ClusterUID] != greenUID {
				t.Errorf("UID after it was expanded: %q", v.Annotations[label.ClusterUID])
			}
		}
	})
}
