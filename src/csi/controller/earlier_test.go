package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// kubernetes is a cluster with one Lease, one object that volumes and snapshots are created for, and limits of Nodes.
// The zero value has none of them.
type kubernetes struct {
	lease      string
	acquired   time.Time
	kind       string
	object     metav1.ObjectMeta
	problem    error // of a read of the Lease
	limits     map[string]int
	limitReads int
}

// VolumeLimit implements Kubernetes.
func (k *kubernetes) VolumeLimit(_ context.Context, node, _ string) (int, error) {
	k.limitReads++
	return k.limits[node], nil
}

// LeaderSince implements Kubernetes.
func (k *kubernetes) LeaderSince(_ context.Context, lease string) (time.Time, error) {
	if lease != k.lease {
		return time.Time{}, k.problem
	}
	return k.acquired, k.problem
}

// Object implements Kubernetes.
func (k *kubernetes) Object(_ context.Context, kind schema.GroupVersionResource, namespace, name string) (metav1.Object,
	error) {
	if kind.Resource != k.kind || namespace != k.object.Namespace || name != k.object.Name {
		return nil, errors.New("there is no such object")
	}
	return &k.object, nil
}

// provisioner is a cluster with the Lease of csi-provisioner and a claim that is created now. Both stay as they are.
func provisioner(acquired time.Time, uid string) *kubernetes {
	return &kubernetes{lease: "csi-test", acquired: acquired, kind: "persistentvolumeclaims",
		object: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: types.UID(uid),
			CreationTimestamp: metav1.Now()}}
}

// claimed is a request for the volume of the claim.
func claimed(uid string) *csi.CreateVolumeRequest {
	r := wanted("pvc-"+uid, resource.GiB)
	r.Parameters = map[string]string{"csi.storage.k8s.io/pvc/namespace": "shop", "csi.storage.k8s.io/pvc/name": "data"}
	return r
}

// lag makes lists lack what was created in the time before.
func (r *rig) lag(by time.Duration) {
	r.disturb("GET *", 0, fault.Effect{Kind: fault.Stale, Delay: by})
}

// A process that has run for hours becomes the leader, after another process has created the volume and ended.
func TestTheNextLeaderMakesNoSecondVolume(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		next := r.Controller
		<-time.After(3 * time.Hour)
		r.lag(30 * time.Second)
		r.disturb("POST /v1/volumes", 1, fault.Effect{Kind: fault.Drop})
		r.restart()
		claims := provisioner(time.Now(), "1")
		_, err := sidecar(r, r.CreateVolume, claimed("1"))
		r.fails(err, codes.Unavailable, "creating volume pvc-1")

		<-time.After(15 * time.Second)
		r.Controller, claims.acquired = next, time.Now()
		r.Controller.Kubernetes = claims
		_, err = sidecar(r, r.CreateVolume, claimed("1"))
		r.fails(err, codes.Aborted, "creating pvc-1: an earlier process may have created it", "again for 1m1s")
		retried(r, r.CreateVolume, claimed("1"))
		r.counts(1, 0)
	})
}

// createdAtOnce checks that the volume is created without waiting.
func (r *rig) createdAtOnce(request *csi.CreateVolumeRequest) {
	r.Helper()
	began := time.Now()
	_, err := sidecar(r, r.CreateVolume, request)
	if took := time.Since(began); err != nil || took > 2*time.Second {
		r.Errorf("the volume was created after %s (%v), want at once", took, err)
	}
}

// Neither a claim that is newer than the process and the leader waits, nor one long after.
func TestNewClaimsDoNotWait(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		r.restart()
		<-time.After(time.Second)
		api := provisioner(time.Now(), "1")
		r.Controller.Kubernetes = api
		<-time.After(time.Second)
		api.object.CreationTimestamp = metav1.Now()
		r.createdAtOnce(claimed("1"))
		<-time.After(time.Minute)
		r.createdAtOnce(claimed("2"))
		r.counts(2, 0)
	})
}

