package wire

import (
	"encoding/json"
	"time"
)

// VolumeType is a kind of storage that volumes are on.
type VolumeType struct {
	Identity    string `json:"identity"`
	Name        string `json:"name"`
	Description string `json:"description"`
	StorageType string `json:"storageType"`
	AllowResize bool   `json:"allowResize"`
}

// Volume is a block device that machines of its region can use, one at a time.
type Volume struct {
	Meta
	// Status starts with a capital letter: Creating, Available, Attaching, Attached,
	// Detaching, Deleting or Deleted.
	Status             string             `json:"status"`
	SourceMachineImage *MachineImage      `json:"sourceMachineImage"`
	VolumeType         *VolumeType        `json:"volumeType"`
	Attachments        []VolumeAttachment `json:"attachments"`
	Organisation       *Organisation      `json:"organisation"`
	CloudRegion        *Region            `json:"cloudRegion"`
	AvailabilityZones  []Zone             `json:"availabilityZones,omitempty"`
	// Size is in GiB.
	Size                int        `json:"size"`
	DeleteProtection    bool       `json:"deleteProtection"`
	RestoreFromSnapshot *Snapshot  `json:"restoreFromSnapshot,omitempty"`
	Snapshots           []Snapshot `json:"snapshots,omitempty"`
}

// VolumeAttachment is the use of a volume by a machine. It is nested in both, and
// describes the other one only.
type VolumeAttachment struct {
	Identity    string    `json:"identity"`
	CreatedAt   time.Time `json:"createdAt"`
	Description string    `json:"description"`
	// Serial is the serial number of the device in the machine.
	Serial                 string     `json:"serial"`
	AttachedToIdentity     string     `json:"attachedToIdentity"`
	AttachedToResourceType string     `json:"attachedToResourceType"`
	DetachmentRequestedAt  *time.Time `json:"detachmentRequestedAt,omitempty"`
	CanDetach              bool       `json:"canDetach"`
	VirtualMachine         *Machine   `json:"virtualMachine"`
	PersistentVolume       *Volume    `json:"persistentVolume"`
}

// VolumeInput is the body of POST and PUT on volumes; PUT ignores where they are
// and what they are made from.
type VolumeInput struct {
	MetaInput
	Type                  string  `json:"type"`
	Size                  int     `json:"size"`
	CloudRegionIdentity   string  `json:"cloudRegionIdentity"`
	VolumeTypeIdentity    string  `json:"volumeTypeIdentity"`
	DeleteProtection      *bool   `json:"deleteProtection"`
	RestoreFromSnapshotID *string `json:"restoreFromSnapshotId"`
}

// VolumeAttachmentInput is the body of POST .../attach and .../detach; the latter
// has no description.
type VolumeAttachmentInput struct {
	Description      string `json:"description"`
	ResourceType     string `json:"resourceType"`
	ResourceIdentity string `json:"resourceIdentity"`
}

// Snapshot is the content of a volume at some time.
type Snapshot struct {
	Meta
	Region       *Region       `json:"region,omitempty"`
	Organisation *Organisation `json:"organisation,omitempty"`
	// Status is Creating, Available, Deleting, Deleted or Failed.
	Status         string  `json:"status"`
	SourceVolumeID *string `json:"sourceVolumeId"`
	SourceVolume   *Volume `json:"sourceVolume,omitempty"`
	// SizeGB is absent while the snapshot is Creating.
	SizeGB           *int `json:"sizeGB,omitempty"`
	DeleteProtection bool `json:"deleteProtection"`
	// SnapshotPolicyID and SnapshotPolicy are there if a policy took the snapshot, the latter as long as it exists.
	SnapshotPolicyID *string         `json:"snapshotPolicyId,omitempty"`
	SnapshotPolicy   *SnapshotPolicy `json:"snapshotPolicy,omitempty"`
}

// SnapshotInput is the body of POST and PUT on snapshots. VolumeIdentity is read
// by POST only.
type SnapshotInput struct {
	MetaInput
	VolumeIdentity   string `json:"volumeIdentity"`
	DeleteProtection *bool  `json:"deleteProtection"`
}

// SnapshotPolicy is a schedule for snapshots.
type SnapshotPolicy struct {
	Meta
	Region       *Region       `json:"region,omitempty"`
	Organisation *Organisation `json:"organisation,omitempty"`
	// TTL is a number of nanoseconds, or a text such as 168h0m0s.
	TTL any `json:"ttl"`
	SnapshotPlan
	// NextSnapshotAt is absent while the policy is not enabled.
	NextSnapshotAt *time.Time `json:"nextSnapshotAt,omitempty"`
	LastSnapshotAt *time.Time `json:"lastSnapshotAt,omitempty"`
	// Snapshots are those that the policy took. They are absent from a policy inside a snapshot.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
}

// SnapshotPlan is what a snapshot policy is to do.
type SnapshotPlan struct {
	KeepCount *int `json:"keepCount,omitempty"`
	Enabled   bool `json:"enabled"`
	// Schedule is a cron expression in the IANA time zone Timezone.
	Schedule string         `json:"schedule"`
	Timezone string         `json:"timezone"`
	Target   SnapshotTarget `json:"target"`
}

// The types of SnapshotTarget.
const (
	TargetSelector = "selector"
	TargetExplicit = "explicit"
)

// SnapshotTarget selects volumes.
type SnapshotTarget struct {
	// Type is TargetSelector or TargetExplicit.
	Type             string            `json:"type"`
	Selector         map[string]string `json:"selector"`
	VolumeIdentities []string          `json:"volumeIdentities"`
}

// SnapshotPolicyInput is the body of POST and PUT on snapshot policies. Region is
// read by POST only.
type SnapshotPolicyInput struct {
	MetaInput
	Region    string          `json:"region"`
	TTL       *Duration       `json:"ttl"`
	KeepCount *int            `json:"keepCount"`
	Enabled   *bool           `json:"enabled"`
	Schedule  *string         `json:"schedule"`
	Timezone  *string         `json:"timezone"`
	Target    *SnapshotTarget `json:"target"`
}

// Duration is a number of nanoseconds or a text: clients differ in what they send.
type Duration struct{ time.Duration }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(content []byte) error {
	var text string
	if json.Unmarshal(content, &text) != nil {
		return json.Unmarshal(content, &d.Duration)
	}
	var err error
	d.Duration, err = time.ParseDuration(text)
	return err
}
