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

// The statuses of a volume besides statusAvailable. All begin with a capital letter.
const (
	volumeAttaching = "Attaching"
	volumeAttached  = "Attached"
	volumeDetaching = "Detaching"
)

// VolumeStatuses are those that a volume can be held in.
func VolumeStatuses() []string {
	return []string{"Creating", "Available", "Attaching", "Attached", "Detaching", StatusFailed, "Deleting", "Deleted"}
}

// VolumeHolder is what machines are called where volumes are attached to them.
const VolumeHolder = "cloud_virtual_machine"

// VolumeType is a kind of storage. It never changes.
type VolumeType struct{ wire.VolumeType }

// Key implements object.Keyed. A volume type has no slug on the wire.
func (t *VolumeType) Key() (identity, slug string) { return t.Identity, object.Slugify(t.Name) }

// Volume is a block device of a region.
type Volume struct {
	object.Record
	object.Life
	Org    *Organisation
	Region *region
	Type   *VolumeType
	Image  *Image
	// Size is in GiB, and what the volume has from GrownAt on; it had sizeBefore until then.
	Size             int
	sizeBefore       int
	grownAt          time.Time
	DeleteProtection bool
	// latest is the latest attachment, which may have ended: see Attachment.
	latest *VolumeAttachment
	// RestoredFrom is the snapshot that the volume was made from, or nil.
	RestoredFrom *VolumeSnapshot
	snapshots    []*VolumeSnapshot
	// Held is the status that SetVolumeStatus chose.
	Held string
}

// VolumeAttachment is the use of a volume by a machine. The clock decides how far it has come.
type VolumeAttachment struct {
	Identity, Description string
	CreatedAt             time.Time
	Machine               *Machine
	// Root is the disk that a machine boots from. It is deleted with the machine,
	// unless it existed before.
	Root, Existed bool
	// attachedAt is when the machine has the device; detaching and detachedAt are
	// zero until the end of the attachment is requested.
	attachedAt, detaching, detachedAt time.Time
}

// capitalised is a phase in the words of volumes and snapshots.
func capitalised(p object.Phase) string {
	if p == object.Ready {
		return statusAvailable
	}
	word := p.String()
	return strings.ToUpper(word[:1]) + word[1:]
}

// Attachment is the current attachment of the volume, or nil.
func (v *Volume) Attachment(now time.Time) *VolumeAttachment {
	if v.latest == nil || !v.latest.detaching.IsZero() && !now.Before(v.latest.detachedAt) {
		return nil
	}
	return v.latest
}

// Status is the status of the volume in the words of the API.
func (v *Volume) Status(now time.Time) string {
	a := v.Attachment(now)
	switch phase := v.At(now); {
	case v.Held != "" && v.Active():
		return v.Held
	case phase != object.Ready || a == nil:
		return capitalised(phase)
	case !a.detaching.IsZero():
		return volumeDetaching
	case now.Before(a.attachedAt):
		return volumeAttaching
	}
	return volumeAttached
}

// Available returns whether the volume can be attached.
func (v *Volume) Available(now time.Time) bool { return v.Status(now) == statusAvailable }

// SizeAt is the size in GiB at some time.
func (v *Volume) SizeAt(now time.Time) int {
	if now.Before(v.grownAt) {
		return v.sizeBefore
	}
	return v.Size
}

// maxVolumeSize is in GiB.
const maxVolumeSize = 16384

// CheckVolumeSize checks a size in GiB.
func CheckVolumeSize(field string, size int) error {
	if size < 1 || size > maxVolumeSize {
		return apierror.Invalid("field %q must be at least 1 GB and at most %d, not %d", field, maxVolumeSize, size)
	}
	return nil
}

// checkSizeBefore checks the size of a volume of a seed before it grew, if it did.
func (v *Volume) checkSizeBefore() error {
	least := 0
	if !v.grownAt.IsZero() {
		least = 1
	}
	if v.sizeBefore < least || v.sizeBefore > v.Size {
		return fmt.Errorf("field \"sizeBefore\" must be %d to %d, not %d", least, v.Size, v.sizeBefore)
	}
	return nil
}