// A creation waits if it is not certain that its claim is newer than the process and the leader.
func TestUncertainClaimsWait(t *testing.T) {
	for name, change := range map[string]func(*kubernetes, *csi.CreateVolumeRequest){
		"older than the leader": func(k *kubernetes, _ *csi.CreateVolumeRequest) { k.acquired = time.Now() },
		"older than the process": func(k *kubernetes, _ *csi.CreateVolumeRequest) {
			k.object.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		},
		"as old as the leader": func(k *kubernetes, _ *csi.CreateVolumeRequest) {
			k.acquired = k.object.CreationTimestamp.Time
		},
		"not named":        func(_ *kubernetes, r *csi.CreateVolumeRequest) { r.Parameters = nil },
		"deleted":          func(k *kubernetes, _ *csi.CreateVolumeRequest) { k.object.Name = "other" },
		"of the same name": func(k *kubernetes, _ *csi.CreateVolumeRequest) { k.object.UID = "2" },
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, emulator.Config{}, func(r *rig) {
				<-time.After(time.Second)
				api, request := provisioner(time.Time{}, "1"), claimed("1")
				<-time.After(time.Second)
				change(api, request)
				r.Controller.Kubernetes = api
				_, err := sidecar(r, r.CreateVolume, request)
				r.fails(err, codes.Aborted, "an earlier process may have created it")
				r.counts(0, 0)
			})
		})
	}
}

// While the Lease cannot be read, nothing is created.
func TestLeaseIsNotReadable(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		api := provisioner(time.Time{}, "1")
		api.problem = errors.New("etcd has no leader")
		r.Controller.Kubernetes = api
		<-time.After(time.Hour)
		_, err := sidecar(r, r.CreateVolume, claimed("1"))
		r.fails(err, codes.Unavailable, "creating pvc-1: reading Lease csi-test: etcd has no leader")
		api.problem = nil
		r.createdAtOnce(claimed("1"))
		r.counts(1, 0)
	})
}

// The error of a creation that names no claim, such as one of csi-sanity, reports that only creations wait, and until
// when. Everything else is done meanwhile.
func TestOnlyCreationsWait(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		id := r.create("pvc-1")
		r.api = &kubernetes{}
		r.restart()
		until := time.Now().Add(store.VisibilityDelay + r.Poll).UTC().Format(time.RFC3339)
		<-time.After(10 * time.Second)
		_, creating := sidecar(r, r.CreateVolume, wanted("pvc-2", resource.GiB))
		r.fails(creating, codes.Aborted, "only creations wait, until "+until,
			"without the parameter csi.storage.k8s.io/pvc/name")
		_, taking := sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id})
		r.fails(taking, codes.Aborted, "only creations wait, until "+until,
			"without the parameter csi.storage.k8s.io/volumesnapshot/name")
		_, attaching := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
		r.ok(attaching)
	})
}

// Snapshots depend on the Lease of csi-snapshotter and on the age of the VolumeSnapshot.
func TestSnapshotsWait(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		id := r.create("pvc-1")
		<-time.After(time.Hour)
		api := &kubernetes{lease: "external-snapshotter-leader-csi-test", acquired: time.Now(), kind: "volumesnapshots",
			object: metav1.ObjectMeta{Namespace: "shop", Name: "daily", UID: "1",
				CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Second))}}
		r.Controller.Kubernetes = api
		request := &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id, Parameters: map[string]string{
			"csi.storage.k8s.io/volumesnapshot/namespace": "shop", "csi.storage.k8s.io/volumesnapshot/name": "daily"}}
		_, err := sidecar(r, r.CreateSnapshot, request)
		r.fails(err, codes.Aborted, "creating snapshot-1: an earlier process may have created it")
		r.counts(1, 0)
		<-time.After(time.Second)
		api.object.CreationTimestamp = metav1.Now()
		if _, err := sidecar(r, r.CreateSnapshot, request); err != nil {
			t.Error(err)
		}
		r.counts(1, 1)
	})
}
