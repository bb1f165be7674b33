package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

func TestCreateVolume(t *testing.T) {
	withRig(t, slow(5*time.Second), func(r *rig) {
		request := wanted("pvc-1", 3*resource.GiB)
		request.Parameters = map[string]string{"volume-type": "premium block", "fstype": "xfs",
			"csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "shop"}
		made := retried(r, r.CreateVolume, request).GetVolume()
		v := r.only()
		if made.GetVolumeId() != v.ID || made.GetCapacityBytes() != 3*resource.GiB ||
			topology.Region(made.GetAccessibleTopology()[0].GetSegments()) != emulator.DefaultRegion {
			t.Errorf("answer %v, want volume %s of 3 GiB in region %s", made, v.ID, emulator.DefaultRegion)
		}
		if v.Status != resource.VolumeAvailable || v.Name != "pvc-1" || !r.Owner.Owns(v.Labels) ||
			v.Description != "PersistentVolumeClaim shop/data" || v.Annotations[label.CSIFilesystem] != "xfs" {
			t.Errorf("volume in the cloud: %+v", v)
		}
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: v.ID})
		<-time.After(time.Minute)
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: v.ID})
		r.counts(0, 0)
	})
}

// Zones are those of the volume, if the Nodes have zones.
func TestCreateVolumeInZones(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		request := wanted("pvc-1", 1)
		request.AccessibilityRequirements = &csi.TopologyRequirement{Requisite: []*csi.Topology{
			{Segments: topology.Of("de-01", "")},
			{Segments: topology.OfNode(emulator.DefaultRegion, "nl-01a", emulator.DefaultRegion)}}}
		if got := retried(r, r.CreateVolume, request).GetVolume().GetAccessibleTopology(); len(got) != 3 ||
			topology.Zone(got[0].GetSegments()) == "" {
			t.Errorf("topology %v, want the zones of the region", got)
		}
		request.Name = "pvc-2"
		request.AccessibilityRequirements.Requisite = request.AccessibilityRequirements.Requisite[:1]
		_, err := sidecar(r, r.CreateVolume, request)
		r.fails(err, codes.ResourceExhausted, "allows only de-01", "correct allowedTopologies")
	})
}

// A zone that the region does not have is refused, like another region. The zones are not read for each volume, and are
// not needed.
func TestCreateVolumeInAnUnknownZone(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		request := wanted("pvc-1", 1)
		in := func(zones ...string) {
			request.AccessibilityRequirements = &csi.TopologyRequirement{}
			for _, zone := range zones {
				request.AccessibilityRequirements.Requisite = append(request.AccessibilityRequirements.Requisite,
					&csi.Topology{Segments: topology.Of(emulator.DefaultRegion, zone)})
			}
		}
		in("nl-01z", "de-01a")
		for range 2 {
			_, err := sidecar(r, r.CreateVolume, request)
			r.fails(err, codes.ResourceExhausted, "region nl-01 with the zones nl-01a, nl-01b, nl-01c",
				"allows only zone de-01a, zone nl-01z", "correct allowedTopologies")
		}
		r.counts(0, 0)
		in("nl-01z", "nl-01b")
		r.emulator.ResetCounters()
		for i := range 10 {
			request.Name = fmt.Sprintf("pvc-%d", i)
			retried(r, r.CreateVolume, request)
		}
		if n := r.written("GET /v1/regions"); n != 0 {
			t.Errorf("regions are read %d times although they are known, want never", n)
		}
		r.restart()
		r.disturb("GET /v1/regions", 0, fault.Effect{Kind: fault.Forbidden})
		in("nl-01z")
		request.Name = "pvc-last"
		retried(r, r.CreateVolume, request)
	})
}

// The cloud takes longer than the provisioner waits: the answer says so, and a later request finds the same volume.
func TestCreateVolumeInASlowCloud(t *testing.T) {
	withRig(t, slow(5*time.Minute), func(r *rig) {
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.DeadlineExceeded, "the cloud has not finished yet", `"creating"`, "it is retried")
		id := r.only().ID
		if got := retried(r, r.CreateVolume, wanted("pvc-1", resource.GiB)).GetVolume().GetVolumeId(); got != id {
			t.Errorf("the retry returns volume %s, want %s", got, id)
		}
		r.counts(1, 0)
	})
}

