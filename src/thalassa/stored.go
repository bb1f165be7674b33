package thalassa

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// stored implements cloud.Storage.
type stored struct {
	storage *storage.Storage
	cluster storage.Cluster
}

func newStored(api *client.Client, cluster storage.Cluster, known *inventory.Inventory) *stored {
	return &stored{cluster: cluster, storage: storage.New(api, cluster, func(ctx context.Context) (string, error) {
		vpc, err := known.VPC(ctx)
		return vpc.Region, err
	})}
}

// ListStored implements cloud.Storage. The driver itself deletes the snapshots that it clones volumes by.
func (s *stored) ListStored(ctx context.Context) ([]cloud.StoredObject, error) {
	volumes, err := s.storage.Volumes(ctx, storage.Fresh)
	if err != nil {
		return nil, err
	}
	snapshots, err := s.storage.Snapshots(ctx, storage.Fresh)
	if err != nil {
		return nil, err
	}
	var all []cloud.StoredObject
	for _, one := range volumes {
		if s.owns(one.Labels) && !one.Deleting() {
			all = append(all, s.describeVolume(one))
		}
	}
	for _, one := range snapshots {
		if s.owns(one.Labels) && one.Labels[label.CSIClone] == "" && !one.Deleting() {
			all = append(all, s.describeSnapshot(one))
		}
	}
	return all, nil
}

// owns reports whether the labels say that a CSI driver created an object for this cluster. Those without a cluster may
// be those of any.
func (s *stored) owns(labels resource.Labels) bool {
	key := s.cluster.Key
	return key != "" && labels[label.CSIDriver] == "true" && labels[label.CSICluster] == key
}

// attribute sets the cluster that has written an object.
func (s *stored) attribute(found cloud.StoredObject, annotations resource.Labels) cloud.StoredObject {
	uid := annotations[label.ClusterUID]
	found.ClusterUID, found.Proven = types.UID(uid), s.cluster.UID.Proves(uid)
	if s.cluster.UID.MayBeForeign(uid) {
		found.Kept = fmt.Sprintf("it has the UID of a cluster, %s, and %v", uid, cloud.ErrNoClusterUID)
	}
	return found
}

func (s *stored) describeVolume(v resource.Volume) cloud.StoredObject {
	found := cloud.StoredObject{Kind: cloud.Volume, Name: v.Name, Identity: v.ID, State: v.Status, Size: v.Size,
		CreatedAt: v.CreatedAt}
	switch {
	case len(v.Attachments) > 0:
		found.Kept = "it is attached to machine " + v.Attachments[0].Machine
	case v.DeleteProtection:
		found.Kept = protected
	case v.Status != resource.VolumeAvailable && v.Status != resource.VolumeFailed:
		found.Kept = "the cloud reports that it is " + v.Status
	}
	return s.attribute(found, v.Annotations)
}

func (s *stored) describeSnapshot(snap resource.Snapshot) cloud.StoredObject {
	found := cloud.StoredObject{Kind: cloud.Snapshot, Name: snap.Name, Identity: snap.ID, State: snap.Status,
		Size: snap.Size, CreatedAt: snap.CreatedAt}
	switch {
	case snap.DeleteProtection:
		found.Kept = protected
	case snap.Status == resource.VolumeCreating:
		found.Kept = "the cloud reports that it is " + snap.Status
	}
	return s.attribute(found, snap.Annotations)
}

// protected is why an object is kept that the cloud does not delete.
const protected = "it is protected from deletion in the cloud"

// DeleteStored implements cloud.Storage.
func (s *stored) DeleteStored(ctx context.Context, object cloud.StoredObject) error {
	ctx = tracing.WithCause(ctx, fmt.Sprintf("delete orphan: %s %s", object.Kind, object.Name))
	if object.Kind == cloud.Snapshot {
		latest, exists, err := s.storage.Snapshot(ctx, object.Identity, storage.Fresh)
		if err != nil || !exists || latest.Deleting() {
			return err
		}
		if err := s.mayDelete(object, s.describeSnapshot(latest), latest.Labels); err != nil {
			return err
		}
		return s.storage.DeleteSnapshot(ctx, latest)
	}
	latest, exists, err := s.storage.ReadVolume(ctx, object.Identity)
	if err != nil || !exists || latest.Deleting() {
		return err
	}
	if err := s.mayDelete(object, s.describeVolume(latest), latest.Labels); err != nil {
		return err
	}
	return s.storage.DeleteVolume(ctx, latest)
}

// mayDelete returns why an object, as it is now, is not deleted.
func (s *stored) mayDelete(listed, latest cloud.StoredObject, labels resource.Labels) error {
	switch {
	case !s.owns(labels) || latest.Name != listed.Name:
		return errors.New("its name or its labels were changed in the cloud: it may belong to somebody else now")
	case latest.Kept != "":
		return errors.New(latest.Kept)
	case !latest.Proven && latest.ClusterUID != listed.ClusterUID:
		return fmt.Errorf("its annotation %s was changed in the cloud: it may belong to another cluster now",
			label.ClusterUID)
	}
	return nil
}
