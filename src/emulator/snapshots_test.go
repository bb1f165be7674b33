package emulator_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

const snapshotsPath = "/v1/snapshots"

func snapshotNamed(name, volume string) string {
	return `{"name":"` + name + `","volumeIdentity":"` + volume + `"}`
}

func restoring(volume, snapshot string) string {
	return replaced(volumeNamed(volume), "}", `,"restoreFromSnapshotId":"`+snapshot+`"}`)
}

func TestSnapshots(t *testing.T) {
	c := newCloud(t, withMachine)
	v, err := c.api.CreateVolume(t.Context(), volumeOf("data", 10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.AttachVolume(t.Context(), v.Identity, toMachine("one")); err != nil {
		t.Fatal(err)
	}
	request := iaas.CreateSnapshotRequest{Name: "Backup", VolumeIdentity: v.Identity, Labels: iaas.Labels{"x": "1"}}
	s, err := c.api.CreateSnapshot(t.Context(), request)
	if err != nil || s.Status != iaas.SnapshotStatusAvailable || *s.SizeGB != 10 || *s.SourceVolumeId != v.Identity ||
		s.SourceVolume.Identity != v.Identity || s.Region.Slug != "nl-01" {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := c.api.WaitUntilSnapshotIsAvailable(t.Context(), "backup"); err != nil {
		t.Error(err)
	}
	if _, err := c.api.CreateSnapshot(t.Context(), request); !refused(err, "409") {
		t.Errorf("the same name: %v, want 409", err)
	}
	restore := volumeOf("copy", 12)
	restore.RestoreFromSnapshotId = &s.Identity
	w, err := c.api.CreateVolume(t.Context(), restore)
	if err != nil || w.Size != 12 || w.RestoreFromSnapshot.Identity != s.Identity {
		t.Errorf("restored %+v, %v", w, err)
	}
	if v, err = c.api.GetVolume(t.Context(), "data"); err != nil || len(v.Snapshots) != 1 ||
		v.Snapshots[0].Identity != s.Identity {
		t.Errorf("snapshotted volume %+v, %v", v, err)
	}
	update := iaas.UpdateSnapshotRequest{Name: "Kept", DeleteProtection: true}
	if s, err = c.api.UpdateSnapshot(t.Context(), "backup", update); err != nil || s.Name != "Kept" ||
		len(s.Labels) != 0 {
		t.Errorf("updated %+v, %v", s, err)
	}
	if err := c.api.DeleteSnapshot(t.Context(), s.Identity); !refused(err, "409") {
		t.Errorf("deleting a protected one: %v, want 409", err)
	}
	if _, err := c.api.UpdateSnapshot(t.Context(), "backup", iaas.UpdateSnapshotRequest{Name: "Kept"}); err != nil {
		t.Error(err)
	}
	if err := c.api.DeleteSnapshot(t.Context(), s.Identity); err != nil {
		t.Error(err)
	}
	if err := c.api.WaitUntilSnapshotIsDeleted(t.Context(), s.Identity); err != nil {
		t.Error(err)
	}
}

func TestSnapshotStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, func(cfg *emulator.Config) {
			cfg.Delays = emulator.Delays{VolumeCreate: time.Second, SnapshotCreate: time.Second,
				SnapshotDelete: time.Second, SnapshotLinger: time.Second}
		})
		const path = snapshotsPath + "/s"
		play(t, e, []step{
			{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
			{request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 409,
				has: []string{"is Creating"}},
			{wait: time.Second, request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 201,
				has: []string{`"status":"Creating"`, "!sizeGB"}},
			{request: "POST " + volumesPath, body: restoring("w", "s"), status: 409, has: []string{"is Creating"}},
			{wait: time.Second, request: "GET " + path, status: 200,
				has: []string{`"status":"Available"`, `"sizeGB":10`}},
			// Its volume may go.
			{request: "DELETE " + volumesPath + "/v", status: 204},
			{request: "GET " + path, status: 200, has: []string{`"sourceVolume":{`, `"status":"Deleted"`}},
			{request: "POST " + volumesPath, body: restoring("w", "s"), status: 201},
			{request: "DELETE " + path, status: 204},
			{request: "DELETE " + path, status: 204},
			{request: "GET " + path, status: 200, has: []string{`"status":"Deleting"`}},
			{request: "POST " + volumesPath, body: restoring("x", "s"), status: 409},
			{wait: time.Second, request: "GET " + path, status: 200, has: []string{`"status":"Deleted"`}},
			{wait: time.Second, request: "GET " + path, status: 404},
		})
	})
}