func TestCreateVolumeRefuses(t *testing.T) {
	source := &csi.VolumeContentSource{}
	for name, test := range map[string]struct {
		change func(*csi.CreateVolumeRequest)
		code   codes.Code
		text   string
	}{
		"name": {func(r *csi.CreateVolumeRequest) { r.Name = "" }, codes.InvalidArgument, "name is missing"},
		"capabilities": {
			func(r *csi.CreateVolumeRequest) { r.VolumeCapabilities = nil }, codes.InvalidArgument, "missing",
		},
		"parameter": {
			func(r *csi.CreateVolumeRequest) { r.Parameters = map[string]string{"size": "1"} },
			codes.InvalidArgument, "is not known",
		},
		"type": {
			func(r *csi.CreateVolumeRequest) { r.Parameters = map[string]string{"volume-type": "tape"} },
			codes.InvalidArgument, "the types are: Block",
		},
		"source": {
			func(r *csi.CreateVolumeRequest) { r.VolumeContentSource = source },
			codes.InvalidArgument, "want a snapshot or a volume",
		},
		"snapshot": {
			func(r *csi.CreateVolumeRequest) {
				r.VolumeContentSource = fromSnapshot("", "snap-0").VolumeContentSource
			},
			codes.NotFound, "snapshot snap-0 does not exist",
		},
		"volume": {
			func(r *csi.CreateVolumeRequest) { r.VolumeContentSource = fromVolume("", "v-0").VolumeContentSource },
			codes.NotFound, "volume v-0 does not exist",
		},
		"size": {
			func(r *csi.CreateVolumeRequest) { r.CapacityRange.RequiredBytes = 1 << 60 },
			codes.OutOfRange, "volumes have at most",
		},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, emulator.Config{}, func(r *rig) {
				request := wanted("pvc-1", resource.GiB)
				test.change(request)
				_, err := sidecar(r, r.CreateVolume, request)
				r.fails(err, test.code, test.text)
				r.counts(0, 0)
			})
		})
	}
}

// The cloud has a volume with the name, which a request does or does not ask for. What only a new volume needs is not
// looked at.
func TestCreateVolumeThatExists(t *testing.T) {
	sized := func(required, limit int64) *csi.CreateVolumeRequest {
		r := wanted("pvc-1", required)
		r.CapacityRange.LimitBytes = limit
		return r
	}
	ofType := func(name string) *csi.CreateVolumeRequest {
		r := wanted("pvc-1", 10*resource.GiB)
		r.Parameters = map[string]string{"volume-type": name}
		return r
	}
	elsewhere := wanted("pvc-1", 10*resource.GiB)
	elsewhere.AccessibilityRequirements = &csi.TopologyRequirement{Requisite: []*csi.Topology{
		{Segments: topology.Of("de-01", "")}}}
	for name, test := range map[string]struct {
		request *csi.CreateVolumeRequest
		text    string // of an AlreadyExists error; "": the volume is the answer
	}{
		"the same":          {wanted("pvc-1", 10*resource.GiB), ""},
		"a lower size":      {sized(1, 0), ""},
		"a higher size":     {sized(10*resource.GiB+1, 0), "another size"},
		"an absurd size":    {sized(1<<60, 0), "another size"},
		"a limit below":     {sized(0, 1), "another size"},
		"a snapshot":        {fromSnapshot("pvc-1", "snap-0"), "other content"},
		"a clone":           {fromVolume("pvc-1", "v-0"), "other content"},
		"another type":      {ofType("premium block"), "another volume type"},
		"a type that ended": {ofType("tape"), ""},
		"another region":    {elsewhere, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, emulator.Config{}, func(r *rig) {
				id := r.create("pvc-1")
				made, err := sidecar(r, r.CreateVolume, test.request)
				if test.text != "" {
					r.fails(err, codes.AlreadyExists, "volume "+id+" with the name pvc-1 exists", test.text)
				} else if r.ok(err); made.GetVolume().GetVolumeId() != id {
					t.Errorf("the answer is %v, want volume %s", made, id)
				}
				r.counts(1, 0)
			})
		})
	}
}

