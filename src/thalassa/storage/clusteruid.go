package storage

import (
	"fmt"
	"maps"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Cluster identifies the volumes and snapshots of this cluster: its key, and the UID that distinguishes it from another
// one with the same key. As in the package inventory, an object with this key and another UID is stored with another
// key.
type Cluster struct {
	Key string
	UID *cloud.ClusterUID
}

// Forget causes volumes and snapshots to be read again before they are next used, because the UID of the cluster, which
// decides how they are stored, is another one.
func (s *Storage) Forget() {
	s.volumes.Invalidate()
	s.snapshots.Invalidate()
}

// seen returns the labels with which an object is stored.
func (c Cluster) seen(labels, annotations resource.Labels) resource.Labels {
	if uid := annotations[label.ClusterUID]; c.Key != "" && labels[label.CSICluster] == c.Key && c.UID.IsForeign(uid) {
		labels = maps.Clone(labels)
		labels[label.CSICluster] = label.WithUID(c.Key, uid)
	}
	return labels
}

// signed returns the annotations with which an object with these labels is written: with the UID of this cluster if the
// labels have its key.
func (c Cluster) signed(labels, annotations resource.Labels) resource.Labels {
	uid := string(c.UID.Own())
	if uid == "" || labels[label.CSICluster] != c.Key {
		return annotations
	}
	return merged(annotations, resource.Labels{label.ClusterUID: uid})
}

// checkOurs returns an error for an object of another cluster with the same key.
func (c Cluster) checkOurs(id string, labels resource.Labels) error {
	if uid := label.UIDOf(labels[label.CSICluster], c.Key); uid != "" {
		return fmt.Errorf("%s: %w: its annotation %s names another cluster with the same key (%s)", id,
			client.ErrConflict, label.ClusterUID, uid)
	}
	return nil
}