// volumesPerMachine is the limit that nodes of the vendor's CSI driver report.
const volumesPerMachine = 20

// CheckRoom refuses one more volume for a machine that has as many as it can have, without its root volume.
func (m *Machine) CheckRoom(now time.Time) error {
	limit := cmp.Or(m.Subnet.VPC.Org.Store.Switches.VolumesPerMachine, volumesPerMachine)
	if n := len(m.Volumes(now, false)); n >= limit {
		return apierror.Conflict("machine %q has %d volumes, and at most %d can be attached", m.Identity, n, limit)
	}
	return nil
}

// CheckRegion refuses a machine in a subnet of another region.
func (v *Volume) CheckRegion(home *Subnet) error {
	if at := home.VPC.Region; v.Region != at {
		return apierror.Invalid("volume %q is in region %s, the machine in region %s", v.Identity, v.Region.Slug,
			at.Slug)
	}
	return nil
}

// Grow makes the volume larger from some time on.
func (v *Volume) Grow(size int, now, grownAt time.Time) {
	v.sizeBefore, v.Size, v.grownAt = v.SizeAt(now), size, grownAt
}

// Attach starts an attachment to a machine; the volume must have none.
func (v *Volume) Attach(a *VolumeAttachment, attachedAt time.Time) {
	v.forget()
	a.attachedAt = attachedAt
	v.latest = a
	a.Machine.volumes = append(slices.Clip(a.Machine.volumes), v)
}

// Detach ends an attachment after some time.
func (v *Volume) Detach(now time.Time, takes time.Duration) {
	if a := v.Attachment(now); a != nil && a.detaching.IsZero() {
		a.detaching, a.detachedAt = now, now.Add(takes)
		v.Touch(now)
	}
}

// forget removes what is left of an attachment that has ended.
func (v *Volume) forget() {
	if v.latest == nil {
		return
	}
	m := v.latest.Machine
	m.volumes = slices.DeleteFunc(slices.Clone(m.volumes), func(other *Volume) bool { return other == v })
	v.latest = nil
}

// Leave removes the volume, which nothing uses any more.
func (v *Volume) Leave() {
	v.forget()
	v.Org.Volumes.Remove(v)
}

// Detaching returns whether the end of the attachment was requested.
func (a *VolumeAttachment) Detaching() bool { return !a.detaching.IsZero() }

// Short is the volume inside another object: without what it is attached to.
func (v *Volume) Short(now time.Time) *wire.Volume {
	view := &wire.Volume{
		Meta: v.Meta, Status: v.Status(now), VolumeType: &v.Type.VolumeType, Attachments: []wire.VolumeAttachment{},
		Organisation: v.Org.Short(), CloudRegion: v.Region.Short(), Size: v.SizeAt(now),
		DeleteProtection: v.DeleteProtection,
	}
	if v.Image != nil {
		view.SourceMachineImage = &v.Image.MachineImage
	}
	return view
}

// View is the volume as the API describes it.
func (v *Volume) View(now time.Time) wire.Volume {
	view := *v.Short(now)
	view.AvailabilityZones = v.Region.Zones
	if v.RestoredFrom != nil {
		view.RestoreFromSnapshot = v.RestoredFrom.Short(now)
	}
	for _, s := range v.snapshots {
		view.Snapshots = append(view.Snapshots, *s.Short(now))
	}
	if a := v.Attachment(now); a != nil {
		attachment := a.view(v)
		attachment.VirtualMachine = a.Machine.Short(now)
		view.Attachments = append(view.Attachments, attachment)
	}
	return view
}

// AttachmentView is the current attachment as the answer to a request describes it.
func (v *Volume) AttachmentView(now time.Time) wire.VolumeAttachment {
	a := v.Attachment(now)
	view := a.view(v)
	view.VirtualMachine, view.PersistentVolume = a.Machine.Short(now), v.Short(now)
	return view
}