// Kubernetes was restored from a backup of before the volume was there, and the volume failed since: its data stay.
func TestVolumeThatFailedLaterIsNotReplaced(t *testing.T) {
	withRig(t, emulator.Config{}, func(r *rig) {
		id := r.create("pvc-1")
		<-time.After(2 * time.Hour)
		r.ok(r.emulator.SetVolumeStatus(id, "Failed"))
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.FailedPrecondition, id, "may contain data", "ask the cloud's support")
		r.counts(1, 0)
	})
}

// A volume whose creation fails in the cloud is deleted, and created again. The request is repeated until that is done.
func TestCreateVolumeFailsInTheCloud(t *testing.T) {
	withRig(t, slow(time.Minute), func(r *rig) {
		_, err := sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.DeadlineExceeded)
		id := r.only().ID
		r.ok(r.emulator.SetVolumeStatus(id, "Failed"))
		r.disturb("DELETE /v1/volumes/{id}", 2, fault.Effect{Kind: fault.Refuse, Status: 422})
		_, err = sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.Unavailable, id, "refused by the cloud")
		_, err = sidecar(r, r.CreateVolume, wanted("pvc-1", resource.GiB))
		r.fails(err, codes.Aborted, id, "it was deleted; another one is created")
		<-time.After(2 * time.Minute)
		if retried(r, r.CreateVolume, wanted("pvc-1", resource.GiB)).GetVolume().GetVolumeId() == id {
			t.Error("the failed volume is used again")
		}
		r.counts(1, 0)
	})
}

// answersLost are the ways in which the answer to a write is lost after the write was carried out.
func answersLost() []fault.Kind {
	return []fault.Kind{fault.Drop, fault.Truncate, fault.Malformed, fault.Empty}
}

// Whatever answer is lost: there is one volume, and the clone's snapshot is removed.
func TestLostAnswers(t *testing.T) {
	for _, kind := range answersLost() {
		for _, stale := range []bool{false, true} {
			t.Run(string(kind), func(t *testing.T) {
				withRig(t, slow(5*time.Second), func(r *rig) { loseAnswers(r, kind, stale) })
			})
		}
	}
}

func loseAnswers(r *rig, kind fault.Kind, stale bool) {
	source := r.create("pvc-source")
	for _, write := range []string{"POST /v1/volumes", "POST /v1/snapshots", "DELETE /v1/snapshots/{id}",
		"POST /v1/volumes/{id}/attach"} {
		r.disturb(write, 1, fault.Effect{Kind: kind})
	}
	if stale { // the lists of the first minute are those from before
		must[string](r)(r.emulator.Inject(fault.Rule{Operation: "GET *", Until: store.VisibilityDelay - time.Second,
			Effect: fault.Effect{Kind: fault.Stale, Delay: store.VisibilityDelay - time.Second}}))
	}
	clone := retried(r, r.CreateVolume, fromVolume("pvc-clone", source)).GetVolume().GetVolumeId()
	r.disturb("POST /v1/volumes", 1, fault.Effect{Kind: kind})
	r.create("pvc-2")
	r.disturb("POST /v1/snapshots", 1, fault.Effect{Kind: kind})
	r.snapshot("snapshot-1", source)
	r.attach(clone, "worker-1")
	r.counts(3, 1)
}

