package controller

import (
	"maps"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// The volume context is the same after each retry: of a request that waited for too long for the cloud, by a process
// that knows nothing, and much later.
func TestOnlyVolumesThatWereCreatedEmptyAreMarked(t *testing.T) {
	for name, test := range map[string]struct {
		request func(r *rig) *csi.CreateVolumeRequest
		empty   bool
	}{
		"empty":  {func(*rig) *csi.CreateVolumeRequest { return wanted("pvc-1", resource.GiB) }, true},
		"cloned": {func(r *rig) *csi.CreateVolumeRequest { return fromVolume("pvc-1", r.create("pvc-0")) }, false},
		"restored": {func(r *rig) *csi.CreateVolumeRequest {
			return fromSnapshot("pvc-1", r.snapshot("snapshot-1", r.create("pvc-0")))
		}, false},
		"adopted": {func(r *rig) *csi.CreateVolumeRequest {
			request := wanted("pvc-1", resource.GiB)
			request.Parameters = map[string]string{volume.ParameterVolume: r.foreign("data", nil)}
			return request
		}, false},
		"labelled by a person": {func(r *rig) *csi.CreateVolumeRequest {
			r.foreign("pvc-1", r.Owner.Labels())
			return wanted("pvc-1", 10*resource.GiB)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(70*time.Second), func(r *rig) {
				request := test.request(r)
				for _, again := range []func(){func() {}, func() {}, r.restart, func() { <-time.After(time.Hour) }} {
					again()
					r.wantMark(retried(r, r.CreateVolume, request).GetVolume(), test.empty)
				}
			})
		})
	}
}

// wantMark checks the volume context of a volume.
func (r *rig) wantMark(made *csi.Volume, empty bool) {
	r.Helper()
	want := map[string]string{volume.NoFormat: "true"}
	for _, v := range r.volumes() {
		if empty && v.ID == made.GetVolumeId() {
			want = map[string]string{volume.CreatedEmpty: v.CreatedAt.UTC().Format(time.RFC3339)}
		}
	}
	if !maps.Equal(made.GetVolumeContext(), want) {
		r.Errorf("volume context %v, want %v", made.GetVolumeContext(), want)
	}
}

// The PersistentVolumes that the former driver and earlier versions made have no mark, and one that a person made may
// have a copy of another volume's. The former driver wrote no annotation about a snapshot.
func TestVolumesWithContentAreAttachedWithTheMark(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		empty := r.create("pvc-empty")
		restored := retried(r, r.CreateVolume, fromSnapshot("pvc-restored", r.snapshot("snapshot-1", empty)))
		cloned := retried(r, r.CreateVolume, fromVolume("pvc-cloned", empty))
		former := must[resource.Volume](r)(r.observer().CreateVolume(r.Context(), resource.Volume{Name: "former",
			Size: 10, Type: r.volumes()[0].Type, Snapshot: r.snapshots()[0].ID}))
		static := r.foreign("static", nil)
		mark := map[string]string{volume.CreatedEmpty: ""}
		for _, c := range []struct {
			id, want   string
			attributes map[string]string
		}{
			{id: empty, attributes: mark}, {id: empty}, {id: restored.GetVolume().GetVolumeId(), want: "true"},
			{id: cloned.GetVolume().GetVolumeId(), want: "true"}, {id: former.ID, want: "true"}, {id: static},
			{id: static, attributes: mark, want: "true"},
		} {
			request := publish(c.id, "worker-1")
			request.VolumeContext = c.attributes
			published := retried(r, r.ControllerPublishVolume, request).GetPublishContext()
			if got := published[volume.NoFormat]; got != c.want {
				t.Errorf("%+v: publish context %v", c, published)
			}
		}
	})
}

// A volume that may have been in another machine, also before this process started, is not new.
func TestVolumesThatWereAttachedBefore(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		attach := func(id, node, want string) {
			r.Helper()
			published := retried(r, r.ControllerPublishVolume, publish(id, node)).GetPublishContext()
			if got := published[volume.AttachedBefore]; got != want {
				r.Errorf("publish context %v of volume %s on %s, want %q", published, id, node, want)
			}
			retried(r, r.ControllerUnpublishVolume, unpublish(id, node))
		}
		<-time.After(time.Second) // the API shows times in whole seconds
		id := r.create("pvc-1")
		attach(id, "worker-1", "")
		attach(id, "worker-1", "")
		attach(id, "worker-2", "true")
		r.restart()
		attach(id, "worker-2", "true")
	})
}
