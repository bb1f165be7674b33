package state

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// StatusFailed is that of a snapshot that is held in it.
const StatusFailed = "Failed"

// VolumeSnapshot is the content of a volume at some time. It outlives the volume.
type VolumeSnapshot struct {
	object.Record
	object.Life
	// Source may be gone.
	Source           *Volume
	Size             int
	DeleteProtection bool
	// Held is the status that SetSnapshotStatus chose.
	Held string
}

// Status is the status of the snapshot in the words of the API.
func (s *VolumeSnapshot) Status(now time.Time) string {
	if s.Held != "" && s.Active() {
		return s.Held
	}
	return capitalised(s.At(now))
}

// AddSnapshot adds a snapshot of a volume.
func (o *Organisation) AddSnapshot(s *VolumeSnapshot) {
	o.Snapshots.Add(s)
	s.Source.snapshots = append(slices.Clip(s.Source.snapshots), s)
}

// RemoveSnapshot removes a snapshot that is gone.
func (o *Organisation) RemoveSnapshot(s *VolumeSnapshot) {
	o.Snapshots.Remove(s)
	s.Source.snapshots = slices.DeleteFunc(slices.Clone(s.Source.snapshots),
		func(other *VolumeSnapshot) bool { return other == s })
}

// Short is the snapshot inside a volume.
func (s *VolumeSnapshot) Short(now time.Time) *wire.Snapshot {
	view := &wire.Snapshot{
		Meta: s.Meta, Region: s.Source.Region.Short(), Organisation: s.Source.Org.Short(), Status: s.Status(now),
		SourceVolumeID: &s.Source.Identity, DeleteProtection: s.DeleteProtection,
	}
	if view.Status != capitalised(object.Creating) && view.Status != StatusFailed {
		view.SizeGB = &s.Size
	}
	return view
}

// View is the snapshot as the API describes it.
func (s *VolumeSnapshot) View(now time.Time) wire.Snapshot {
	view := *s.Short(now)
	view.SourceVolume = s.Source.Short(now)
	return view
}

// Traits are the values of the snapshot that filters of lists can name. The CSI
// driver of the vendor writes SourceVolume with a capital letter.
func (s *VolumeSnapshot) Traits(now time.Time) object.Traits {
	return s.Record.Traits().Reference("region", &s.Source.Region.Record).With("status", s.Status(now)).
		Reference("SourceVolume", &s.Source.Record).Reference("volume", &s.Source.Record)
}

// Restorable refuses a snapshot that a volume of a region and a size cannot be made from.
func (s *VolumeSnapshot) Restorable(v *Volume, now time.Time) error {
	switch {
	case s.Source.Region != v.Region:
		return apierror.Invalid("field \"restoreFromSnapshotId\": snapshot %q is in region %s, not %s", s.Identity,
			s.Source.Region.Slug, v.Region.Slug)
	case s.Status(now) != statusAvailable:
		return apierror.Conflict("field \"restoreFromSnapshotId\": snapshot %q is %s; it must be Available", s.Identity,
			s.Status(now))
	case v.Size < s.Size:
		return apierror.Invalid("field \"size\": %d GB is less than the %d of snapshot %q", v.Size, s.Size, s.Identity)
	}
	return nil
}

// SnapshotPolicy says of which volumes there are to be snapshots, and when.
type SnapshotPolicy struct {
	object.Record
	Org    *Organisation
	Region *region
	wire.SnapshotPlan
	TTL time.Duration
}

// View is the policy as the API describes it.
func (p *SnapshotPolicy) View(durationText bool) wire.SnapshotPolicy {
	view := wire.SnapshotPolicy{Meta: p.Meta, Region: p.Region.Short(), Organisation: p.Org.Short(),
		SnapshotPlan: p.SnapshotPlan, TTL: int64(p.TTL)}
	if durationText {
		view.TTL = p.TTL.String()
	}
	return view
}

// Traits are the values of the policy that filters of lists can name.
func (p *SnapshotPolicy) Traits() object.Traits {
	return p.Record.Traits().Reference("region", &p.Region.Record)
}
