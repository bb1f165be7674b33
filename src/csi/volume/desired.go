package volume

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Owner is what distinguishes the volumes and snapshots of this cluster and driver from others. The labels are those of
// the CSI driver that this one replaces.
type Owner struct {
	Driver  string            // name of the driver
	Cluster string            // identity
	Extra   map[string]string // labels that are added to new objects
}

// Labels returns the labels of new objects.
func (o Owner) Labels() resource.Labels {
	labels := maps.Clone(o.Extra)
	if labels == nil {
		labels = resource.Labels{}
	}
	maps.Copy(labels, o.identifying())
	return labels
}

func (o Owner) identifying() resource.Labels {
	return resource.Labels{label.CSIDriver: "true", label.CSIDriverName: o.Driver, label.CSICluster: o.Cluster}
}

// Owns reports whether an object with the labels is one of this cluster and driver.
func (o Owner) Owns(labels resource.Labels) bool { return resource.HasLabels(labels, o.identifying()) }

// MayDelete returns a FailedPrecondition error for an object that is not deleted, because its labels do not say that
// this driver created it for this cluster. Objects that the former driver created without the name of a cluster are
// accepted.
func (o Owner) MayDelete(kind, id string, labels resource.Labels) error {
	if o.mayOwn(labels) {
		return nil
	}
	if err := o.checkUID(kind, id, labels); err != nil {
		return err
	}
	return status.Errorf(codes.FailedPrecondition, "%s %s is not deleted, because its labels do not say that it "+
		"belongs to this cluster (%s=%s, %s=%s); use the reclaim policy Retain, or add the labels if it belongs to "+
		"this cluster", kind, id, label.CSIDriverName, o.Driver, label.CSICluster, o.Cluster)
}

// checkUID returns a FailedPrecondition error for an object of another cluster with the same name.
func (o Owner) checkUID(kind, id string, labels resource.Labels) error {
	uid := label.UIDOf(labels[label.CSICluster], o.Cluster)
	if uid == "" {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "%s %s is neither used nor deleted, because its annotation %s is "+
		"%s, the UID of another cluster with the name %q; if this cluster replaces the other one, add the UID to "+
		"formerClusterUIDs in the configuration of the driver", kind, id, label.ClusterUID, uid, o.Cluster)
}

// mayOwn reports whether this driver created an object with the labels for this cluster, or the former driver created
// it without the name of a cluster.
func (o Owner) mayOwn(labels resource.Labels) bool {
	cluster := labels[label.CSICluster]
	return labels[label.CSIDriverName] == o.Driver && (cluster == o.Cluster || cluster == "")
}

// MayUse returns a FailedPrecondition error for a volume that belongs to another cluster or driver. A volume without
// labels, which somebody created for a PersistentVolume of their own, is accepted, and so is what MayDelete accepts.
func (o Owner) MayUse(v resource.Volume) error {
	if o.mayOwn(v.Labels) {
		return nil
	}
	return o.checkUnowned(v, fmt.Sprintf("check the name of the cluster in the configuration of the driver; if no "+
		"other cluster uses the volume any more, set its labels %s=%s and %s=%s in the cloud", label.CSIDriverName,
		o.Driver, label.CSICluster, o.Cluster))
}

// Adopted reports whether an existing volume was adopted for the PersistentVolume with the name. The error is
// AlreadyExists if it belongs to another PersistentVolume: deleting that one would delete the volume. It is
// FailedPrecondition if the volume belongs to another cluster or driver.
func (o Owner) Adopted(v resource.Volume, name string) (bool, error) {
	switch by := v.Annotations[label.CSIAdoptedBy]; {
	case !o.Owns(v.Labels):
		return false, o.checkUnowned(v, fmt.Sprintf("if no other cluster uses the volume any more, remove the labels "+
			"%s, %s and %s in the cloud", label.CSIDriver, label.CSIDriverName, label.CSICluster))
	case by == name:
		return true, nil
	case by == "":
		return false, status.Errorf(codes.AlreadyExists, "volume %s was created for the PersistentVolume %s; a volume "+
			"can have one PersistentVolume", v.ID, v.Name)
	default:
		return false, status.Errorf(codes.AlreadyExists, "volume %s is used for the PersistentVolume %s already, as "+
			"its annotation %s says; if that does not exist any more, remove in the cloud the annotation and the "+
			"labels %s, %s and %s", v.ID, by, label.CSIAdoptedBy, label.CSIDriver, label.CSIDriverName,
			label.CSICluster)
	}
}

// checkUnowned returns a FailedPrecondition error for a volume that belongs to another cluster or driver. Next is what
// to do about it.
func (o Owner) checkUnowned(v resource.Volume, next string) error {
	if v.Labels[label.CSIDriver] == "" && v.Labels[label.CSIDriverName] == "" && v.Labels[label.CSICluster] == "" {
		return nil
	}
	if err := o.checkUID("volume", v.ID, v.Labels); err != nil {
		return err
	}
	return status.Errorf(codes.FailedPrecondition, "volume %s belongs to cluster %q and driver %q, as its labels say, "+
		"and this is cluster %q with driver %q; %s", v.ID, v.Labels[label.CSICluster], v.Labels[label.CSIDriverName],
		o.Cluster, o.Driver, next)
}

