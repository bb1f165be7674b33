package thalassa

import (
	"context"
	"errors"
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/audit"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// stored implements cloud.Storage.
type stored struct {
	storage *storage.Storage
	cluster string
}

func newStored(api *client.Client, cluster storage.Cluster, known *inventory.Inventory) *stored {
	return &stored{cluster: cluster.Key, storage: storage.New(api, cluster, func(ctx context.Context) (string, error) {
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
			all = append(all, describeVolume(one))
		}
	}
	for _, one := range snapshots {
		if s.owns(one.Labels) && one.Labels[label.CSIClone] == "" && !one.Deleting() {
			all = append(all, describeSnapshot(one))
		}
	}
	return all, nil
}

// owns reports whether the labels say that a CSI driver created an object for this cluster. Those without a cluster may
// be those of any.
func (s *stored) owns(labels resource.Labels) bool {
	return s.cluster != "" && labels[label.CSIDriver] == "true" && labels[label.CSICluster] == s.cluster
}

func describeVolume(v resource.Volume) cloud.StoredObject {
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
	return found
}

func describeSnapshot(s resource.Snapshot) cloud.StoredObject {
	found := cloud.StoredObject{Kind: cloud.Snapshot, Name: s.Name, Identity: s.ID, State: s.Status, Size: s.Size,
		CreatedAt: s.CreatedAt}
	switch {
	case s.DeleteProtection:
		found.Kept = protected
	case s.Status == resource.VolumeCreating:
		found.Kept = "the cloud reports that it is " + s.Status
	}
	return found
}

// protected is why an object is kept that the cloud does not delete.
const protected = "it is protected from deletion in the cloud"

// DeleteStored implements cloud.Storage.
func (s *stored) DeleteStored(ctx context.Context, object cloud.StoredObject) error {
	ctx = audit.WithCause(ctx, fmt.Sprintf("delete orphan: %s %s", object.Kind, object.Name))
	if object.Kind == cloud.Snapshot {
		latest, exists, err := s.storage.Snapshot(ctx, object.Identity, storage.Fresh)
		if err != nil || !exists || latest.Deleting() {
			return err
		}
		if err := s.mayDelete(object, describeSnapshot(latest), latest.Labels); err != nil {
			return err
		}
		return s.storage.DeleteSnapshot(ctx, latest)
	}
	latest, exists, err := s.storage.ReadVolume(ctx, object.Identity)
	if err != nil || !exists || latest.Deleting() {
		return err
	}
	if err := s.mayDelete(object, describeVolume(latest), latest.Labels); err != nil {
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
	}
	return nil
}
