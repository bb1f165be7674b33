package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

const (
	// StatusFailed is that of a snapshot that is held in it.
	StatusFailed = "Failed"
	// SnapshotPrefix is how identities of snapshots begin: the tests of the vendor's command line recognise them by it.
	SnapshotPrefix = "s"
)

// SnapshotStatuses are those that a snapshot can be held in.
func SnapshotStatuses() []string {
	return slices.DeleteFunc(VolumeStatuses(), func(s string) bool { return strings.Contains(s, "tach") })
}

// VolumeSnapshot is the content of a volume at some time. It outlives the volume.
type VolumeSnapshot struct {
	object.Record
	object.Life
	// Source may be gone.
	Source           *Volume
	Size             int
	DeleteProtection bool
	// Policy is the identity of the snapshot policy that took the snapshot, which may be gone. It is empty if a request
	// did.
	Policy string
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
	if s.Policy != "" {
		view.SnapshotPolicyID = &s.Policy
	}
	return view
}

// View is the snapshot as the API describes it.
func (s *VolumeSnapshot) View(now time.Time) wire.Snapshot {
	view := *s.Short(now)
	view.SourceVolume = s.Source.Short(now)
	if p, found := s.Source.Org.SnapshotPolicies.Exact(s.Policy); found {
		view.SnapshotPolicy = p.Short()
	}
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
	if status := s.Status(now); status != statusAvailable {
		return apierror.Conflict("field \"restoreFromSnapshotId\": snapshot %q is %s; it must be Available", s.Identity,
			status)
	}
	return s.checkFits("restoreFromSnapshotId", v)
}

// checkFits refuses a volume of another region, or a smaller one.
func (s *VolumeSnapshot) checkFits(field string, v *Volume) error {
	switch {
	case s.Source.Region != v.Region:
		return apierror.Invalid("field %q: snapshot %q is in region %s, not %s", field, s.Identity,
			s.Source.Region.Slug, v.Region.Slug)
	case v.Size < s.Size:
		return apierror.Invalid("field \"size\": %d GB is less than the %d of snapshot %q", v.Size, s.Size, s.Identity)
	}
	return nil
}

// DepartSnapshot ends what a snapshot is part of.
func (o *Organisation) DepartSnapshot(s *VolumeSnapshot) {
	o.Leave(&s.Life, nil, func() { o.RemoveSnapshot(s) })
}

// describeVolumes adds volumes, snapshots and policies, also those volumes and snapshots that are not listed any more
// but that others name.
func (o *Organisation) describeVolumes(out *seed.Objects) {
	volumes, snapshots := slices.Collect(o.Volumes.All()), slices.Collect(o.Snapshots.All())
	for i, j := 0, 0; i < len(volumes) || j < len(snapshots); {
		if i < len(volumes) {
			if from := volumes[i].RestoredFrom; from != nil && !slices.Contains(snapshots, from) {
				snapshots = append(snapshots, from)
			}
			i++
			continue
		}
		if source := snapshots[j].Source; !slices.Contains(volumes, source) {
			volumes = append(volumes, source)
		}
		j++
	}
	for _, v := range volumes {
		out.Volumes = append(out.Volumes, o.describeVolume(v))
	}
	for _, s := range snapshots {
		out.Snapshots = append(out.Snapshots, seed.Snapshot{Object: seed.Described(s.Meta), Life: lived(s.Life, s.Held),
			Volume: s.Source.Identity, Size: s.Size, DeleteProtection: s.DeleteProtection, Policy: s.Policy,
			Gone: !has(&o.Snapshots, s)})
	}
	for p := range o.SnapshotPolicies.All() {
		out.SnapshotPolicies = append(out.SnapshotPolicies, p.describe())
	}
}

// storage are the volumes and snapshots of a seed by identity, also those that are gone.
type storage struct {
	volumes   object.Collection[*Volume]
	snapshots object.Collection[*VolumeSnapshot]
}

// seedVolumes adds volumes, snapshots and their policies. Volumes and snapshots refer to each other.
func (o *Organisation) seedVolumes(in *seed.Objects, now time.Time) error {
	var all storage
	return cmp.Or(
		seed.Each("volumes", "volume", in.Volumes,
			func(v *seed.Volume) (string, error) { return v.Name, o.seedVolume(&all, v, now) }),
		seed.Each("snapshots", "snapshot", in.Snapshots,
			func(s *seed.Snapshot) (string, error) { return s.Name, o.seedSnapshot(&all, s, now) }),
		seed.Each("volumes", "volume", in.Volumes,
			func(v *seed.Volume) (string, error) { return v.Name, all.restore(v) }),
		seed.Each("snapshotPolicies", "snapshot policy", in.SnapshotPolicies,
			func(p *seed.SnapshotPolicy) (string, error) { return p.Name, o.seedSnapshotPolicy(p, now) }),
	)
}

