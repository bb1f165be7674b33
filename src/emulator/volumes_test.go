package emulator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const (
	volumesPath = "/v1/volumes"
	// attachOne is the body that attaches a volume to machine one or detaches it from there.
	attachOne = `{"resourceType":"cloud_virtual_machine","resourceIdentity":"one"}`
)

// volumeNamed is the body that creates a volume of 10 GiB.
func volumeNamed(name string) string {
	return `{"name":"` + name + `","size":10,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`
}

// withMachine adds machine one.
func withMachine(cfg *emulator.Config) {
	org := &cfg.Seed.Organisations[0]
	org.Machines = append(org.Machines, emulator.MachineSpec{Identity: "vm-1", Name: "one"})
}

func volumeOf(name string, size int) iaas.CreateVolume {
	return iaas.CreateVolume{Name: name, Size: size, CloudRegionIdentity: emulator.DefaultRegion,
		VolumeTypeIdentity: "vt-emulator000000000001"}
}

func toMachine(identity string) iaas.AttachVolumeRequest {
	return iaas.AttachVolumeRequest{Description: "data", ResourceType: "cloud_virtual_machine",
		ResourceIdentity: identity}
}

func fromMachine(identity string) iaas.DetachVolumeRequest {
	return iaas.DetachVolumeRequest{ResourceType: "cloud_virtual_machine", ResourceIdentity: identity}
}

