package storage

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// rig is storage in front of an emulated cloud.
type rig struct {
	testing.TB
	*Storage
	emulator *emulator.Emulator
	api      *client.Client
}

// withRig runs a test in virtual time. Volumes and snapshots take a second.
func withRig(t *testing.T, test func(*rig), changes ...func(*emulator.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := emulator.Config{Seed: emulator.DefaultSeed(), Delays: emulator.Delays{
			VolumeCreate: time.Second, VolumeAttach: time.Second, VolumeDetach: time.Second, VolumeResize: time.Second,
			VolumeDelete: time.Second, VolumeLinger: time.Second, SnapshotCreate: time.Second,
			SnapshotDelete: time.Second,
		}, Middleware: openapitest.Sampled(t)}
		for _, change := range changes {
			change(&config)
		}
		emulated, err := emulator.New(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := emulated.Close(); err != nil {
				t.Error(err)
			}
		})
		r := &rig{TB: t, emulator: emulated}
		r.restart(emulator.DefaultRegion)
		test(r)
	})
}

// restart makes storage of a region that knows nothing.
func (r *rig) restart(region string) {
	r.Helper()
	cloud, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug, Network: r.emulator.Transport(),
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
	})
	r.ok(err)
	r.api, r.Storage = cloud, New(cloud, Cluster{}, func(context.Context) (string, error) { return region, nil })
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) inject(rule fault.Rule) {
	r.Helper()
	_, err := r.emulator.Inject(rule)
	r.ok(err)
}

// create creates a volume.
func (r *rig) create(name string) (resource.Volume, error) {
	r.Helper()
	kind, err := r.Type(r.Context(), "block")
	r.ok(err)
	return r.CreateVolume(r.Context(), resource.Volume{Name: name, Size: 10, Type: kind.ID})
}

// named returns the identity of the one volume with the name; "" is none.
func (r *rig) named(name string, maxAge time.Duration) string {
	r.Helper()
	found, err := r.VolumesNamed(r.Context(), name, maxAge)
	r.ok(err)
	if len(found) > 1 {
		r.Fatalf("%d volumes with the name %s: %+v", len(found), name, found)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0].ID
}

// count returns how often an operation was called since the last time.
func (r *rig) count(operation string) int {
	n := r.emulator.Counters()[operation]
	r.emulator.ResetCounters()
	return n
}

func TestVolumesAreFoundByNameAndIdentity(t *testing.T) {
	withRig(t, func(r *rig) {
		v, err := r.create("data")
		r.ok(err)
		other, err := r.create("name/data") // no name confuses the index
		if err == nil {
			r.ok(r.DeleteVolume(r.Context(), other))
		}
		if got := r.named("data", time.Minute); got != v.ID {
			t.Errorf("volume %q, want %s", got, v.ID)
		}
		for _, id := range []string{"", "data", "name/data", "volume/" + v.ID, v.ID + "?", "a#b", "a%2f", "v-0"} {
			if found, exists, err := r.Volume(r.Context(), id, time.Minute); exists || err != nil {
				t.Errorf("identity %q: %+v, %v, want none", id, found, err)
			}
		}
		found, exists, err := r.Volume(r.Context(), v.ID, time.Minute)
		if !exists || err != nil || found.Name != "data" || found.Status != resource.VolumeCreating ||
			len(found.Zones) == 0 {
			t.Errorf("%+v, %v, %v, want the new volume", found, exists, err)
		}
	})
}

// Lookups share a list, and identities that do not exist cause few lists and requests.
func TestListsAreShared(t *testing.T) {
	withRig(t, func(r *rig) {
		v, err := r.create("data")
		r.ok(err)
		for range 100 {
			r.named("data", time.Minute)
			r.named("other", time.Minute)
			for _, id := range []string{v.ID, "v-0"} {
				_, _, err := r.Volume(r.Context(), id, time.Minute)
				r.ok(err)
			}
		}
		if n := r.emulator.Counters()["GET /v1/volumes/{id}"]; n > 1 {
			t.Errorf("%d requests, want one for the identity that does not exist", n)
		}
		if n := r.count("GET /v1/volumes"); n > 2 {
			t.Errorf("%d lists, want at most 2", n)
		}
	})
}

// The answer to a creation is lost, and lists are outdated: until lists must contain the volume, nobody may create
// another one.
func TestUncertainCreation(t *testing.T) {
	withRig(t, func(r *rig) {
		r.named("data", Fresh)
		<-time.After(time.Hour)
		r.inject(fault.Rule{Operation: "POST /v1/volumes", Count: 1, Effect: fault.Effect{Kind: fault.Drop}})
		r.inject(fault.Rule{Operation: "GET *", Until: 50 * time.Second,
			Effect: fault.Effect{Kind: fault.Stale, Delay: 55 * time.Second}})
		if _, err := r.create("data"); !client.Uncertain(err) {
			t.Fatalf("%v, want an uncertain error", err)
		}
		for range 4 {
			_, err := r.VolumesNamed(r.Context(), "data", time.Hour)
			if !errors.Is(err, ErrUncertain) || !strings.Contains(err.Error(), "volume data") {
				t.Errorf("%v, want ErrUncertain about the volume", err)
			}
			if got := r.named("other", time.Hour); got != "" {
				t.Errorf("another name is volume %s", got)
			}
			<-time.After(10 * time.Second)
		}
		<-time.After(15 * time.Second)
		if r.named("data", time.Hour) == "" {
			t.Error("the volume is not found in a list that contains it")
		}
	})
}