func TestSnapshotsAreRefused(t *testing.T) {
	far := replaced(volumeNamed("far"), "nl-01", "nl-02")
	for name, steps := range map[string][]step{
		"no volume": {{request: "POST " + snapshotsPath, body: snapshotNamed("s", "x"), status: 400}},
		"no name":   {{request: "POST " + snapshotsPath, body: snapshotNamed("", "v"), status: 400}},
		"no such":   {{request: "POST " + volumesPath, body: restoring("w", "x"), status: 400}},
		"smaller":   {{request: "POST " + volumesPath, body: replaced(restoring("w", "old"), "10", "9"), status: 400}},
		"region": {{request: "POST " + volumesPath, body: replaced(restoring("w", "old"), "nl-01", "nl-02"),
			status: 400}},
		"other name": {{request: "PUT " + snapshotsPath + "/old", body: `{"name":"other"}`, status: 409}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, newEmulator(t, withSecondRegion), append([]step{
				{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
				{request: "POST " + volumesPath, body: far, status: 201},
				{request: "POST " + snapshotsPath, body: snapshotNamed("old", "v"), status: 201},
				{request: "POST " + snapshotsPath, body: snapshotNamed("other", "far"), status: 201},
			}, steps...))
		})
	}
	play(t, newEmulator(t, withMachine, withSwitches(emulator.Switches{StrictSnapshots: true})), []step{
		{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
		{request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 201},
		{request: "POST " + volumesPath + "/v/attach", body: attachOne, status: 200},
		{request: "POST " + snapshotsPath, body: snapshotNamed("t", "v"), status: 409, has: []string{"is Attached"}},
	})
}