func (a *VolumeAttachment) view(v *Volume) wire.VolumeAttachment {
	view := wire.VolumeAttachment{
		Identity: a.Identity, CreatedAt: a.CreatedAt, Description: a.Description, Serial: v.Identity,
		AttachedToIdentity: a.Machine.Identity, AttachedToResourceType: VolumeHolder,
		CanDetach: !a.Root && a.detaching.IsZero(),
	}
	if requested := a.detaching; !requested.IsZero() {
		view.DetachmentRequestedAt = &requested
	}
	return view
}

// Traits are the values of the volume that filters of lists can name.
func (v *Volume) Traits(now time.Time) object.Traits {
	has := v.Record.Traits().Reference("region", &v.Region.Record).With("status", v.Status(now))
	if a := v.Attachment(now); a != nil {
		return has.Reference("machine", &a.Machine.Record)
	}
	return has.With("machine")
}

// Volumes are the volumes that are attached to the machine: its root volume, or the others.
func (m *Machine) Volumes(now time.Time, root bool) (volumes []*Volume) {
	for _, v := range m.volumes {
		if a := v.Attachment(now); a != nil && a.Root == root {
			volumes = append(volumes, v)
		}
	}
	return volumes
}

// describeVolumes adds the volumes of the machine to its description.
func (m *Machine) describeVolumes(view *wire.Machine, now time.Time) {
	for _, v := range m.Volumes(now, true) {
		view.PersistentVolume = v.Short(now)
	}
	for _, v := range m.Volumes(now, false) {
		attachment := v.Attachment(now).view(v)
		attachment.PersistentVolume = v.Short(now)
		view.VolumeAttachments = append(view.VolumeAttachments, attachment)
	}
}

// ForgetVolumes ends the attachments of a machine that is gone.
func (m *Machine) ForgetVolumes() {
	for _, v := range m.volumes {
		v.latest = nil
	}
	m.volumes = nil
}

func (s *Store) seedVolumeType(in seed.VolumeType) error {
	if err := object.CheckMeta(object.Spec{Name: in.Name, Description: in.Description}); err != nil {
		return err
	}
	return object.Insert(&s.VolumeTypes, &VolumeType{wire.VolumeType{
		Identity: cmp.Or(in.Identity, object.NewIdentity("vt")), Name: in.Name, Description: in.Description,
		StorageType: cmp.Or(in.StorageType, "block"), AllowResize: !in.FixedSize,
	}})
}

// VolumeTypeFor resolves a volume type by identity or by its name in any case.
func (s *Store) VolumeTypeFor(field, ref string) (*VolumeType, error) {
	if found, ok := s.VolumeTypes.Find(ref); ok && ref != "" {
		return found, nil
	}
	if found, ok := s.VolumeTypes.Find(object.Slugify(ref)); ok && ref != "" {
		return found, nil
	}
	return nil, apierror.Invalid("field %q: volume type %q not found", field, ref)
}

// volumeGigabytes is the size of all volumes of a space.
func volumeGigabytes(o *Organisation) (total int) {
	for v := range object.Present(&o.Volumes, o.Store.Now) {
		total += v.Size
	}
	return total
}

// Depart ends what the volume is part of.
func (v *Volume) Depart() { v.Org.Leave(&v.Life, nil, v.Leave) }

func (o *Organisation) describeVolume(v *Volume) seed.Volume {
	out := seed.Volume{Object: seed.Described(v.Meta), Life: lived(v.Life, v.Held), Region: v.Region.Identity,
		Type: v.Type.Identity, Size: v.Size, SizeBefore: v.sizeBefore, GrownAt: v.grownAt,
		DeleteProtection: v.DeleteProtection, Gone: !has(&o.Volumes, v)}
	if v.Image != nil {
		out.Image = v.Image.Identity
	}
	if v.RestoredFrom != nil {
		out.RestoredFrom = v.RestoredFrom.Identity
	}
	if a := v.latest; a != nil && o.keeps(a.Machine) {
		out.Attachment = &seed.VolumeAttachment{Identity: a.Identity, Description: a.Description,
			CreatedAt: a.CreatedAt,
			Machine:   a.Machine.Identity, Root: a.Root, Existed: a.Existed, AttachedAt: a.attachedAt,
			DetachingAt: a.detaching, DetachedAt: a.detachedAt}
	}
	return out
}
