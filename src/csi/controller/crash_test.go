package controller

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// work is a request of a sidecar, what it needs, and what the cloud has to contain afterwards.
type work struct {
	prepare            func(r *rig) (id string) // of the object that the request is about
	request            func(r *rig, ctx context.Context, id string) error
	volumes, snapshots int
	check              func(r *rig, id string)
}

func nothing(*rig) string { return "" }

func unchecked(*rig, string) {}

// allWork is each request that writes.
func allWork() map[string]work {
	all := volumeWork()
	maps.Copy(all, snapshotWork())
	return all
}

func volumeWork() map[string]work {
	return map[string]work{
		"create": {nothing, func(r *rig, ctx context.Context, _ string) error {
			_, err := r.CreateVolume(ctx, wanted("pvc-1", resource.GiB))
			return err
		}, 1, 0, unchecked},
		"restore": {
			func(r *rig) string { return r.snapshot("snapshot-1", r.create("pvc-source")) },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.CreateVolume(ctx, fromSnapshot("pvc-1", id))
				return err
			}, 2, 1, unchecked,
		},
		"clone": {
			func(r *rig) string { return r.create("pvc-source") },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.CreateVolume(ctx, fromVolume("pvc-1", id))
				return err
			}, 2, 0, unchecked,
		},
		"adopt": {
			func(r *rig) string { return r.foreign("data", nil) },
			func(r *rig, ctx context.Context, id string) error {
				request := wanted("pvc-1", resource.GiB)
				request.Parameters = map[string]string{volume.ParameterVolume: id}
				_, err := r.CreateVolume(ctx, request)
				return err
			}, 1, 0, checkAdopted,
		},
		"delete": {
			func(r *rig) string { return r.create("pvc-1") },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id})
				return err
			}, 0, 0, unchecked,
		},
		"delete clone": {func(r *rig) string {
			r.disturb("DELETE /v1/snapshots/{id}", 1, fault.Effect{Kind: fault.Refuse, Status: 409})
			source := r.create("pvc-source")
			id := retried(r, r.CreateVolume, fromVolume("pvc-1", source)).GetVolume().GetVolumeId()
			r.counts(2, 1)
			return id
		}, func(r *rig, ctx context.Context, id string) error {
			_, err := r.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id})
			return err
		}, 1, 0, unchecked},
		"attach": {
			func(r *rig) string { return r.create("pvc-1") },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.ControllerPublishVolume(ctx, publish(id, "worker-1"))
				return err
			}, 1, 0,
			func(r *rig, _ string) { r.attached("worker-1") },
		},
		"detach": {func(r *rig) string {
			id := r.create("pvc-1")
			r.attach(id, "worker-1")
			return id
		}, func(r *rig, ctx context.Context, id string) error {
			_, err := r.ControllerUnpublishVolume(ctx, unpublish(id, "worker-1"))
			return err
		}, 1, 0, func(r *rig, _ string) { r.attached("") }},
		"expand": {
			func(r *rig) string { return r.create("pvc-1") },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.ControllerExpandVolume(ctx, expand(id, 20))
				return err
			}, 1, 0,
			func(r *rig, _ string) {
				if v := r.only(); v.Size != 20 {
					r.Errorf("the volume has %d GiB, want 20", v.Size)
				}
			},
		},
	}
}

func checkAdopted(r *rig, _ string) {
	if adopted, err := r.Owner.Adopted(r.only(), "pvc-1"); !adopted {
		r.Errorf("the volume is not adopted (%v): %+v", err, r.only())
	}
}

func snapshotWork() map[string]work {
	return map[string]work{
		"snapshot": {
			func(r *rig) string { return r.create("pvc-1") },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: id})
				return err
			}, 1, 1, unchecked,
		},
		"delete snapshot": {
			func(r *rig) string { return r.snapshot("snapshot-1", r.create("pvc-1")) },
			func(r *rig, ctx context.Context, id string) error {
				_, err := r.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: id})
				return err
			}, 1, 0, unchecked,
		},
	}
}