// Lists hang for longer than the sidecar waits, or for longer than a call may take: the error is one after which
// sidecars try again, and not one after which the provisioner forgets the volume.
func TestAListHangs(t *testing.T) {
	for _, timeout := range []time.Duration{15 * time.Second, sidecarTimeout} {
		withRig(t, emulator.Config{}, func(r *rig) {
			id := r.create("pvc-1")
			<-time.After(time.Hour)
			r.disturb("GET /v1/volumes", 0, fault.Effect{Kind: fault.Hang})
			_, err := within(r, timeout, r.CreateVolume, wanted("pvc-2", 1))
			r.retriedAfter(err)
			_, err = within(r, timeout, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
			r.retriedAfter(err)
			_, err = within(r, timeout, r.ControllerPublishVolume, publish(id, "worker-1"))
			r.retriedAfter(err)
			r.emulator.ClearFaults()
			r.create("pvc-2")
			r.counts(2, 0)
		})
	}
}

// retriedAfter checks that sidecars send the request again after the error, which says what it waited for.
func (r *rig) retriedAfter(err error) {
	r.Helper()
	if !isRetried(err) || !strings.Contains(err.Error(), "volumes") {
		r.Errorf("%v, want an error about volumes after which sidecars try again", err)
	}
}

func TestAdoptVolume(t *testing.T) {
	adopted := func(id string, bytes int64) *csi.CreateVolumeRequest {
		request := wanted("pvc-1", bytes)
		request.Parameters = map[string]string{"volume-identity": id}
		return request
	}
	withRig(t, slow(10*time.Second), func(r *rig) {
		id := r.foreign("data", nil)
		made := retried(r, r.CreateVolume, adopted(id, resource.GiB)).GetVolume()
		if made.GetVolumeId() != id || made.GetCapacityBytes() != 10*resource.GiB || !r.Owner.Owns(r.only().Labels) {
			t.Errorf("answer %v, want volume %s of 10 GiB, with labels: %+v", made, id, r.only())
		}
		retried(r, r.CreateVolume, adopted(id, resource.GiB))
		second := adopted(id, resource.GiB)
		second.Name = "pvc-second"
		_, err := sidecar(r, r.CreateVolume, second)
		r.fails(err, codes.AlreadyExists, "is used for the PersistentVolume", "already")
		dynamic := adopted(r.create("pvc-dynamic"), resource.GiB)
		_, err = sidecar(r, r.CreateVolume, dynamic)
		r.fails(err, codes.AlreadyExists, "was created for the PersistentVolume pvc-dynamic")
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: dynamic.GetParameters()["volume-identity"]})
		_, err = sidecar(r, r.CreateVolume, adopted(id, 11*resource.GiB))
		r.fails(err, codes.OutOfRange, "has 10 GiB", "resize it in the cloud, or request less")
		limited := adopted(id, resource.GiB)
		limited.CapacityRange.LimitBytes = 9 * resource.GiB
		_, err = sidecar(r, r.CreateVolume, limited)
		r.fails(err, codes.OutOfRange, "volumes do not become smaller")
		_, err = sidecar(r, r.CreateVolume, adopted("v-0", resource.GiB))
		r.fails(err, codes.NotFound)
		copied := adopted(id, resource.GiB)
		copied.VolumeContentSource = fromVolume("", id).VolumeContentSource
		_, err = sidecar(r, r.CreateVolume, copied)
		r.fails(err, codes.InvalidArgument, "remove the data source")
		other := r.foreign("other", resource.Labels{label.CSICluster: "k8s-other", label.CSIDriverName: "csi.test"})
		_, err = sidecar(r, r.CreateVolume, adopted(other, resource.GiB))
		r.fails(err, codes.FailedPrecondition, `belongs to cluster "k8s-other"`)
		retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
		_, err = sidecar(r, r.CreateVolume, adopted(id, resource.GiB))
		r.fails(err, codes.NotFound, "being deleted")
	})
}

// foreign creates a volume of 10 GiB that is not ours, and waits until it is available.
func (r *rig) foreign(name string, labels resource.Labels) string {
	r.Helper()
	kind := must[resource.VolumeType](r)(r.Storage.Type(r.Context(), "block"))
	v := must[resource.Volume](r)(r.observer().CreateVolume(r.Context(),
		resource.Volume{Name: name, Size: 10, Type: kind.ID, Labels: labels}))
	<-time.After(2 * time.Minute)
	return v.ID
}

// Volumes and snapshots of others are neither taken nor deleted.
func TestForeignVolumes(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		for name, labels := range map[string]resource.Labels{
			"pvc-1": nil, "pvc-2": {label.CSIDriverName: "csi.test", label.CSICluster: "k8s-other"},
			"pvc-3": {label.CSIDriverName: "other", label.CSICluster: "k8s-test"},
		} {
			id := r.foreign(name, labels)
			_, err := sidecar(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
			r.fails(err, codes.FailedPrecondition, id, "use the reclaim policy Retain")
			_, err = sidecar(r, r.CreateVolume, wanted(name, resource.GiB))
			r.fails(err, codes.AlreadyExists, id, "rename it, or add the labels")
		}
		foreign := must[resource.Snapshot](r)(r.observer().CreateSnapshot(r.Context(),
			resource.Snapshot{Name: "snapshot-1", Volume: r.volumes()[0].ID}, ""))
		<-time.After(2 * time.Minute)
		_, err := sidecar(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: foreign.ID})
		r.fails(err, codes.FailedPrecondition, foreign.ID)
		_, err = sidecar(r, r.CreateSnapshot,
			&csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: foreign.Volume})
		r.fails(err, codes.AlreadyExists, foreign.ID)
		r.counts(3, 1)
	})
}