func TestVolumeTypes(t *testing.T) {
	c := newCloud(t)
	all, err := c.api.ListVolumeTypes(t.Context(), nil)
	if err != nil || len(all) != 2 || all[0].Name != "Block" || all[1].Name != "Premium Block" || !all[0].AllowResize {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, ref := range []string{all[1].Identity, "premium-block"} {
		if got, err := c.api.GetVolumeType(t.Context(), ref); err != nil || got.Name != "Premium Block" {
			t.Errorf("volume type %s: %+v, %v", ref, got, err)
		}
	}
	if _, err := c.api.GetVolumeType(t.Context(), "x"); !vendor.IsNotFound(err) {
		t.Errorf("unknown volume type: %v", err)
	}
}

func TestVolumeIsAttachedAndDetached(t *testing.T) {
	c := newCloud(t, withMachine)
	v, err := c.api.CreateVolume(t.Context(), volumeOf("Data", 10))
	if err != nil || v.Status != "Available" || v.Slug != "data" || v.Size != 10 || v.Region.Slug != "nl-01" ||
		v.VolumeType.Name != "Block" || len(v.Attachments) != 0 || len(v.AvailabilityZones) != 3 {
		t.Fatalf("created %+v, %v", v, err)
	}
	a, err := c.api.AttachVolume(t.Context(), v.Identity, toMachine("vm-1"))
	if err != nil || a.Serial != v.Identity || len(a.Serial) > 36 || a.AttachedToIdentity != "vm-1" || !a.CanDetach ||
		a.VirtualMachine.Identity != "vm-1" || a.PersistentVolume.Identity != v.Identity || a.Description != "data" {
		t.Fatalf("attached %+v, %v", a, err)
	}
	v, err = c.api.GetVolume(t.Context(), "data")
	if err != nil || v.Status != "Attached" || len(v.Attachments) != 1 || v.Attachments[0].Identity != a.Identity ||
		v.Attachments[0].VirtualMachine.Slug != "one" {
		t.Errorf("attached volume %+v, %v", v, err)
	}
	m, err := c.api.GetMachine(t.Context(), "one")
	if err != nil || len(m.VolumeAttachments) != 1 || m.VolumeAttachments[0].PersistentVolume.Identity != v.Identity ||
		m.PersistentVolume != nil {
		t.Errorf("machine %+v, %v", m, err)
	}
	if err := c.api.DeleteVolume(t.Context(), v.Identity); !refused(err, "409") {
		t.Errorf("deleting an attached volume: %v, want 409", err)
	}
	if err := c.api.DetachVolumeAndWaitUntilAvailable(t.Context(), v.Identity, fromMachine("vm-1")); err != nil {
		t.Error(err)
	}
	if err := c.api.DetachVolume(t.Context(), v.Identity, fromMachine("vm-1")); !vendor.IsNotFound(err) {
		t.Errorf("detaching again: %v, want not found", err)
	}
	if m, err = c.api.GetMachine(t.Context(), "one"); err != nil || len(m.VolumeAttachments) != 0 {
		t.Errorf("machine %+v, %v", m, err)
	}
	if err := c.api.DeleteVolume(t.Context(), v.Identity); err != nil {
		t.Error(err)
	}
	if err := c.api.WaitUntilVolumeIsDeleted(t.Context(), v.Identity); err != nil {
		t.Error(err)
	}
}

// Each change takes its time, and volumes have another status meanwhile.
func TestVolumeStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, withMachine, func(cfg *emulator.Config) {
			cfg.Delays = emulator.Delays{VolumeCreate: time.Second, VolumeAttach: 2 * time.Second,
				VolumeDetach: 3 * time.Second, VolumeResize: 4 * time.Second, VolumeDelete: 5 * time.Second,
				VolumeLinger: 6 * time.Second}
		})
		const path = volumesPath + "/v"
		status := func(is string, more ...string) step {
			return step{request: "GET " + path, status: 200, has: append(more, `"status":"`+is+`"`)}
		}
		after := func(wait time.Duration, s step) step {
			s.wait = wait
			return s
		}
		play(t, e, []step{
			{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201,
				has: []string{`"status":"Creating"`}},
			{request: "POST " + path + "/attach", body: attachOne, status: 409, has: []string{"is Creating"}},
			after(time.Second, status("Available")),
			{request: "POST " + path + "/attach", body: attachOne, status: 200, has: []string{`"canDetach":true`}},
			status("Attaching", `"attachedToIdentity":"vm-1"`),
			after(2*time.Second, status("Attached")),
			{request: "POST " + path + "/detach", body: attachOne, status: 204},
			status("Detaching", `"detachmentRequestedAt":"`, `"canDetach":false`),
			{request: "POST " + path + "/detach", body: attachOne, status: 204},
			{request: "POST " + path + "/attach", body: attachOne, status: 409},
			{request: "DELETE " + path, status: 409},
			after(3*time.Second, status("Available", `"attachments":[]`)),
			{request: "PUT " + path, body: `{"name":"v","size":20}`, status: 200, has: []string{`"size":10`}},
			{request: "PUT " + path, body: `{"name":"v","size":30}`, status: 409, has: []string{"being resized"}},
			{request: "PUT " + path, body: `{"name":"v","size":10}`, status: 200},
			after(4*time.Second, status("Available", `"size":20`)),
			{request: "DELETE " + path, status: 204},
			status("Deleting"),
			{request: "DELETE " + path, status: 204},
			{request: "PUT " + path, body: `{"name":"v"}`, status: 409},
			after(5*time.Second, status("Deleted")),
			{wait: 6 * time.Second, request: "GET " + path, status: 404},
		})
	})
}

