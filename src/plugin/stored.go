package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// StoredOrphan is a volume or snapshot of this cluster in the cloud for which Kubernetes has no object.
type StoredOrphan struct {
	Kind string `json:"kind"` // volume or snapshot
	Name string `json:"name"`
	// Identity identifies it in the cloud, and is the argument of the command that deletes it.
	Identity string    `json:"identity"`
	State    string    `json:"state,omitempty"`   // of the cloud
	Size     int       `json:"sizeGiB,omitempty"` // 0 if it is not known
	Created  time.Time `json:"created,omitzero"`
	// Kept is why it is not deleted now, such as that it is attached to a machine.
	Kept string `json:"kept,omitempty"`
	// Doubt is why it may belong to another cluster with the same name in its configuration.
	Doubt string `json:"doubt,omitempty"`

	clusterUID types.UID // of the cluster that has written it
}

func (s *session) newStoredOrphan(one cloud.StoredObject) StoredOrphan {
	orphan := StoredOrphan{Kind: string(one.Kind), Name: one.Name, Identity: one.Identity, State: one.State,
		Size: int(one.Size), Created: one.CreatedAt, Kept: one.Kept, clusterUID: one.ClusterUID}
	switch {
	case one.Proven:
	case s.uid == "":
		orphan.Doubt = cloud.ErrNoClusterUID.Error()
	default:
		orphan.Doubt = "it does not have the UID of this cluster"
	}
	return orphan
}

// String is "volume pvc-1 (vol-1)".
func (o StoredOrphan) String() string { return fmt.Sprintf("%s %s (%s)", o.Kind, o.Name, o.Identity) }

// findStored adds the volumes and snapshots that Kubernetes does not know. The cloud is read first: what is created
// meanwhile is not listed.
func (s *settings) findStored(ctx context.Context, from *session, into *Orphans) error {
	if from.inspection.Cloud.Storage == nil {
		return nil
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Reading volumes and snapshots…")
	listed, err := from.inspection.Cloud.Storage.ListStored(ctx)
	if err != nil {
		return fmt.Errorf("listing the volumes and snapshots of this cluster in the cloud: %w", err)
	}
	for _, kind := range []cloud.StoredKind{cloud.Volume, cloud.Snapshot} {
		used, err := from.used(ctx, kind)
		if err != nil {
			return err
		}
		into.addStored(from, kind, listed, used)
	}
	return nil
}

// addStored adds the objects of one kind that are not in use.
func (o *Orphans) addStored(from *session, kind cloud.StoredKind, listed []cloud.StoredObject, used usage) {
	all, before := 0, len(o.Stored)
	for _, one := range listed {
		if one.Kind != kind {
			continue
		}
		if all++; !used.has(one.Identity, one.Name) {
			o.Stored = append(o.Stored, from.newStoredOrphan(one))
		}
	}
	orphans := len(o.Stored) - before
	o.MostStored = o.MostStored || orphans > all-orphans
}

// usage is what Kubernetes has of one kind of storage: the handles of existing objects, and the names of those that are
// being created.
type usage struct{ handles, creating map[string]bool }

func (u usage) has(handle, name string) bool { return u.handles[handle] || u.creating[name] }

// used returns what Kubernetes has now of one kind of storage.
func (s *session) used(ctx context.Context, kind cloud.StoredKind) (usage, error) {
	found := usage{handles: map[string]bool{}, creating: map[string]bool{}}
	if kind == cloud.Snapshot {
		return found, s.addSnapshots(ctx, found)
	}
	return found, s.addVolumes(ctx, found)
}

// addVolumes adds the volumes of all PersistentVolumes. A claim without a volume is listed before these: one that is
// bound in between has one of them.
func (s *session) addVolumes(ctx context.Context, to usage) error {
	claims, err := s.client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the PersistentVolumeClaims of all namespaces: %w", err)
	}
	for i := range claims.Items {
		if one := &claims.Items[i]; one.Spec.VolumeName == "" {
			to.creating["pvc-"+string(one.UID)] = true
		}
	}
	volumes, err := s.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing PersistentVolumes: %w", err)
	}
	for i := range volumes.Items {
		to.handles[handleOf(&volumes.Items[i])] = true
	}
	return nil
}

// handleOf returns the handle of a PersistentVolume of any CSI driver; "" if it is not of one.
func handleOf(one *corev1.PersistentVolume) string {
	if one.Spec.CSI == nil {
		return ""
	}
	return one.Spec.CSI.VolumeHandle
}

// snapshotContents is the kind of VolumeSnapshotContents. Not every cluster has it.
func snapshotContents() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
		Resource: "volumesnapshotcontents"}
}

// addSnapshots adds the snapshots of all VolumeSnapshotContents.
func (s *session) addSnapshots(ctx context.Context, to usage) error {
	contents, err := s.objects.Resource(snapshotContents()).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil // the cluster has no snapshots
	case err != nil:
		return fmt.Errorf("listing VolumeSnapshotContents: %w", err)
	}
	for _, one := range contents.Items {
		made := textOf(one, "status", "snapshotHandle")
		existing := textOf(one, "spec", "source", "snapshotHandle")
		to.handles[made], to.handles[existing] = true, true
		if made == "" {
			to.creating["snapshot-"+textOf(one, "spec", "volumeSnapshotRef", "uid")] = true
		}
	}
	return nil
}

// textOf returns a field of an object; "" if it has none.
func textOf(one unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(one.Object, path...) // a field of another type is none
	return text
}

// deleteStored deletes volumes and snapshots one after the other, and returns what became of each.
func (s *settings) deleteStored(ctx context.Context, from *session, orphans []StoredOrphan) []DeletedStored {
	show, done := s.Terminal.Progress()
	defer done()
	var results []DeletedStored
	for i, one := range orphans {
		show(fmt.Sprintf("Deleting %s (%d of %d)…", one, i+1, len(orphans)))
		result := DeletedStored{StoredOrphan: one}
		if err := from.deleteOneStored(ctx, one); err != nil {
			result.Error = err.Error()
		}
		result.Deleted = result.Error == ""
		results = append(results, result)
	}
	return results
}

// deleteOneStored asks the API server again, and then the cloud, which compares the object with what was listed. This
// is the only place that deletes volumes and snapshots.
func (s *session) deleteOneStored(ctx context.Context, one StoredOrphan) error {
	used, err := s.used(ctx, cloud.StoredKind(one.Kind))
	if err != nil {
		return fmt.Errorf("asking whether Kubernetes has the %s: %w", one.Kind, err)
	}
	if used.has(one.Identity, one.Name) {
		return errors.New("an object of Kubernetes exists for it")
	}
	return s.inspection.Cloud.Storage.DeleteStored(ctx, cloud.StoredObject{Kind: cloud.StoredKind(one.Kind),
		Name: one.Name, Identity: one.Identity, ClusterUID: one.clusterUID})
}
