package storage

import (
	"cmp"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// item is an object as the API returns it, which is stored as a T.
type item[T any] interface {
	ObjectID() string
	title() string
	labels() resource.Labels
	// in reports whether the object exists in the region.
	in(region string) bool
	object(c Cluster) T
}

// statusDeleted is the status after a deletion is completed.
const statusDeleted = "deleted"

// reference is an object as others contain it.
type reference struct {
	Identity string `json:"identity"`
	Slug     string `json:"slug"`
}

// matches reports whether the object does not contain its region, or is in this one.
func (r reference) matches(region string) bool { return r.Slug == "" || r.Slug == region }

// volumeItem is as much of the API's volume as is needed.
type volumeItem struct {
	resource.Volume
	Type        reference        `json:"volumeType"`
	Region      reference        `json:"cloudRegion"`
	Zones       []reference      `json:"availabilityZones"`
	Snapshot    reference        `json:"restoreFromSnapshot"`
	Image       reference        `json:"sourceMachineImage"`
	Attachments []attachmentItem `json:"attachments"`
}

type attachmentItem struct {
	Machine     string  `json:"attachedToIdentity"`
	Description string  `json:"description"`
	Serial      string  `json:"serial"`
	Requested   *string `json:"detachmentRequestedAt"`
}

// ObjectID implements item.
func (v volumeItem) ObjectID() string { return v.ID }

func (v volumeItem) title() string { return v.Name }

func (v volumeItem) labels() resource.Labels { return v.Labels }

// in implements item.
func (v volumeItem) in(region string) bool {
	return v.Region.matches(region) && !strings.EqualFold(v.Status, statusDeleted)
}

func (v volumeItem) object(c Cluster) resource.Volume {
	volume := v.Volume
	volume.Labels = c.seen(v.Labels, v.Annotations)
	volume.Status = statusOf(v.Status)
	volume.Type, volume.Snapshot = v.Type.Identity, v.Snapshot.Identity
	volume.Root = v.Image != reference{}
	for _, zone := range v.Zones {
		volume.Zones = append(volume.Zones, cmp.Or(zone.Slug, zone.Identity))
	}
	for _, a := range v.Attachments {
		if a.Machine != "" {
			volume.Attachments = append(volume.Attachments, resource.Attachment{Machine: a.Machine,
				Description: a.Description, Serial: strings.TrimSpace(a.Serial), Detaching: a.Requested != nil})
		}
	}
	return volume
}

// statusOf returns a status in lower case, and one word for those that mean the same: the vendor's tools take "ready"
// as available, and "error" occurs for other resources.
func statusOf(shown string) string {
	switch status := strings.ToLower(shown); status {
	case "ready":
		return resource.VolumeAvailable
	case "error":
		return resource.VolumeFailed
	default:
		return status
	}
}

// snapshotItem is as much of the API's snapshot as is needed.
type snapshotItem struct {
	resource.Snapshot
	Region       reference `json:"region"`
	SourceVolume reference `json:"sourceVolume"`
}

// ObjectID implements item.
func (s snapshotItem) ObjectID() string { return s.ID }

func (s snapshotItem) title() string { return s.Name }

func (s snapshotItem) labels() resource.Labels { return s.Labels }

// in implements item.
func (s snapshotItem) in(region string) bool {
	return s.Region.matches(region) && !strings.EqualFold(s.Status, statusDeleted)
}

func (s snapshotItem) object(c Cluster) resource.Snapshot {
	snapshot := s.Snapshot
	snapshot.Labels = c.seen(s.Labels, s.Annotations)
	snapshot.Status = statusOf(s.Status)
	// The cloud may not name the volume any more after it is gone.
	snapshot.Volume = cmp.Or(s.Volume, s.SourceVolume.Identity, s.Labels[label.CSISourceVolume])
	return snapshot
}
