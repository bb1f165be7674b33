package cloud

import (
	"context"
	"time"
)

// Storage contains the volumes and snapshots that the CSI driver created in the cloud for this cluster. It is for
// programs that show them: no controller uses it.
type Storage interface {
	// ListStored returns them, from new lists, without those that are being deleted.
	ListStored(ctx context.Context) ([]StoredObject, error)
	// DeleteStored deletes one with its data, which takes the cloud some time. It reads the object immediately before.
	// The error is also that the object is not as it was listed, or is kept.
	DeleteStored(ctx context.Context, object StoredObject) error
}

// StoredKind is a kind of storage.
type StoredKind string

// The kinds.
const (
	Volume   StoredKind = "volume"
	Snapshot StoredKind = "snapshot"
)

// StoredObject is a volume or a snapshot of this cluster in the cloud.
type StoredObject struct {
	Kind StoredKind
	// Name is the name in the cloud. Identity identifies it, and is its handle in Kubernetes.
	Name, Identity string
	// State is the cloud's state.
	State string
	// Size is in GiB; 0 if it is not known.
	Size      int64
	CreatedAt time.Time
	// Kept is why it is not deleted now: a machine uses it, or somebody protects it. It is "" if it can be deleted.
	Kept string
}