func TestVolumesAreRefused(t *testing.T) {
	const path = volumesPath + "/v"
	for name, steps := range map[string][]step{
		"size":    {{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "10", "0"), status: 400}},
		"large":   {{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "10", "20000"), status: 400}},
		"region":  {{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "nl-01", "x"), status: 400}},
		"type":    {{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "block", "x"), status: 400}},
		"no type": {{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "block", ""), status: 400}},
		"shrink": {{request: "PUT " + path, body: `{"name":"v","size":9}`, status: 400,
			has: []string{"only grow"}}},
		"grow too far": {{request: "PUT " + path, body: `{"name":"v","size":16385}`, status: 400}},
		"fixed size": {
			{request: "POST " + volumesPath, body: replaced(volumeNamed("w"), "block", "archive"), status: 201},
			{request: "PUT " + volumesPath + "/w", body: `{"name":"w","size":11}`, status: 400,
				has: []string{"cannot be resized"}},
		},
		"unknown volume": {{request: "POST " + volumesPath + "/x/attach", body: attachOne, status: 404}},
		"unknown machine": {
			{request: "POST " + path + "/attach", body: replaced(attachOne, "one", "x"), status: 404},
			{request: "POST " + path + "/detach", body: replaced(attachOne, "one", "x"), status: 404},
		},
		"resource": {{request: "POST " + path + "/attach", body: replaced(attachOne, "cloud_virtual_machine", "x"),
			status: 400}},
		"another region": {{request: "POST " + path + "/attach", body: replaced(attachOne, "one", "far"), status: 400,
			has: []string{"is in region nl-01"}}},
		"attached elsewhere": {
			{request: "POST " + path + "/attach", body: attachOne, status: 200},
			{request: "POST " + path + "/attach", body: replaced(attachOne, "one", "two"), status: 409,
				has: []string{`is attached to machine \"vm-1\"`}},
			{request: "POST " + path + "/detach", body: replaced(attachOne, "one", "two"), status: 404},
		},
		"protected": {
			{request: "PUT " + path, body: `{"name":"v","deleteProtection":true}`, status: 200},
			{request: "DELETE " + path, status: 409, has: []string{"protected"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(t, withMachine, withSecondRegion, func(cfg *emulator.Config) {
				cfg.Seed.VolumeTypes = []emulator.VolumeTypeSeed{{Name: "Block"}, {Name: "Archive", FixedSize: true}}
				cfg.Seed.Organisations[0].Machines = append(cfg.Seed.Organisations[0].Machines,
					emulator.MachineSpec{Name: "two"}, emulator.MachineSpec{Name: "far", Subnet: "far"})
			})
			play(t, e, append([]step{{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201}}, steps...))
		})
	}
}