// A creation that was not carried out can be repeated after a minute, and one that was refused at once.
func TestCreationThatDidNotHappen(t *testing.T) {
	withRig(t, func(r *rig) {
		r.inject(fault.Rule{Operation: "POST *", Count: 2, Effect: fault.Effect{Kind: fault.Reset}})
		if _, err := r.create("data"); !client.Uncertain(err) {
			t.Fatalf("%v, want an uncertain error", err)
		}
		_, err := r.CreateSnapshot(r.Context(), resource.Snapshot{Name: "data", Volume: "v-0"}, "")
		if !client.Uncertain(err) {
			t.Fatalf("%v, want an uncertain error", err)
		}
		for range 2 {
			_, err := r.VolumesNamed(r.Context(), "data", time.Hour)
			_, snapshotErr := r.SnapshotsNamed(r.Context(), "data", time.Hour)
			if !errors.Is(err, ErrUncertain) || !errors.Is(snapshotErr, ErrUncertain) {
				t.Errorf("%v, %v, want ErrUncertain", err, snapshotErr)
			}
			<-time.After(20 * time.Second)
		}
		<-time.After(store.VisibilityDelay)
		if got := r.named("data", time.Hour); got != "" {
			t.Errorf("volume %s exists", got)
		}
		r.ok(r.emulator.SetQuota("", "volumes", 0))
		if _, err := r.create("data"); !errors.Is(err, client.ErrQuota) {
			t.Errorf("%v, want that the quota is used up", err)
		}
		<-time.After(time.Second)
		if got := r.named("data", time.Hour); got != "" {
			t.Errorf("volume %s exists", got)
		}
	})
}

func TestVolumeTypes(t *testing.T) {
	withRig(t, func(r *rig) {
		byName, err := r.Type(r.Context(), "PREMIUM block")
		r.ok(err)
		if byID, err := r.Type(r.Context(), byName.ID); byID != byName || err != nil || !byID.AllowResize {
			t.Errorf("%+v, %v, want %+v", byID, err, byName)
		}
		for range 3 {
			_, err = r.Type(r.Context(), "tape")
			if !errors.Is(err, client.ErrBadRequest) || !strings.Contains(err.Error(), "the types are: Block (vt-") {
				t.Errorf("%v, want an error that names the types", err)
			}
		}
		if n := r.count("GET /v1/volume-types"); n > 3 {
			t.Errorf("%d lists, want at most 3", n)
		}
	})
}

// What was written is known at once, and the cloud's status afterwards.
func TestWritesAreKnown(t *testing.T) {
	withRig(t, func(r *rig) {
		machine, err := r.emulator.AddMachine(emulator.MachineSpec{Name: "worker-1"})
		r.ok(err)
		v, err := r.create("data")
		r.ok(err)
		<-time.After(2 * time.Second)
		r.is(v.ID, Fresh, resource.VolumeAvailable, "")
		r.ok(r.AttachVolume(r.Context(), v, machine, ""))
		r.is(v.ID, time.Minute, resource.VolumeAttaching, machine)
		<-time.After(2 * time.Second)
		r.is(v.ID, Fresh, resource.VolumeAttached, machine)
		r.ok(r.DetachVolume(r.Context(), v, machine))
		r.is(v.ID, time.Minute, resource.VolumeDetaching, machine)
		<-time.After(2 * time.Second)
		attached := r.is(v.ID, Fresh, resource.VolumeAvailable, "")
		r.ok(r.MarkVolume(r.Context(), attached, resource.Labels{"a": "b"}, nil))
		r.ok(r.ResizeVolume(r.Context(), r.is(v.ID, Fresh, resource.VolumeAvailable, ""), 20))
		<-time.After(2 * time.Second)
		if got := r.is(v.ID, time.Minute, resource.VolumeAvailable, ""); got.Size != 20 || got.Labels["a"] != "b" {
			t.Errorf("%+v, want 20 GiB with the label", got)
		}
		r.ok(r.DeleteVolume(r.Context(), v))
		r.is(v.ID, time.Minute, resource.StatusDeleting, "")
		<-time.After(1500 * time.Millisecond) // the cloud lists it as deleted
		if all, err := r.Volumes(r.Context(), Fresh); len(all) != 0 || err != nil {
			t.Errorf("%+v, %v, want none", all, err)
		}
		<-time.After(time.Minute)
		r.ok(r.DeleteVolume(r.Context(), v))
		r.ok(r.DeleteSnapshot(r.Context(), resource.Snapshot{ID: "snap-0"}))
	})
}

