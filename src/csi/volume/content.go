package volume

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Keys of the volume context, which csi-provisioner copies into the attributes of the PersistentVolume, and of the
// publish context.
const (
	// NoFormat forbids to format the volume, as in the CSI driver that this one replaces. Any value but "false" forbids
	// it, because for the former driver the key was enough. The publish context has it, too.
	NoFormat = "csi.k8s.thalassa.cloud/noformat"
	// CreatedEmpty marks a volume that the driver created without content. Its value is the time of the creation.
	CreatedEmpty = "csi.k8s.thalassa.cloud/created-empty"
	// AttachedBefore is a key of the publish context: another machine may have had the volume. The controller keeps no
	// record, so that this is so of each volume that is older than its process.
	AttachedBefore = "csi.k8s.thalassa.cloud/attached-before"
	// Provisioner is the attribute that csi-provisioner adds to each PersistentVolume that it creates. If there is none
	// of the other keys, the former driver created the volume, or an earlier version of this one.
	Provisioner = "storage.kubernetes.io/csiProvisionerIdentity"
)

// Context returns the volume context of a volume that a request created or found. It depends on nothing but what the
// cloud keeps about the volume, so that each retry of the request gets the same.
func (o Owner) Context(v resource.Volume) map[string]string {
	if !o.byRequest(v) || hasContent(v) {
		return map[string]string{NoFormat: "true"}
	}
	return map[string]string{CreatedEmpty: v.CreatedAt.UTC().Format(time.RFC3339)}
}

// MayHaveContent reports whether what the cloud keeps about a volume forbids to format it, whatever the attributes of
// its PersistentVolume are: they lack NoFormat if the former driver or an earlier version created the volume, and have
// CreatedEmpty of another volume if a person copied them.
func (o Owner) MayHaveContent(v resource.Volume, attributes map[string]string) bool {
	_, marked := attributes[CreatedEmpty]
	return hasContent(v) || marked && !o.byRequest(v)
}

// byRequest reports whether the driver created a volume for this cluster. The annotation is missing if a person gave
// the labels of this cluster to a volume.
func (o Owner) byRequest(v resource.Volume) bool {
	return o.Owns(v.Labels) && v.Annotations[label.CSIDescription] != ""
}

// hasContent reports whether a volume was restored, cloned or adopted, according to what the cloud keeps about it.
func hasContent(v resource.Volume) bool {
	return restoredFrom(v) != "" || v.Labels[label.CSISourceVolume] != "" || v.Annotations[label.CSIAdoptedBy] != ""
}