// restore finds the snapshot that a volume was made from.
func (all *storage) restore(in *seed.Volume) error {
	v, found := all.volumes.Exact(in.Identity)
	if in.RestoredFrom == "" || !found {
		return nil
	}
	s, err := required(&all.snapshots, "restoredFrom", "snapshot", in.RestoredFrom)
	if err != nil {
		return err
	}
	v.RestoredFrom = s
	return s.checkFits("restoredFrom", v)
}

func (o *Organisation) seedVolume(all *storage, in *seed.Volume, now time.Time) (err error) {
	in.Identity = cmp.Or(in.Identity, object.NewIdentity("v"))
	if err := checkNew(o.Store, &o.Volumes, checked{kind: "volume", object: in.Object, life: in.Life, gone: in.Gone,
		held: VolumeStatuses(), now: now}); err != nil {
		return err
	}
	v := &Volume{Org: o, Size: in.Size, sizeBefore: in.SizeBefore, grownAt: in.GrownAt, Held: in.Held,
		DeleteProtection: in.DeleteProtection, Life: revived(in.Life),
		Record: recorded("v", in.Object, o.Volumes.HasSlug, now)}
	if v.Region, err = required(&o.Store.Regions, "region", "region", in.Region); err != nil {
		return err
	}
	if v.Type, err = o.Store.VolumeTypeFor("type", in.Type); err != nil {
		return err
	}
	if v.Image, err = o.Store.ImageFor(in.Image); err != nil {
		return err
	}
	if err := cmp.Or(CheckVolumeSize("size", v.Size), v.checkSizeBefore()); err != nil {
		return err
	}
	if err := object.Insert(&all.volumes, v); err != nil || in.Gone {
		return err
	}
	o.Volumes.Add(v)
	if err := o.seedAttachment(v, in.Attachment, now); err != nil {
		return err
	}
	if in.Removed() {
		v.Depart()
	}
	return nil
}

func (o *Organisation) seedAttachment(v *Volume, in *seed.VolumeAttachment, now time.Time) error {
	if in == nil {
		return nil
	}
	m, err := required(&o.Machines, "attachment.machine", "machine", in.Machine)
	if err != nil {
		return err
	}
	if err := cmp.Or(object.CheckDescription(in.Description, object.Lengths{}), seed.Check(*in)); err != nil {
		return seed.At("attachment", err)
	}
	if err := o.checkHolder(v, m, in, now); err != nil {
		return fmt.Errorf("field \"attachment.machine\": %w", err)
	}
	a := &VolumeAttachment{Identity: cmp.Or(in.Identity, object.NewIdentity("va")), Description: in.Description,
		CreatedAt: in.CreatedAt, Machine: m, Root: in.Root, Existed: in.Existed, detaching: in.DetachingAt,
		detachedAt: in.DetachedAt}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = now
	}
	v.Attach(a, in.AttachedAt)
	return nil
}

// checkHolder checks that a volume can be attached to a machine.
func (o *Organisation) checkHolder(v *Volume, m *Machine, in *seed.VolumeAttachment, now time.Time) error {
	if o.Store.restoring {
		return nil
	}
	if err := v.CheckRegion(m.Subnet); err != nil || !in.DetachingAt.IsZero() {
		return err
	}
	if !in.Root {
		return m.CheckRoom(now)
	}
	if roots := m.Volumes(now, true); len(roots) > 0 {
		return fmt.Errorf("machine %q has a root volume already, %q", m.Identity, roots[0].Identity)
	}
	return nil
}

func (o *Organisation) seedSnapshot(all *storage, in *seed.Snapshot, now time.Time) error {
	source, err := required(&all.volumes, "volume", "volume", in.Volume)
	if err != nil {
		return err
	}
	if err := checkNew(o.Store, &o.Snapshots, checked{kind: "snapshot", object: in.Object, life: in.Life,
		held: SnapshotStatuses(), unique: true, gone: in.Gone, now: now}); err != nil {
		return err
	}
	s := &VolumeSnapshot{Source: source, Size: cmp.Or(in.Size, source.Size), DeleteProtection: in.DeleteProtection,
		Policy: in.Policy, Held: in.Held, Life: revived(in.Life),
		Record: recorded(SnapshotPrefix, in.Object, o.Snapshots.HasSlug, now)}
	if err := CheckVolumeSize("size", s.Size); err != nil {
		return err
	}
	if s.Size > source.Size && !o.Store.restoring {
		return fmt.Errorf("field \"size\": %d GB are more than the %d of volume %q", s.Size, source.Size,
			source.Identity)
	}
	if err := object.Insert(&all.snapshots, s); err != nil || in.Gone {
		return err
	}
	o.AddSnapshot(s)
	if in.Removed() {
		o.DepartSnapshot(s)
	}
	return nil
}