// holder returns the machine of the first attachment; "" if there is none.
func holder(v resource.Volume) string {
	if len(v.Attachments) == 0 {
		return ""
	}
	return v.Attachments[0].Machine
}

// A list that lacks a volume is not enough to say that it does not exist.
func TestVolumeThatListsLack(t *testing.T) {
	withRig(t, func(r *rig) {
		v, err := r.create("data")
		r.ok(err)
		<-time.After(time.Second)
		r.restart(emulator.DefaultRegion)
		r.inject(fault.Rule{Operation: "GET /v1/volumes", Effect: fault.Effect{Kind: fault.Stale, Delay: time.Minute}})
		for range 2 {
			if got, found, err := r.Volume(r.Context(), v.ID, time.Second); !found || err != nil || got.ID != v.ID {
				t.Errorf("%+v, %v, %v, want the volume", got, found, err)
			}
		}
	})
}

// is checks status and machine of a volume.
func (r *rig) is(id string, maxAge time.Duration, status, machine string) resource.Volume {
	r.Helper()
	v, found, err := r.Volume(r.Context(), id, maxAge)
	if !found || err != nil || v.Status != status || holder(v) != machine {
		r.Errorf("%+v, %v, %v, want %s at machine %q", v, found, err, status, machine)
	}
	return v
}

func TestSnapshots(t *testing.T) {
	withRig(t, func(r *rig) {
		v, err := r.create("data")
		r.ok(err)
		<-time.After(2 * time.Second)
		made, err := r.CreateSnapshot(r.Context(), resource.Snapshot{Name: "snap", Volume: v.ID}, "text")
		r.ok(err)
		if made.Volume != v.ID || made.Status != resource.VolumeCreating || made.Size != 0 {
			t.Errorf("%+v, want a snapshot of %s that is being created", made, v.ID)
		}
		<-time.After(2 * time.Second)
		found, err := r.SnapshotsNamed(r.Context(), "snap", Fresh)
		if len(found) != 1 || err != nil || found[0].Size != 10 || found[0].Status != resource.VolumeAvailable {
			t.Errorf("%+v, %v, want the snapshot of 10 GiB", found, err)
		}
		r.ok(r.DeleteSnapshot(r.Context(), made))
		if got, exists, err := r.Snapshot(r.Context(), made.ID, time.Minute); !exists || err != nil || !got.Deleting() {
			t.Errorf("%+v, %v, %v, want that it is being deleted", got, exists, err)
		}
		if err := r.Probe(r.Context()); err != nil {
			t.Error(err)
		}
		for kind, began := range r.Ages() {
			if kind != "volume type" && began().IsZero() {
				t.Errorf("there is no list of %s", kind)
			}
		}
	})
}

// A cloud may not name the volume of a snapshot any more after it is gone. The label of the CSI driver does.
func TestVolumeOfASnapshot(t *testing.T) {
	for text, want := range map[string]string{
		`{"sourceVolumeId":"v-1"}`:                                                "v-1",
		`{"sourceVolume":{"identity":"v-2"}}`:                                     "v-2",
		`{"sourceVolumeId":null,"labels":{"csi.volume.id":"v-3"}}`:                "v-3",
		`{"sourceVolumeId":"v-1","labels":{"csi.volume.id":"v-3"}}`:               "v-1",
		`{"sourceVolumeId":null,"sourceVolume":null,"labels":{"other": "value"}}`: "",
	} {
		var item snapshotItem
		if err := json.Unmarshal([]byte(text), &item); err != nil || item.object(Cluster{}).Volume != want {
			t.Errorf("%s is of volume %q (%v), want %q", text, item.object(Cluster{}).Volume, err, want)
		}
	}
}

// A cloud that ignores the filter by region lists volumes of all regions.
func TestOtherRegions(t *testing.T) {
	withRig(t, func(r *rig) {
		v, err := r.create("data")
		r.ok(err)
		r.restart("de-01")
		if found, exists, err := r.Volume(r.Context(), v.ID, time.Minute); exists || err != nil {
			t.Errorf("%+v, %v, want none in another region", found, err)
		}
	})
}

func TestStatuses(t *testing.T) {
	for shown, want := range map[string]string{"Available": "available", "ready": "available", "ERROR": "failed",
		"Failed": "failed", "Attached": "attached", "Odd": "odd", "": ""} {
		if got := statusOf(shown); got != want {
			t.Errorf("%q is %q, want %q", shown, got, want)
		}
	}
	if (volumeItem{Volume: resource.Volume{Status: "Deleted"}}).in("") || (snapshotItem{
		Snapshot: resource.Snapshot{Status: "deleted"}}).in("") {
		t.Error("deleted objects exist")
	}
}