func TestSnapshotsAreFiltered(t *testing.T) {
	c := newCloud(t)
	for _, name := range []string{"a", "b"} {
		if _, err := c.api.CreateVolume(t.Context(), volumeOf("v-"+name, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.api.CreateSnapshot(t.Context(), iaas.CreateSnapshotRequest{Name: name,
			VolumeIdentity: "v-" + name, Labels: iaas.Labels{"x": name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetSnapshotStatus("b", "Failed"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"": "ab", "region=nl-01": "ab", "region=nl-02": "", "name=a": "a",
		"SourceVolume=v-b": "b", "volume=v-a": "a", "status=Failed": "b"} {
		key, value, _ := strings.Cut(query, "=")
		filter := &filters.FilterKeyValue{Key: filters.FilterKey(key), Value: value}
		if got := c.snapshotNames(t, filter); got != want {
			t.Errorf("%q: snapshots %q, want %q", query, got, want)
		}
	}
	if got := c.snapshotNames(t, &filters.LabelFilter{MatchLabels: map[string]string{"x": "a"}}); got != "a" {
		t.Errorf("by label: %q, want a", got)
	}
}

func (c *cloud) snapshotNames(t *testing.T, filter filters.Filter) (names string) {
	t.Helper()
	all, err := c.api.ListSnapshots(t.Context(), &iaas.ListSnapshotsRequest{Filters: []filters.Filter{filter}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		names += s.Name
	}
	return names
}

func TestVolumesAndSnapshotsAreHeld(t *testing.T) {
	e := newEmulator(t, withMachine)
	held := func(kind, name, status string) step {
		return step{request: "PUT /_emulator/" + kind + "/" + name + "/status", body: `{"status":"` + status + `"}`,
			status: 204}
	}
	play(t, e, []step{
		{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
		{request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 201},
		held("volumes", "v", "Failed"),
		{request: "GET " + volumesPath + "/v", status: 200, has: []string{`"status":"Failed"`}},
		{request: "POST " + volumesPath + "/v/attach", body: attachOne, status: 409, has: []string{"is Failed"}},
		held("volumes", "v", ""),
		{request: "POST " + volumesPath + "/v/attach", body: attachOne, status: 200},
		held("snapshots", "s", "Failed"),
		{request: "GET " + snapshotsPath + "/s", status: 200, has: []string{`"status":"Failed"`, "!sizeGB"}},
		{request: "POST " + volumesPath, body: restoring("w", "s"), status: 409, has: []string{"is Failed"}},
		{request: "PUT /_emulator/snapshots/s/status", body: `{"status":"Attached"}`, status: 400},
		{request: "PUT /_emulator/volumes/x/status", body: `{"status":"Failed"}`, status: 404},
		{request: "DELETE " + snapshotsPath + "/s", status: 204},
		{request: "GET " + snapshotsPath + "/s", status: 404},
	})
}

func TestVolumeQuotas(t *testing.T) {
	quotas := map[string]int{"volumes": 2, "volume-gigabytes": 25, "snapshots": 1}
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed.Organisations[0].Quotas = quotas })
	play(t, e, []step{
		{request: "POST " + volumesPath, body: replaced(volumeNamed("v"), "10", "26"), status: 403,
			has: []string{`quota \"volume-gigabytes\"`, "0 of 25, and 26 more wanted"}},
		{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
		{request: "PUT " + volumesPath + "/v", body: `{"name":"v","size":26}`, status: 403},
		{request: "PUT " + volumesPath + "/v", body: `{"name":"v","size":15}`, status: 200},
		{request: "POST " + volumesPath, body: volumeNamed("w"), status: 201},
		{request: "POST " + volumesPath, body: replaced(volumeNamed("x"), "10", "1"), status: 403,
			has: []string{`quota \"volumes\"`}},
		{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator","machineType":"pgp-small",` +
			`"rootVolume":{"size":1}}`, status: 403},
		{request: "GET /v1/machines/m", status: 404},
		{request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 201},
		{request: "POST " + snapshotsPath, body: snapshotNamed("t", "v"), status: 403,
			has: []string{`quota \"snapshots\"`}},
		{request: "DELETE " + volumesPath + "/w", status: 204},
		{request: "POST " + volumesPath, body: volumeNamed("w"), status: 201},
	})
}

// Faults and lists of the past are those of all operations.
func TestVolumesMeetFaults(t *testing.T) {
	withPast(t, emulator.Config{Delays: emulator.Delays{VolumeAttach: 5 * time.Second}}, func(p past) {
		if _, err := p.AddMachine(emulator.MachineSpec{Identity: "vm-1", Name: "one"}); err != nil {
			p.Fatal(err)
		}
		p.change("POST", volumesPath, volumeNamed("v"))
		rule := stale(10 * time.Second)
		rule.Operation = "GET " + volumesPath
		p.inject(rule)
		p.change("POST", volumesPath+"/v/attach", attachOne)
		expect := func(list, one string) {
			p.Helper()
			_, listed := p.send("GET", volumesPath, "")
			if _, got := p.send("GET", volumesPath+"/v", ""); !strings.Contains(listed, `"status":"`+list+`"`) ||
				!strings.Contains(got, `"status":"`+one+`"`) {
				p.Errorf("listed %s, is %s, want %s and %s", listed, got, list, one)
			}
		}
		expect("Available", "Attaching")
		<-time.After(10 * time.Second)
		expect("Attaching", "Attached")
		<-time.After(5 * time.Second)
		expect("Attached", "Attached")
		p.inject(fault.Rule{Operation: "POST " + volumesPath + "/{id}/detach", Count: 1,
			Effect: fault.Effect{Kind: fault.Refuse, Status: 429, RetryAfter: time.Second}})
		if status, body := p.send("POST", volumesPath+"/v/detach", attachOne); status != 429 {
			p.Errorf("detach = %d %s, want 429", status, body)
		}
		p.change("POST", volumesPath+"/v/detach", attachOne)
		// A deletion that is answered before it happens.
		p.inject(fault.Rule{Operation: "DELETE " + snapshotsPath + "/{id}",
			Effect: fault.Effect{Kind: fault.DeleteLag, Delay: time.Minute}})
		p.change("POST", snapshotsPath, snapshotNamed("s", "v"))
		p.change("DELETE", snapshotsPath+"/s", "")
		if status, _ := p.send("GET", snapshotsPath+"/s", ""); status != 200 {
			p.Errorf("a snapshot that is deleted later = %d, want 200", status)
		}
		<-time.After(time.Minute)
		if status, _ := p.send("GET", snapshotsPath+"/s", ""); status != 404 {
			p.Errorf("a snapshot that was deleted later = %d, want 404", status)
		}
	})
}

// Only one of many machines gets a volume, and nobody sees it half attached.
func TestConcurrentAttachments(t *testing.T) {
	const clients = 8
	c := newCloud(t)
	machines, err := c.AddMachines(clients)
	if err != nil {
		t.Fatal(err)
	}
	c.object(t, "POST", volumesPath, volumeNamed("shared"), 201)
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			for n := range 5 {
				own := fmt.Sprintf("own-%d-%d", i, n)
				if err := c.storageCycle(t, own, machines[i]); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			}
		})
	}
	running.Wait()
	v, err := c.api.GetVolume(t.Context(), "shared")
	if err != nil || len(v.Attachments) != 0 {
		t.Errorf("%+v, %v, want no attachment", v, err)
	}
}

// storageCycle is the life of a volume and its snapshot, and a moment with the
// volume that all share, if nobody else has it.
func (c *cloud) storageCycle(t *testing.T, name, machine string) error {
	t.Helper()
	if _, err := c.api.CreateVolume(t.Context(), volumeOf(name, 1)); err != nil {
		return err
	}
	for _, volume := range []string{name, "shared"} {
		a, err := c.api.AttachVolume(t.Context(), volume, toMachine(machine))
		switch {
		case refused(err, "409") && volume == "shared":
			continue
		case err != nil:
			return err
		case a.AttachedToIdentity != machine:
			return fmt.Errorf("volume %s was attached to %s instead of %s", volume, a.AttachedToIdentity, machine)
		}
		if err := c.api.DetachVolume(t.Context(), volume, fromMachine(machine)); err != nil {
			return err
		}
	}
	if _, err := c.api.CreateSnapshot(t.Context(), iaas.CreateSnapshotRequest{Name: name,
		VolumeIdentity: name}); err != nil {
		return err
	}
	if err := c.api.DeleteVolume(t.Context(), name); err != nil {
		return err
	}
	return c.api.DeleteSnapshot(t.Context(), name)
}
