package resource

import (
	"slices"
	"time"
)

// GiB is the unit of the sizes of volumes and snapshots, in bytes. The API calls it GB.
const GiB = int64(1) << 30

// Statuses of volumes and snapshots, in lower case. The API returns them with a capital letter.
const (
	VolumeCreating  = "creating"
	VolumeAvailable = "available"
	VolumeAttaching = "attaching"
	VolumeAttached  = "attached"
	VolumeDetaching = "detaching"
	VolumeFailed    = "failed"
)

// Volume is a block device of a region.
type Volume struct {
	ID               string    `json:"identity"`
	Name             string    `json:"name"`
	Description      string    `json:"description"`
	Labels           Labels    `json:"labels"`
	Annotations      Labels    `json:"annotations"`
	Status           string    `json:"status"` // in lower case
	Size             int64     `json:"size"`   // GiB
	CreatedAt        time.Time `json:"createdAt"`
	DeleteProtection bool      `json:"deleteProtection"`

	Type        string       `json:"-"` // identity of the volume type
	Zones       []string     `json:"-"` // slugs of the zones whose machines can use it; empty: all of the region
	Attachments []Attachment `json:"-"`
	Snapshot    string       `json:"-"` // identity of the snapshot that it was restored from; may be empty
	Root        bool         `json:"-"` // it contains the operating system of a machine
}

// Deleting reports whether the deletion of the volume was accepted.
func (v Volume) Deleting() bool { return v.Status == StatusDeleting }

// InUse returns the first attachment whose end was not requested; found is false if there is none.
func (v Volume) InUse() (a Attachment, found bool) {
	at := slices.IndexFunc(v.Attachments, func(a Attachment) bool { return !a.Detaching })
	if at < 0 {
		return Attachment{}, false
	}
	return v.Attachments[at], true
}

// Attachment is the use of a volume by a machine.
type Attachment struct {
	Machine     string // identity
	Description string // of whoever attached it
	Serial      string // number of the device in the machine; may be empty
	Detaching   bool   // its end was requested
}

// VolumeType is a kind of storage.
type VolumeType struct {
	ID          string `json:"identity"`
	Name        string `json:"name"`
	AllowResize bool   `json:"allowResize"`
}

// Snapshot is the content of a volume at some time.
type Snapshot struct {
	ID               string    `json:"identity"`
	Name             string    `json:"name"`
	Labels           Labels    `json:"labels"`
	Annotations      Labels    `json:"annotations"`
	Status           string    `json:"status"` // in lower case
	CreatedAt        time.Time `json:"createdAt"`
	DeleteProtection bool      `json:"deleteProtection"`
	Size             int64     `json:"sizeGB"`         // GiB; 0 while it is not known
	Volume           string    `json:"sourceVolumeId"` // identity of the volume, which may be gone
}

// Deleting reports whether the deletion of the snapshot was accepted.
func (s Snapshot) Deleting() bool { return s.Status == StatusDeleting }