// holder returns the machine of the first attachment; "" if there is none.
func holder(v resource.Volume) string {
	if len(v.Attachments) == 0 {
		return ""
	}
	return v.Attachments[0].Machine
}

// attached checks that the one volume is attached to the machine of the Node; "" is none.
func (r *rig) attached(node string) {
	r.Helper()
	if v := r.only(); holder(v) != r.machines[node] {
		r.Errorf("the volume is attached to %q, want the machine of %q", holder(v), node)
	}
}

// The process ends before or after any call to the cloud. A process that knows nothing repeats the request: the result
// is the same, and nothing is left over.
func TestCrashAfterEachCall(t *testing.T) {
	for name, test := range allWork() {
		for _, sent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, sent %v", name, sent), func(t *testing.T) {
				crashAfterEachCall(t, slow(5*time.Second), change{work: test}, func(r *rig) *failing {
					return &failing{next: r.emulator.Transport(), sent: sent}
				})
			})
		}
	}
}

// change is what happens after the process has ended, before the request is repeated. The volumes and snapshots of its
// work are those of a request that succeeds nevertheless.
type change struct {
	work
	happens            func(r *rig, id string) // nil: nothing
	volumes, snapshots int                     // if the request is refused
}

func changes() map[string]change {
	changed := func(name string, volumes, snapshots int) work {
		one := allWork()[name]
		one.volumes, one.snapshots = volumes, snapshots
		return one
	}
	sourceDeleted := func(r *rig, id string) { r.ok(r.writer().DeleteVolume(r.Context(), resource.Volume{ID: id})) }
	return map[string]change{
		"restore, snapshot deleted": {changed("restore", 2, 0), func(r *rig, id string) {
			r.ok(r.writer().DeleteSnapshot(r.Context(), resource.Snapshot{ID: id}))
		}, 1, 0},
		"restore, snapshot failed": {changed("restore", 2, 1), func(r *rig, id string) {
			r.ok(r.emulator.SetSnapshotStatus(id, "Failed"))
		}, 1, 1},
		"clone, source deleted": {changed("clone", 1, 0), sourceDeleted, 0, 0},
		"clone, source grown": {changed("clone", 2, 0), func(r *rig, id string) {
			r.ok(r.writer().ResizeVolume(r.Context(), resource.Volume{ID: id}, 20))
		}, 1, 0},
		"snapshot, source deleted": {changed("snapshot", 0, 1), sourceDeleted, 0, 0},
	}
}

// Meanwhile, the source of the new object goes away or grows: if the cloud has the object already, the request
// succeeds, and if not, it is refused and nothing is left over. Lists may lack what was created a moment ago.
func TestCrashAndTheSourceChanges(t *testing.T) {
	for name, test := range changes() {
		for _, stale := range []string{"", "GET *", "GET /v1/volumes", "GET /v1/snapshots"} {
			for _, sent := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, stale %q, sent %v", name, stale, sent), func(t *testing.T) {
					crashAfterEachCall(t, slow(5*time.Second), test, func(r *rig) *failing {
						<-time.After(time.Minute)
						if stale != "" {
							r.disturb(stale, 0, fault.Effect{Kind: fault.Stale, Delay: 10 * time.Second})
						}
						return &failing{next: r.emulator.Transport(), sent: sent}
					})
				})
			}
		}
	}
}

// The cloud refuses reads, before the request or after another process has carried it out: nothing follows from that,
// so the sidecar has to send it again. After most other codes it would forget an object that the cloud has, or believe
// that one is gone.
func TestReadsAreRefused(t *testing.T) {
	for name, test := range allWork() {
		for _, status := range []int{400, 403, 404, 422} {
			for _, done := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, HTTP %d, done before %t", name, status, done), func(t *testing.T) {
					withRig(t, slow(time.Second), func(r *rig) {
						id := test.prepare(r)
						if done {
							r.repeat(func(ctx context.Context) error { return test.request(r, ctx, id) })
						}
						r.restart()
						r.disturb("GET *", 0, fault.Effect{Kind: fault.Refuse, Status: status})
						if err := test.request(r, r.Context(), id); !isRetried(err) {
							t.Errorf("%v, want an error after which sidecars try again", err)
						}
					})
				})
			}
		}
	}
}

