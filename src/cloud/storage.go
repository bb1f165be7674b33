package cloud

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Storage contains the volumes and snapshots that the CSI driver created in the cloud for this cluster. It is for
// programs that show them: no controller uses it.
type Storage interface {
	// ListStored returns them, from new lists, without those that are being deleted.
	ListStored(ctx context.Context) ([]StoredObject, error)
	// DeleteStored deletes one with its data, which takes the cloud some time. It reads the object immediately before.
	// The error is also that the object is not as it was listed, or is kept. An object that is not proven to be this
	// cluster's is deleted: the caller asks whether it may be.
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
	// ClusterUID is the UID of the cluster that has written the object; "" if the object has none.
	ClusterUID types.UID
	// Proven means that ClusterUID is the UID of this cluster.
	Proven bool
	// Kept is why it is not deleted now: a machine uses it, somebody protects it, or it has the UID of a cluster, and
	// the UID of this one is not known. It is "" if it can be deleted.
	Kept string
}