// A volume of another cluster is neither attached, nor expanded, nor is there a snapshot or a clone of it. It can be
// detached. Once its labels are those of this cluster, or it has none, it can be used.
func TestVolumeOfAnotherCluster(t *testing.T) {
	theirs := resource.Labels{label.CSIDriver: "true", label.CSIDriverName: "csi.test", label.CSICluster: "k8s-lost"}
	for name, relabelled := range map[string]resource.Labels{
		"ours": {label.CSICluster: "k8s-test"}, "no cluster": {label.CSICluster: ""},
		"none": {label.CSIDriver: "", label.CSIDriverName: "", label.CSICluster: ""},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				id := r.foreign("pvc-1", theirs)
				want := []codes.Code{codes.PermissionDenied, codes.FailedPrecondition, codes.FailedPrecondition,
					codes.FailedPrecondition} // csi-resizer understands FailedPrecondition as "in use"
				for i, err := range r.uses(id) {
					r.fails(err, want[i], "volume "+id+` belongs to cluster "k8s-lost"`, `this is cluster "k8s-test"`,
						"check the name of the cluster", "set its labels", label.CSICluster+"=k8s-test")
				}
				r.counts(1, 0)
				r.ok(r.observer().AttachVolume(r.Context(), r.only(), r.machines["worker-1"], ""))
				<-time.After(2 * time.Second)
				retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				r.attached("")
				r.ok(r.observer().MarkVolume(r.Context(), r.only(), relabelled, nil))
				<-time.After(2 * time.Second)
				for _, err := range r.uses(id) {
					r.ok(err)
				}
			})
		})
	}
}

// A volume is not detached from a machine of another cluster, also if that has a Node with the same name. Volumes of
// this cluster are, by the description that earlier versions wrote.
func TestDetachInAnotherCluster(t *testing.T) {
	theirs := resource.Labels{label.CSIDriverName: "csi.test", label.CSICluster: "k8s-lost"}
	ours := resource.Labels{label.CSIDriverName: "csi.test", label.CSICluster: "k8s-test"}
	for name, test := range map[string]struct {
		labels      resource.Labels
		description string
		stays       bool
	}{
		"theirs":                   {theirs, "Node worker-1 of cluster k8s-lost", true},
		"theirs, earlier version":  {theirs, "Node worker-1", true},
		"theirs, no description":   {theirs, "", true},
		"nobody's":                 {nil, "Node worker-1 of cluster k8s-lost", true},
		"nobody's, and attached":   {nil, "Node worker-1", true},
		"nobody's, attached by us": {nil, "Node worker-1 of cluster k8s-test", false},
		"ours":                     {ours, "Node worker-1 of cluster k8s-test", false},
		"ours, earlier version":    {ours, "Node worker-1", false},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				id := r.foreign("pvc-1", test.labels)
				machine := must[[]string](r)(r.emulator.AddMachines(1))[0] // which is no Node here
				r.ok(r.observer().AttachVolume(r.Context(), r.only(), machine, test.description))
				<-time.After(2 * time.Second)
				retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				if stays := len(r.only().Attachments) > 0; stays != test.stays {
					t.Errorf("the volume stays attached: %t, want %t", stays, test.stays)
				}
			})
		})
	}
}

// uses are the errors of requests that use a volume: expand, snapshot, clone, attach.
func (r *rig) uses(id string) []error {
	r.Helper()
	_, expanding := sidecar(r, r.ControllerExpandVolume, expand(id, 20))
	_, taking := sidecar(r, r.CreateSnapshot, &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id})
	larger := fromVolume("pvc-clone", id)
	larger.CapacityRange.RequiredBytes = 20 * resource.GiB
	_, cloning := sidecar(r, r.CreateVolume, larger)
	_, attaching := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
	return []error{expanding, taking, cloning, attaching}
}