func TestVolumeSwitches(t *testing.T) {
	named := replaced(volumeNamed("My Volume"), "10", "1")
	for name, test := range map[string]struct {
		switches emulator.Switches
		steps    []step
	}{
		"names are not looked up": {emulator.Switches{}, []step{
			{request: "GET " + volumesPath + "/My%20Volume", status: 404},
			{request: "GET " + volumesPath + "/my-volume", status: 200}}},
		"names are looked up": {emulator.Switches{VolumesByName: true}, []step{
			{request: "GET " + volumesPath + "/My%20Volume", status: 200},
			{request: "GET " + volumesPath + "/x", status: 404},
			{request: "DELETE " + volumesPath + "/My%20Volume", status: 204}}},
		"400 for detaching": {emulator.Switches{DetachStatus: 400}, []step{
			{request: "POST " + volumesPath + "/my-volume/detach", body: attachOne, status: 400}}},
		"one volume of a machine": {emulator.Switches{VolumesPerMachine: 1}, []step{
			{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
			{request: "POST " + volumesPath + "/v/attach", body: attachOne, status: 200},
			{request: "POST " + volumesPath + "/my-volume/attach", body: attachOne, status: 409,
				has: []string{"at most 1 can be attached"}}}},
		"a deleted machine": {emulator.Switches{}, []step{
			{request: "POST " + volumesPath + "/my-volume/attach", body: attachOne, status: 200},
			{request: "DELETE /v1/machines/one", status: 204},
			{request: "GET " + volumesPath + "/my-volume", status: 200, has: []string{`"status":"Available"`}}}},
		"volumes of a deleted machine are kept": {emulator.Switches{KeepAttachedVolumes: true}, []step{
			{request: "POST " + volumesPath + "/my-volume/attach", body: attachOne, status: 200},
			{request: "DELETE /v1/machines/one", status: 204},
			{request: "GET " + volumesPath + "/my-volume", status: 200, has: []string{`"status":"Attached"`}},
			{request: "POST " + volumesPath + "/my-volume/detach", body: attachOne, status: 204},
			{request: "GET " + volumesPath + "/my-volume", status: 200, has: []string{`"status":"Available"`}}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(t, withMachine, withSwitches(test.switches))
			play(t, e, append([]step{{request: "POST " + volumesPath, body: named, status: 201}}, test.steps...))
		})
	}
	for _, s := range []emulator.Switches{{VolumesPerMachine: -1}, {DetachStatus: 409}} {
		if _, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Switches: s}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func TestVolumesAreFiltered(t *testing.T) {
	c := newCloud(t, withMachine, withSecondRegion)
	labelled := volumeOf("a", 1)
	labelled.Labels = iaas.Labels{"x": "1"}
	for _, create := range []iaas.CreateVolume{labelled, volumeOf("b", 1)} {
		if _, err := c.api.CreateVolume(t.Context(), create); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.api.AttachVolume(t.Context(), "b", toMachine("one")); err != nil {
		t.Fatal(err)
	}
	key := func(key filters.FilterKey, value string) filters.Filter {
		return &filters.FilterKeyValue{Key: key, Value: value}
	}
	for name, test := range map[string]struct {
		filter filters.Filter
		want   string
	}{
		"region":         {key("region", "nl-01"), "ab"},
		"another region": {key("region", "nl-02"), ""},
		"name":           {key("name", "a"), "a"},
		"status":         {key("status", "Available"), "a"},
		"machine":        {key("machine", "vm-1"), "b"},
		"labels":         {&filters.LabelFilter{MatchLabels: map[string]string{"x": "1"}}, "a"},
	} {
		got := ""
		all, err := c.api.ListVolumes(t.Context(), &iaas.ListVolumesRequest{Filters: []filters.Filter{test.filter}})
		for _, v := range all {
			got += v.Name
		}
		if err != nil || got != test.want {
			t.Errorf("%s: volumes %q, %v, want %q", name, got, err, test.want)
		}
	}
}

// A root volume is a volume: one of the machine's own goes with it, one that existed stays.
func TestRootVolumes(t *testing.T) {
	machine := func(name, root string) string {
		return `{"name":"` + name + `","subnet":"emulator","machineType":"pgp-small","machineImage":"debian-12",` +
			`"rootVolume":` + root + `}`
	}
	play(t, newEmulator(t, withMachine, withSecondRegion), []step{
		{request: "POST /v1/machines", body: machine("m", `{"size":20,"volumeTypeIdentity":"block"}`), status: 201,
			has: []string{`"persistentVolume":{`, `"status":"Attached"`, `"slug":"debian-12"`, "!volumeAttachments"}},
		{request: "GET " + volumesPath + "/m", status: 200,
			has: []string{`"size":20`, `"canDetach":false`, `"slug":"m"`, `"sourceMachineImage":{`}},
		{request: "POST " + volumesPath + "/m/detach", body: replaced(attachOne, "one", "m"), status: 409,
			has: []string{"root volume"}},
		{request: "DELETE " + volumesPath + "/m", status: 409},
		{request: "DELETE /v1/machines/m", status: 204},
		{request: "GET " + volumesPath, status: 200, has: []string{"![{"}},
		{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
		{request: "POST /v1/machines", body: machine("m", `{"existingVolumeRef":"v"}`), status: 201,
			has: []string{`"persistentVolume":{`}},
		{request: "POST /v1/machines", body: machine("n", `{"existingVolumeRef":"v"}`), status: 409},
		{request: "GET /v1/machines/n", status: 404},
		{request: "DELETE /v1/machines/m", status: 204},
		{request: "POST /v1/machines", body: machine("n", `{"existingVolumeRef":"v","size":16385}`), status: 400,
			has: []string{"rootVolume.size"}},
		{request: "GET " + volumesPath + "/v", status: 200, has: []string{`"status":"Available"`}},
		{request: "POST /v1/machines", body: replaced(machine("n", `{"existingVolumeRef":"v"}`), "emulator", "far"),
			status: 400},
	})
}