// The same in a cloud that decides otherwise wherever its documentation leaves it open, and lists for some time what
// was deleted.
func TestCrashInAnotherCloud(t *testing.T) {
	config := slow(5 * time.Second)
	config.Delays.VolumeLinger, config.Delays.SnapshotLinger = 20*time.Second, 20*time.Second
	config.Switches = emulator.Switches{VolumesByName: true, StrictSnapshots: true, KeepAttachedVolumes: true,
		DetachStatus: http.StatusBadRequest, ConflictStatus: http.StatusUnprocessableEntity}
	for name, test := range allWork() {
		t.Run(name, func(t *testing.T) {
			crashAfterEachCall(t, config, change{work: test}, func(r *rig) *failing {
				return &failing{next: r.emulator.Transport(), sent: true}
			})
		})
	}
}

// The same while lists lack what was created a moment ago. A clone waits for lists twice before it is created.
func TestCrashWhileListsLag(t *testing.T) {
	for name, by := range map[string]time.Duration{
		"create": 30 * time.Second, "restore": 30 * time.Second, "clone": 10 * time.Second,
		"snapshot": 30 * time.Second, "attach": 30 * time.Second,
		"delete": 30 * time.Second, "expand": 30 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			crashAfterEachCall(t, slow(5*time.Second), change{work: allWork()[name]}, func(r *rig) *failing {
				<-time.After(time.Minute)
				r.lag(by)
				return &failing{next: r.emulator.Transport(), sent: true}
			})
		})
	}
}

// crashAfterEachCall ends the process at each call that the work makes through the network. In the quick tier, it ends
// at each write only: when it ends at a read, the cloud is as it is after the write before.
func crashAfterEachCall(t *testing.T, config emulator.Config, test change, network func(*rig) *failing) {
	t.Helper()
	calls := 0
	for died := true; died; calls++ {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, config)
			id := test.prepare(r)
			failing := network(r)
			failing.writes = !tier.Full()
			died = crash(r, test, id, calls, failing)
		})
	}
	if least := tier.Pick(2, 3); calls < least {
		t.Errorf("the request makes %d calls, which is too few for this test", calls-1)
	}
}

// crash ends the process at a call, and reports whether there was such a call.
func crash(r *rig, test change, id string, call int, network *failing) bool {
	network.left = call
	r.restartBy(network, 0)
	ctx, cancel := context.WithTimeout(r.Context(), sidecarTimeout)
	defer cancel()
	err := test.request(r, ctx, id)
	volumes, snapshots := test.work.volumes, test.work.snapshots
	switch {
	case !network.died():
		r.ok(err)
		if test.happens != nil {
			return false
		}
	case r.repeatedAfter(test, id) != nil:
		volumes, snapshots = test.volumes, test.snapshots
	}
	<-time.After(time.Minute)
	r.counts(volumes, snapshots)
	test.check(r, id)
	return network.died()
}

// repeatedAfter sends the request again by another process, until it succeeds or is refused. The error is that of a
// refusal, which there is only after a change.
func (r *rig) repeatedAfter(test change, id string) error {
	r.Helper()
	r.api = &kubernetes{}
	r.restart()
	if test.happens == nil {
		r.repeat(func(ctx context.Context) error { return test.request(r, ctx, id) })
		return nil
	}
	test.happens(r, id)
	var refusal error
	r.repeat(func(ctx context.Context) error {
		err := test.request(r, ctx, id)
		if isRetried(err) {
			return err
		}
		refusal = err
		return nil
	})
	return refusal
}

// repeat sends a request until it succeeds, as a sidecar does.
func (r *rig) repeat(request func(context.Context) error) {
	r.Helper()
	retried(r, func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, request(ctx) }, struct{}{})
}
