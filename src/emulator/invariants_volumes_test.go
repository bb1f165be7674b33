package emulator_test

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/client-go/iaas"
)

// volumeWalk is what a walker saw last of volumes and snapshots.
type volumeWalk struct{ volumes, snapshots []string }

func (w *walker) volumeSteps() []func() {
	const volumes, snapshots = "/v1/volumes/", "/v1/snapshots/"
	one := func() string { return volumes + w.pick(w.volumes) }
	return []func(){
		func() { w.create(&w.volumes, volumes, volumeNamed(w.name("v"))) },
		func() {
			w.create(&w.volumes, volumes, replaced(volumeNamed(w.name("v")), "}",
				fmt.Sprintf(`,"restoreFromSnapshotId":%q}`, w.pick(w.snapshots))))
		},
		func() { w.do("POST", one()+"/attach", replaced(attachOne, "one", w.pick(w.machines))) },
		func() { w.do("POST", one()+"/attach", replaced(attachOne, "one", w.pick(w.machines))) },
		func() { w.do("POST", one()+"/detach", replaced(attachOne, "one", w.pick(w.machines))) },
		func() { w.do("PUT", one(), fmt.Sprintf(`{"name":"a","size":%d}`, 5+w.random.IntN(20))) },
		func() { w.do("DELETE", one(), "") },
		func() { w.create(&w.snapshots, snapshots, snapshotNamed(w.name("s"), w.pick(w.volumes))) },
		func() { w.do("DELETE", snapshots+w.pick(w.snapshots), "") },
		func() {
			w.create(&w.machines, "/v1/machines", fmt.Sprintf(
				`{"name":%q,"subnet":"emulator","machineType":"pgp-small","rootVolume":{%s}}`, w.name("vm"),
				[]string{`"size":5`, fmt.Sprintf(`"existingVolumeRef":%q`, w.pick(w.volumes))}[w.random.IntN(2)]))
		},
	}
}

// checkVolumes checks that volumes and machines agree about who is attached to whom.
func (w *walker) checkVolumes(machines map[string]bool) {
	w.Helper()
	attached := map[string]string{}
	for _, v := range read[iaas.Volume](w, "/v1/volumes") {
		if len(v.Attachments) > 1 || v.Size < 1 {
			w.Errorf("volume %s has %d attachments, and %d GiB", v.Identity, len(v.Attachments), v.Size)
		}
		for _, a := range v.Attachments {
			if !machines[a.AttachedToIdentity] || a.Serial != v.Identity {
				w.Errorf("volume %s is attached to machine %s, which is gone, as %s", v.Identity,
					a.AttachedToIdentity, a.Serial)
			}
			attached[v.Identity] = a.AttachedToIdentity
		}
		has := slices.Contains([]string{"Attaching", "Attached", "Detaching"}, v.Status)
		if len(v.Attachments) > 0 != has && v.Status != "Deleting" && v.Status != "Deleted" {
			w.Errorf("volume %s is %s with %d attachments", v.Identity, v.Status, len(v.Attachments))
		}
	}
	for _, m := range read[iaas.Machine](w, "/v1/machines") {
		volumes := m.VolumeAttachments
		if m.PersistentVolume != nil {
			volumes = append(volumes, iaas.VolumeAttachment{PersistentVolume: m.PersistentVolume})
		}
		for _, a := range volumes {
			if attached[a.PersistentVolume.Identity] != m.Identity {
				w.Errorf("machine %s has volume %s, which is attached to %q", m.Identity, a.PersistentVolume.Identity,
					attached[a.PersistentVolume.Identity])
			}
			delete(attached, a.PersistentVolume.Identity)
		}
	}
	for volume, machine := range attached {
		w.Errorf("volume %s is attached to machine %s, which does not have it", volume, machine)
	}
}