// maxName is the maximum length of names in the cloud.
const maxName = 62

// CloudName returns the name in the cloud for a name of CSI, which has up to 128 bytes. Kubernetes' own names, like
// "pvc-<UID>", do not change; a longer name, or one with other characters, ends with a checksum instead, so that
// different names stay different.
func CloudName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	if clean == name && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	checksum := "-" + hex.EncodeToString(sum[:8])
	return clean[:min(len(clean), maxName-len(checksum))] + checksum
}

// Desired is the volume that a request asks for.
type Desired struct {
	Name     string // in the cloud
	Size     int64  // GiB
	Limit    int64  // bytes; 0: none
	Required int64  // bytes
	Type     string // identity of the volume type
	Snapshot string // identity of the snapshot that it is restored from; may be empty
	Source   string // identity of the volume that it is a clone of; may be empty
}

// Same returns an AlreadyExists error if an existing volume with the name is not the one that is asked for.
func (d Desired) Same(v resource.Volume) error {
	bytes := v.Size * resource.GiB
	switch {
	case bytes < d.Required, d.Limit > 0 && bytes > d.Limit:
		return status.Errorf(codes.AlreadyExists, "volume %s with the name %s exists with another size, %d GiB", v.ID,
			v.Name, v.Size)
	case v.Type != "" && v.Type != d.Type:
		return status.Errorf(codes.AlreadyExists, "volume %s with the name %s exists with another volume type, %s",
			v.ID, v.Name, v.Type)
	case v.Labels[label.CSISourceVolume] != d.Source:
		return status.Errorf(codes.AlreadyExists, "volume %s with the name %s exists with other content: it is a "+
			"clone of volume %q, not of %q", v.ID, v.Name, v.Labels[label.CSISourceVolume], d.Source)
	case d.Source == "" && restoredFrom(v) != d.Snapshot:
		return status.Errorf(codes.AlreadyExists, "volume %s with the name %s exists with other content: it was "+
			"restored from %s, not from %s", v.ID, v.Name, orNothing(restoredFrom(v)), orNothing(d.Snapshot))
	}
	return nil
}

// restoredFrom returns the snapshot that a volume was restored from. The annotation stays after the snapshot was
// deleted.
func restoredFrom(v resource.Volume) string {
	return cmp.Or(v.Annotations[label.CSISnapshotName], v.Snapshot)
}

func orNothing(snapshot string) string {
	if snapshot == "" {
		return "no snapshot"
	}
	return "snapshot " + snapshot
}

// Choose returns the volume with the name among those that the cloud has; found is false if there is none that is ours.
// If there are several, which only happens if somebody copies labels or lists are incomplete, it is the oldest one. The
// error is AlreadyExists if only others have the name, or FailedPrecondition if another cluster with the same name has
// one of them.
func Choose(owner Owner, named []resource.Volume) (v resource.Volume, found bool, err error) {
	return choose(owner, "volume", named, func(v resource.Volume) candidate {
		return candidate{v.ID, v.Labels, v.CreatedAt, v.Deleting()}
	})
}

// candidate is what an object is chosen by.
type candidate struct {
	id        string
	labels    resource.Labels
	createdAt time.Time
	deleting  bool
}

// before reports whether the candidate is older than another one.
func (c candidate) before(other candidate) bool {
	return c.createdAt.Before(other.createdAt) || c.createdAt.Equal(other.createdAt) && c.id < other.id
}

func choose[T any](owner Owner, kind string, named []T, of func(T) candidate) (chosen T, found bool, err error) {
	var foreign []candidate
	for _, one := range named {
		switch c := of(one); {
		case c.deleting:
		case !owner.Owns(c.labels):
			foreign = append(foreign, c)
		case !found || c.before(of(chosen)):
			chosen, found = one, true
		}
	}
	if !found && len(foreign) > 0 {
		return chosen, false, owner.nameTaken(kind, foreign)
	}
	return chosen, found, nil
}

// nameTaken returns the error about objects that have a name and are not ours.
func (o Owner) nameTaken(kind string, by []candidate) error {
	for _, one := range by {
		if err := o.checkUID(kind, one.id, one.labels); err != nil {
			return err
		}
	}
	return status.Errorf(codes.AlreadyExists, "%s %s in the cloud has the name already, and lacks the labels of this "+
		"driver and cluster (%s=%s, %s=%s); rename it, or add the labels if it belongs to this cluster", kind,
		by[len(by)-1].id, label.CSIDriverName, o.Driver, label.CSICluster, o.Cluster)
}
